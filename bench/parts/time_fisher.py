# SPDX-License-Identifier: BSD-3-Clause
"""Kernel ridge regression of scikit-learn on the indicators of all classes,
beside bench/parts/time_fisher.c: seconds, and seconds of processor, of one fit.

  OMP_NUM_THREADS=1 python3 bench/parts/time_fisher.py DATA GAMMA C
"""
import sys
import time

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_ridge import KernelRidge

path, gamma, c = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
features, label = load_svmlight_file(path)
features = features.toarray()
target = np.where(label[:, None] == np.unique(label)[None, :], 1.0, -1.0)
model = KernelRidge(alpha=1 / c, kernel="rbf", gamma=gamma)
begin = time.time(), time.process_time()
model.fit(features, target)
end = time.time(), time.process_time()
print("%.3f s, %.3f s of processor" % (end[0] - begin[0], end[1] - begin[1]))
