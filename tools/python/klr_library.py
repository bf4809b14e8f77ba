# SPDX-License-Identifier: BSD-3-Clause
"""libklr.so by ctypes, for klr.py: arrays, problems, parameters, models.

The library is $KLR_LIBRARY, or build/lib/libklr.so.1 of the sources that this
file is in, or lib/libklr.so.1 of the prefix, or what the system finds.
"""
import array
import ctypes
import math
import os
import tempfile

try:
    import numpy
except ImportError:
    numpy = None

SONAME = "libklr.so.1"
HERE = os.path.dirname(os.path.realpath(__file__))

# ---- The library ----


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_long),
                ("column", ctypes.c_long), ("message", ctypes.c_char * 256)]


class Features(ctypes.Structure):
    _fields_ = [("n", ctypes.c_size_t), ("dimension", ctypes.c_int),
                ("start", ctypes.c_void_p), ("index", ctypes.c_void_p),
                ("value", ctypes.c_void_p), ("packed", ctypes.c_void_p)]


USAGE, MEMORY, LIMIT, IO, PIPE, DATA, MODEL = range(1, 8)
EXCEPTIONS = {MEMORY: MemoryError, LIMIT: MemoryError, IO: OSError,
              PIPE: BrokenPipeError}
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

SIZE, INT, LONG, REAL, TEXT, AT = (
    ctypes.c_size_t, ctypes.c_int, ctypes.c_longlong, ctypes.c_double,
    ctypes.c_char_p, ctypes.c_void_p)
# The types that a function takes, but for its error, and returns; INT:
# a code.
FUNCTIONS = {
    "klr_version": ([], TEXT),
    "klr_struct_place": ([TEXT], SIZE),
    "klr_problem_dense": ([AT, SIZE, SIZE, AT, INT, AT], INT),
    "klr_problem_sparse": ([AT, AT, AT], INT),
    "klr_problem_scale": ([AT, INT], INT),
    "klr_problem_free": ([AT], None),
    "klr_params_init": ([AT], None),
    "klr_params_set": ([AT, TEXT, TEXT], INT),
    "klr_params_points": ([AT], SIZE),
    "klr_train": ([AT, AT, AT, AT], INT),
    "klr_cross_validate": ([AT, AT, ctypes.c_bool, AT], INT),
    "klr_validation_free": ([AT], None),
    "klr_metric_value": ([INT, AT], REAL),
    "klr_metrics_labels": ([AT], ctypes.POINTER(REAL)),
    "klr_output_open": ([AT, TEXT], INT),
    "klr_output_commit": ([AT], INT),
    "klr_output_abandon": ([AT], AT),
    "klr_model_save": ([AT, AT, INT], INT),
    "klr_model_load": ([AT, TEXT], INT),
    "klr_model_free": ([AT], AT),
    "klr_model_classes": ([AT], SIZE),
    "klr_model_labels": ([AT], ctypes.POINTER(REAL)),
    "klr_model_label_names": ([AT], AT),
    "klr_names_text": ([AT, SIZE], TEXT),
    "klr_model_machines": ([AT], SIZE),
    "klr_model_kernel": ([AT], TEXT),
    "klr_model_multiclass": ([AT], TEXT),
    "klr_model_has_probabilities": ([AT], ctypes.c_bool),
    "klr_predictor_create": ([AT, AT, LONG], INT),
    "klr_predictor_free": ([AT], AT),
    "klr_predict": ([AT, AT, AT, AT, AT], INT),
}


def load_library():
    for path in (os.environ.get("KLR_LIBRARY"),
                 os.path.join(HERE, "..", "..", "build", "lib", SONAME),
                 os.path.join(HERE, "..", "..", "lib", SONAME)):
        if path and os.path.exists(path):
            return ctypes.CDLL(path)
    return ctypes.CDLL(SONAME)


def declare(library):
    for name, (takes, returns) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = returns
        function.argtypes = takes + [AT] * (returns is INT)
    for mirror in (Error, Features):
        name = "klr_" + mirror.__name__.lower()
        if place(name) != ctypes.sizeof(mirror):
            raise ImportError("libklr.so is of another version: " + name)


def place(name):
    """The size of a struct, or where a field of it begins."""
    where = lib.klr_struct_place(name.encode())
    if where == SIZE(-1).value:
        raise ImportError("libklr.so is of another version: " + name)
    return where


def struct(name):
    return ctypes.create_string_buffer(place(name))


def field(base, name, kind):
    """The field of a struct, to be read and set by its value."""
    return kind.from_buffer(base, place(name))


def call(name, *arguments):
    """Call what may fail, and raise the error that it tells."""
    error = Error()
    code = getattr(lib, name)(*arguments, ctypes.byref(error))
    if not code:
        return
    message = error.message.decode("utf-8", "replace")
    if error.line:
        message = "row %d%s: %s" % (error.line, error.column and
                                    ", column %d" % error.column or "", message)
    raise EXCEPTIONS.get(code, ValueError)(message)


lib = load_library()
declare(lib)


def names_of(table):
    """An array of strings in the library that ends with NULL."""
    names, at = [], TEXT.in_dll(lib, table)
    for name in ctypes.cast(ctypes.addressof(at), ctypes.POINTER(TEXT)):
        if name is None:
            return names
        names.append(name.decode())


METRICS = names_of("klr_metric_names")
STATUSES = names_of("klr_status_names")
SCALES = names_of("klr_scale_names")

# ---- Arrays ----


def vector(values, kind, code):
    """As an array of that type of ctypes; `code` as array.array has it."""
    if numpy:
        return numpy.ascontiguousarray(values, dtype=kind)
    return array.array(code, values)


def address(values):
    if values is None:
        return None
    if numpy and isinstance(values, numpy.ndarray):
        return values.ctypes.data
    return values.buffer_info()[0]


def zeros(*shape):
    if numpy:
        return numpy.zeros(shape)
    return array.array("d", bytes(8 * math.prod(shape)))


def shaped(values, rows, columns):
    """An array of zeros(rows, columns) itself, or as lists."""
    if numpy:
        return values
    return [list(values[i * columns:(i + 1) * columns]) for i in range(rows)]


def is_sparse(x):
    return hasattr(x, "tocsr")


def dense_array(x):
    """A two-dimensional array of doubles with its shape."""
    if numpy:
        x = numpy.asarray(x)
        if numpy.iscomplexobj(x):
            raise ValueError("Complex data not supported")
        x = numpy.ascontiguousarray(x, dtype=float)
        if x.ndim != 2:
            raise ValueError("Expected 2D array, got %dD array instead. "
                             "Reshape your data: a row for each example"
                             % x.ndim)
        return x, x.shape
    rows = [array.array("d", row) for row in x]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows have different lengths")
    return (array.array("d", b"".join(row.tobytes() for row in rows)),
            (len(rows), len(rows[0]) if rows else 0))


def checked_shape(shape):
    if shape[0] < 1:
        raise ValueError("Found array with 0 sample(s) (shape=%s) while a "
                         "minimum of 1 is required." % (tuple(shape),))
    if shape[1] < 1:
        raise ValueError("Found array with 0 feature(s) (shape=%s) while a "
                         "minimum of 1 is required." % (tuple(shape),))
    return shape


class Problem:
    """Examples of the library, from rows and, if there are any, labels. Rows of
    a precomputed kernel have numbers, from 1 unless they are given."""

    def __init__(self, x, labels=None, precomputed=False, serials=None):
        self.at = struct("klr_problem")
        label = None if labels is None else vector(labels, REAL, "d")
        if is_sparse(x) and not precomputed:
            self.fill_sparse(x, label)
        else:
            self.fill_dense(x.toarray() if is_sparse(x) else x, label,
                            precomputed, serials)

    def fill_dense(self, x, label, precomputed, serials):
        values, shape = dense_array(x)
        self.n, self.columns = checked_shape(shape)
        self.check_labels(label)
        if precomputed:
            values = with_serials(values, self.columns,
                                  serials or range(1, self.n + 1))
        call("klr_problem_dense", self.at, self.n, self.columns + precomputed,
             address(values), 0 if precomputed else 1, address(label))

    def fill_sparse(self, x, label):
        if x.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        x = x.tocsr()
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        self.n, self.columns = checked_shape(x.shape)
        if self.columns >= 2 ** 31:
            raise ValueError("%d columns are too many" % self.columns)
        self.check_labels(label)
        start = vector(x.indptr, SIZE, "L")
        index = vector(x.indices + 1, INT, "i")
        value = vector(x.data, REAL, "d")
        view = Features(self.n, self.columns, address(start), address(index),
                        address(value))
        call("klr_problem_sparse", self.at, ctypes.byref(view), address(label))

    def check_labels(self, label):
        if label is not None and len(label) != self.n:
            raise ValueError("%d rows, but %d labels" % (self.n, len(label)))

    def features(self):
        """A view of the rows."""
        read = {name: field(self.at, "klr_problem." + name, kind).value
                for name, kind in (("n", SIZE), ("dimension", INT),
                                   ("start", AT), ("index", AT),
                                   ("value", AT))}
        return Features(**read)

    def __del__(self):
        if hasattr(self, "at"):
            lib.klr_problem_free(self.at)


def with_serials(values, columns, serials):
    """With one more column, the first: the numbers of the rows."""
    if numpy:
        return numpy.ascontiguousarray(numpy.hstack(
            [numpy.array(serials, dtype=float)[:, None], values]))
    numbered = array.array("d")
    for i, serial in enumerate(serials):
        numbered.append(serial)
        numbered.extend(values[i * columns:(i + 1) * columns])
    return numbered


# ---- Models ----


class Model:
    """A trained model, ready to answer; a pickle holds its file."""

    def __init__(self, handle, problem=None):
        self.handle, self.problem = handle, problem  # refers to it

    @classmethod
    def load(cls, path):
        handle = AT()
        call("klr_model_load", ctypes.byref(handle), os.fsencode(path))
        return cls(handle)

    @classmethod
    def of_bytes(cls, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return cls.load(file.name)

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.save(path)
            with open(path, "rb") as file:
                return Model.of_bytes, (file.read(),)

    def save(self, path):
        out = AT()
        call("klr_output_open", ctypes.byref(out), os.fsencode(path))
        try:
            call("klr_model_save", self.handle, out, 0)
        except BaseException:
            lib.klr_output_abandon(out)
            raise
        call("klr_output_commit", out)

    def labels(self):
        """In the order of its probabilities."""
        count = lib.klr_model_classes(self.handle)
        return lib.klr_model_labels(self.handle)[:count]

    def kernel(self):
        return lib.klr_model_kernel(self.handle).decode()

    def multiclass(self):
        return lib.klr_model_multiclass(self.handle).decode()

    def names(self):
        """Names of its labels, or None."""
        names = lib.klr_model_label_names(self.handle)
        return names and [lib.klr_names_text(names, int(label)).decode()
                          for label in self.labels()]

    def predict(self, problem, threads):
        """Labels; decision values and, or None, probabilities as rows."""
        classes = lib.klr_model_classes(self.handle)
        machines = lib.klr_model_machines(self.handle)
        knows = lib.klr_model_has_probabilities(self.handle)
        label, decision = zeros(problem.n), zeros(problem.n, machines)
        probability = zeros(problem.n, classes) if knows else None
        predictor, x = AT(), problem.features()
        call("klr_predictor_create", ctypes.byref(predictor), self.handle,
             threads)
        try:
            call("klr_predict", predictor, ctypes.byref(x), address(label),
                 address(decision), address(probability))
        finally:
            lib.klr_predictor_free(predictor)
        return (label, shaped(decision, problem.n, machines),
                shaped(probability, problem.n, classes) if knows else None)

    def __del__(self):
        if hasattr(self, "handle"):
            lib.klr_model_free(self.handle)


class Parameters:
    """struct klr_params. What it refers to is kept here."""

    def __init__(self, options):
        self.at, self.kept = struct("klr_params"), []
        lib.klr_params_init(self.at)
        for name, value in options.items():
            self.set(name, value)
        self.stopped = False
        self.progress = PROGRESS(self.ask)
        self.point("klr_params.progress", ctypes.cast(self.progress, AT).value)

    def set(self, name, value):
        text = str(value)
        if hasattr(value, "__len__") and not isinstance(value, str):
            text = ",".join(map(str, value))
        if text in ("None", "False"):
            return
        text = b"" if text == "True" else text.encode()
        self.kept.append(text)
        call("klr_params_set", self.at, name.encode(), text)

    def points(self):
        """How many there are, of several values of C or gamma."""
        return lib.klr_params_points(self.at)

    def point(self, name, where):
        field(self.at, name, AT).value = where

    def keep(self, name, values):
        self.kept.append(values)
        self.point(name, address(values))

    def ask(self, _progress, _context):
        """Python looks for Ctrl-C between two of its lines only."""
        try:
            for _ in range(2):
                pass
        except KeyboardInterrupt:
            self.stopped = True
        return self.stopped

    def run(self, name, *arguments):
        call(name, *arguments)
        if self.stopped:
            raise KeyboardInterrupt
