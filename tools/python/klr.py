# SPDX-License-Identifier: BSD-3-Clause
"""Kernel classifiers with probabilities, in Python.

KLR is an estimator by scikit-learn's conventions, cross_validate what
klr-train -v does. Nothing but Python and libklr.so is needed. Rows may be
lists, arrays of numpy or matrices of scipy.sparse; answers are arrays where
numpy is installed, else lists. docs/LIBRARY.md has an example.
"""
import ctypes
import inspect
import math
import sys
import warnings

from klr_library import (
    AT, INT, LONG, METRICS, REAL, SCALES, SIZE, STATUSES, Model, Parameters,
    Problem, call, field, is_sparse, lib, numpy, place, struct, vector)

__all__ = ["KLR", "cross_validate"]
__version__ = lib.klr_version().decode()

# ---- Labels ----


def sklearn_class(name, *bases):
    """That of sklearn.exceptions, where a program uses scikit-learn."""
    module = sys.modules.get("sklearn.exceptions")
    return getattr(module, name) if module else type(name, bases, {})


def flat_labels(y):
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not numpy:
        return list(y)
    y = numpy.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was "
                      "expected", sklearn_class("DataConversionWarning",
                                                UserWarning), stacklevel=3)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError("y should be a 1d array, got an array of shape %s "
                         "instead." % (y.shape,))
    return y


def classes_of(y):
    """The classes, ascending, and the label of each within the library: itself
    or, of what is no number or not told from others as a double, its place."""
    classes = numpy.unique(y) if numpy else sorted(set(y))
    if all(isinstance(c, (int, float)) or numpy and
           isinstance(c, (numpy.number, numpy.bool_)) for c in classes):
        labels = [float(c) for c in classes]
        if any(math.isnan(c) or math.isinf(c) for c in labels):
            raise ValueError("y has a NaN or infinite label")
        if any(c != int(c) for c in labels):
            raise ValueError("Unknown label type: continuous")
        if len(set(labels)) == len(labels):
            return classes, labels
    return classes, [float(i) for i in range(len(classes))]


def labels_of(y, classes, labels):
    if numpy:
        return numpy.array(labels)[numpy.searchsorted(classes, y)]
    code = dict(zip(classes, labels))
    return [code[label] for label in y]


# ---- The estimator ----

# Parameters of KLR and what klr-train calls them.
NAMES = {"model": "model", "C": "cost", "kernel": "kernel", "gamma": "gamma",
         "degree": "degree", "coef0": "coef0", "link": "link",
         "multiclass": "multiclass", "tol": "epsilon", "max_iter": "max-iter"}


class KLR:
    """A kernel classifier with probabilities.

    Parameters are those of klr-train: model "klr", "sklr", "svm", "kfd", "ivm"
    or "lhalf"; C; kernel "rbf", "linear", "polynomial", "laplacian", "sigmoid",
    "exponential" or "precomputed"; gamma, degree, coef0; link; multiclass
    "ovo", "ova", "ddag" or "softmax"; scale "none", "minmax" or "standard",
    within the model. None, or 0 for max_iter: the default of klr-train.
    class_weight: a dict, or "balanced". n_jobs: threads; None or -1: all
    processors. options: a dict of other long options of klr-train,
    {"no-bias": True}.

    After fit: classes_, n_features_in_, n_iter_, status_, gap_, n_support_.
    """

    _estimator_type = "classifier"

    def __init__(self, model="klr", C=None, kernel="rbf", gamma=None, degree=3,
                 coef0=0.0, link="auto", multiclass="ovo", scale="none",
                 class_weight=None, tol=None, max_iter=0, n_jobs=None,
                 random_state=None, options=None):
        self.model = model
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.link = link
        self.multiclass = multiclass
        self.scale = scale
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.options = options

    # -- conventions --

    @classmethod
    def _names(cls):
        return [n for n in inspect.signature(cls.__init__).parameters][1:]

    def get_params(self, deep=True):
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params):
        for name, value in params.items():
            if name not in self._names():
                raise ValueError("Invalid parameter %r for estimator %s"
                                 % (name, self))
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        return "%s(%s)" % (type(self).__name__, ", ".join(
            "%s=%r" % (name, value) for name, value in self.get_params().items()
            if value != defaults[name].default))

    def _more_tags(self):
        """Of scikit-learn before 1.6."""
        return {"pairwise": self.kernel == "precomputed"}

    def __sklearn_tags__(self):
        """Of scikit-learn from 1.6 on, which alone calls it."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags
        return Tags(
            estimator_type="classifier", classifier_tags=ClassifierTags(),
            target_tags=TargetTags(required=True),
            input_tags=InputTags(sparse=self.kernel != "precomputed",
                                 pairwise=self.kernel == "precomputed"))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "classes_")

    # -- training --

    def _parameters(self):
        options = {there: getattr(self, here) for here, there in NAMES.items()}
        seed = self.random_state
        if hasattr(seed, "randint"):
            seed = seed.randint(2 ** 31)
        return Parameters({**options, "seed": seed, "threads": self._threads(),
                           **(self.options or {})})

    def _threads(self):
        """0: all processors."""
        return max(0, self.n_jobs or 0)

    def _problem(self, x, y, serials=None):
        """The problem, with the classes and the labels that they have there."""
        classes, labels = classes_of(y)
        if len(classes) < 2:
            raise ValueError("y has %d class, two are needed" % len(classes))
        problem = Problem(x, labels_of(y, classes, labels),
                          self.kernel == "precomputed", serials)
        if self.scale not in SCALES:
            raise ValueError("scale is one of " + ", ".join(SCALES))
        call("klr_problem_scale", problem.at, SCALES.index(self.scale))
        return problem, classes, labels

    def _weights(self, y, classes, sample_weight):
        """Weights of the examples, or None where all are 1."""
        if sample_weight is None and self.class_weight is None:
            return None
        weights = [1.0] * len(y)
        if sample_weight is not None:
            weights = list(vector(sample_weight, REAL, "d"))
        if len(weights) != len(y) or any(hasattr(w, "shape") and w.shape
                                         for w in weights):
            raise ValueError("sample_weight is a number for each row")
        if self.class_weight is not None:
            factor = self._class_factors(y, classes)
            weights = [w * factor.get(c, 1.0) for w, c in zip(weights, y)]
        return weights

    def _class_factors(self, y, classes):
        if hasattr(self.class_weight, "get"):
            return self.class_weight
        if self.class_weight != "balanced":
            raise ValueError('class_weight is a dict or "balanced"')
        count = dict.fromkeys(classes, 0)
        for label in y:
            count[label] += 1
        return {c: len(y) / (len(classes) * count[c]) for c in classes}

    def fit(self, X, y, sample_weight=None):
        y = flat_labels(y)
        weights = self._weights(y, classes_of(y)[0], sample_weight)
        serials = None
        if weights and 0 in weights:
            check_length(X, y)
            some = [i for i, w in enumerate(weights) if w != 0]
            serials = [i + 1 for i in some]
            X, y, weights = (take(X, some), take(y, some),
                             [weights[i] for i in some])
        params = self._parameters()
        if params.points() > 1:
            raise ValueError("to compare several values of a parameter, "
                             "cross_validate them")
        if weights:
            params.keep("klr_params.example_weight", vector(weights, REAL, "d"))
        problem, classes, labels = self._problem(X, y, serials)
        handle, report = AT(), struct("klr_report")
        params.run("klr_train", problem.at, params.at, ctypes.byref(handle),
                   report)
        self._model = Model(handle, problem)
        self._labels = labels
        self.classes_ = classes
        self.n_features_in_ = problem.columns
        self._report(report)
        return self

    def _report(self, report):
        def value(name, kind):
            return field(report, "klr_report." + name, kind).value
        self.n_iter_ = max(1, value("iterations", LONG))
        self.status_ = STATUSES[value("status", INT)]
        self.gap_ = value("gap", REAL)
        self.n_support_ = value("n_sv", SIZE)

    # -- prediction --

    def _answers(self, x):
        if not hasattr(self, "classes_"):
            raise sklearn_class("NotFittedError", ValueError, AttributeError)(
                "This %s is not fitted yet: call fit" % type(self).__name__)
        problem = Problem(
            x, precomputed=self._model.kernel() == "precomputed")
        if problem.columns != getattr(self, "n_features_in_", problem.columns):
            raise ValueError(
                "X has %d features, but %s is expecting %d features as input"
                % (problem.columns, type(self).__name__, self.n_features_in_))
        return self._model.predict(problem, self._threads())

    def _order(self):
        """For each of classes_ its place among the model's."""
        there = self._model.labels()
        return [there.index(label) for label in self._labels]

    def predict(self, X):
        place_of = {label: i for i, label in enumerate(self._labels)} \
            if hasattr(self, "_labels") else {}
        label = self._answers(X)[0]
        return take(self.classes_, [place_of[value] for value in label])

    def predict_proba(self, X):
        probability = self._answers(X)[2]
        if probability is None:
            raise ValueError("this model has no probabilities: ask for a link")
        return columns(probability, self._order())

    def predict_log_proba(self, X):
        return logarithms(self.predict_proba(X))

    def decision_function(self, X):
        """For two classes the decision values, positive for classes_[1]; for
        more a column each: the logarithms of probabilities or, without these,
        votes and, as fractions, sums of decision values, by which ties may be
        broken otherwise than predict does."""
        _, decision, probability = self._answers(X)
        order = self._order()
        if len(order) == 2:
            sign = 1 if order[1] == 0 else -1
            values = [sign * row[0] for row in decision]
            return numpy.array(values) if numpy else values
        if probability is not None:
            return logarithms(columns(probability, order))
        if self._model.multiclass() in ("ova", "softmax"):
            return columns(decision, order)
        votes = [votes_of(row, len(order)) for row in decision]
        return columns(numpy.array(votes) if numpy else votes, order)

    def score(self, X, y, sample_weight=None):
        """The accuracy."""
        y, predicted = flat_labels(y), self.predict(X)
        if sample_weight is None:
            sample_weight = [1.0] * len(y)
        check_length(predicted, y)
        check_length(predicted, sample_weight)
        right = [w * (a == b) for w, a, b in zip(sample_weight, predicted, y)]
        return float(sum(right) / sum(sample_weight))

    # -- files --

    def save(self, path):
        """The model as a file of klr-train; classes that are no numbers are
        numbered from 0 there, ascending."""
        self._model.save(path)

    @classmethod
    def load(cls, path):
        """From a file of klr-train or of LIBSVM, for rows of any width."""
        self = cls()
        self._model = Model.load(path)
        there = self._model.labels()
        names = self._model.names() or [
            int(label) if label == int(label) else label for label in there]
        self._labels, classes = map(list, zip(*sorted(zip(there, names))))
        self.classes_ = numpy.array(classes) if numpy else classes
        return self


def check_length(rows, values):
    """Raise unless there is a value for each row."""
    count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if len(values) != count:
        raise ValueError("%d rows, but %d values" % (count, len(values)))


def take(values, places):
    if is_sparse(values):
        return values.tocsr()[places]
    if numpy and not isinstance(values, list):
        return numpy.asarray(values)[places]
    return [values[i] for i in places]


def columns(rows, order):
    if numpy:
        return rows[:, order]
    return [[row[i] for i in order] for row in rows]


def logarithms(rows):
    if numpy:
        with numpy.errstate(divide="ignore"):
            return numpy.log(rows)
    return [[math.log(p) if p > 0 else -math.inf for p in row] for row in rows]


def votes_of(decision, classes):
    """Votes of all pairs in order, as scikit-learn counts them."""
    votes, total = [0.0] * classes, [0.0] * classes
    pairs = ((a, b) for a in range(classes) for b in range(a + 1, classes))
    for (a, b), value in zip(pairs, decision):
        votes[a if value > 0 else b] += 1
        total[a] += value
        total[b] -= value
    return [v + t / (3 * (abs(t) + 1)) for v, t in zip(votes, total)]


# ---- Validation ----


def cross_validate(estimator, X, y, cv=5, sample_weight=None):
    """The results that klr-train -v prints and, with --cv-out, writes.

    cv is the number of folds, or the fold of each row, numbers from 0. Returns
    a dict of the metrics by name, over all rows, and "fold", "prediction" and
    "probability" (None where there is none), a row for each of X.
    """
    y = flat_labels(y)
    params = estimator._parameters()
    problem, classes, labels = estimator._problem(X, y)
    weights = estimator._weights(y, classes, sample_weight)
    if weights:
        params.keep("klr_params.example_weight", vector(weights, REAL, "d"))
    if hasattr(cv, "__len__"):
        check_length(X, cv)
        if any(fold < 0 or fold != int(fold) for fold in cv):
            raise ValueError("cv: folds are whole numbers from 0")
        params.keep("klr_params.fold", vector(list(map(int, cv)), SIZE, "L"))
        cv = max(cv) + 1
    field(params.at, "klr_params.folds", LONG).value = int(cv)
    validation = struct("klr_validation")
    params.run("klr_cross_validate", problem.at, params.at, True, validation)
    try:
        if field(validation, "klr_validation.solved", SIZE).value == 0:
            raise RuntimeError("a limit ended the validation")
        return told(validation, problem.n, classes, labels)
    finally:
        lib.klr_validation_free(validation)


def told(validation, n, classes, labels):
    values = ctypes.addressof(validation) + place("klr_validation.answer")
    result = {name: lib.klr_metric_value(i, values)
              for i, name in enumerate(METRICS) if i > 0}
    begin = ctypes.addressof(validation) + place("klr_validation.held_out")

    def held(name, kind, count):
        at = AT.from_address(begin + place("klr_held_out." + name)).value
        return list((kind * count).from_address(at)) if at else None
    result["fold"] = held("fold", SIZE, n)
    predicted = held("label", REAL, n)
    result["prediction"] = take(classes, [labels.index(v) for v in predicted])
    k = len(classes)
    flat = held("probability", REAL, n * k)
    there = lib.klr_metrics_labels(
        field(validation, "klr_validation.metrics", AT).value)[:k]
    order = [there.index(label) for label in labels]
    result["probability"] = flat and columns(
        numpy.array(flat).reshape(n, k) if numpy else
        [flat[i * k:(i + 1) * k] for i in range(n)], order)
    return result
