#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Points of two classes as an svmlight file: a ring around a ball, or two
gaussians that overlap. Usage: points.py ring|gaussians ROWS FEATURES SEED"""
import math
import random
import sys


def ring(chance, label, features):
    """On a sphere of radius 1 or 1.5, give or take a tenth."""
    x = [chance.gauss(0, 1) for _ in range(features)]
    radius = (1.5 if label > 0 else 1) + chance.gauss(0, 0.1)
    scale = radius / math.sqrt(sum(v * v for v in x))
    return [scale * v for v in x]


def gaussians(chance, label, features):
    """Two deviations between the means, along the diagonal."""
    shift = label / math.sqrt(features)
    return [shift + chance.gauss(0, 1) for _ in range(features)]


def points(kind, rows, features, seed):
    chance = random.Random(seed)
    row = "%+d " + " ".join("%d:%%.6g" % (j + 1) for j in range(features))
    for _ in range(rows):
        label = 1 if chance.random() < 0.5 else -1
        print(row % (label, *kind(chance, label, features)))


if __name__ == "__main__":
    points({"ring": ring, "gaussians": gaussians}[sys.argv[1]],
           *map(int, sys.argv[2:5]))
