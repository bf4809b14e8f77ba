# SPDX-License-Identifier: BSD-3-Clause
"""Grids as commands: the words of klr-train for one, its parts, the last
training, and a grid that grows beyond its edge.

A part is a gamma with all C and lambda, which share a kernel matrix.
"""
import argparse
import math
import os
import re
import shlex

import klr_jobs as jobs
import klr_tool as tool
from klr_tool import Failure

MOST_VALUES = 64  # that klr-train takes
LETTERS = {"cost": "-c", "gamma": "-g", "lambda": "-l"}
PART_OPTIONS = {"gamma": "-g", "fold": "--only-fold", "pair": "--only-pair"}
# Members of a problem that are no options, or whose values are hashes.
HASHES = {"version", "n", "data", "folds-file", "weights", "points"}
# Options of a validation that a training has not.
VALIDATION = {"cost", "lambda", "gamma", "validate", "loo", "sparsest"}
MOST_ROUNDS = 20
NEW_VALUES = 3  # beyond an edge


# ---- The words of a grid ----


def has_option(arguments, *names):
    return any(a == name or (name[1] == "-" and a.startswith(name + "="))
               for a in arguments for name in names)


def kernel_of(arguments):
    kernel = "rbf"
    for i, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in ("-t", "--kernel"):
            kernel = value if equals else "".join(arguments[i + 1:i + 2])
    return kernel


def grid_words(options, arguments):
    """Words of klr-train for the grid of LIBSVM's grid.py, but for what is
    given."""
    words = []
    has_gamma = kernel_of(arguments)[:3] not in ("0", "lin", "4", "pre")
    if not has_option(arguments, "-v", "--validate", "--folds-file",
                      "--loo"):
        words += ["-v", "5"]
    if options.log2c or not has_option(arguments, "-c", "--cost"):
        words += values_of(options.log2c or "-5,15,2", "-c")
    if options.log2g or (has_gamma
                         and not has_option(arguments, "-g", "--gamma")):
        words += values_of(options.log2g or "-15,3,2", "-g")
    if options.metric != "auto":
        words += ["--metric", options.metric]
    return words + arguments


def powers(text):
    """FIRST,LAST,STEP as it is, if values_of can read it."""
    values_of(text, "-c")
    return text


def values_of(text, letter):
    """An option from FIRST,LAST,STEP in powers of 2; null leaves it out."""
    if text == "null":
        return []
    try:
        first, last, step = (float(part) for part in text.split(","))
        count = int(math.floor((last - first) / step + 1e-9)) + 1
        values = sorted(2 ** (first + step * i)
                        for i in range(min(count, MOST_VALUES + 1)))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise argparse.ArgumentTypeError("%r is not FIRST,LAST,STEP" % text)
    if not values:
        raise argparse.ArgumentTypeError("%r: no values between these" % text)
    return [letter, ",".join("%.17g" % value for value in values)]


def shortest(value):
    """As base/numbers.c: the digits that it takes to read it back."""
    text = "%.15g" % value
    return text if float(text) == value else "%.17g" % value


def taken_out(words, *names):
    """The value of an option, the last one that is given, or None, and the
    other words."""
    value, rest = None, []
    left = iter(range(len(words)))
    for i in left:
        name, equals, attached = words[i].partition("=")
        if name not in names:
            rest.append(words[i])
        elif equals:
            value = attached
        else:
            value = "".join(words[i + 1:i + 2])
            next(left, None)
    return value, rest


def number(text):
    """A number, or a power of numbers."""
    base, power, exponent = text.partition("^")
    return tool.finite(base) ** tool.finite(exponent) if power \
        else tool.finite(base)


def range_of(first, last, factor):
    """As klr-train has it, to the last bit: base/option.c."""
    values, value = [], first
    while len(values) <= MOST_VALUES:
        met = abs(value - last) <= 1e-9 * last
        if not met and not value < last:
            break
        values.append(last if met else value)
        value *= factor
        decimal = float("%.11e" % value)
        if abs(decimal - value) <= 4 * 2.0 ** -52 * value:
            value = decimal
    return values


def list_of(text):
    """The values of an option, ascending."""
    values = set()
    try:
        for item in text.split(","):
            match = re.fullmatch("([^:]+):([^:]+):x([^:]+)", item)
            values.update(range_of(*map(number, match.groups())) if match
                          else [number(item)])
    except (ValueError, OverflowError, ZeroDivisionError):
        raise Failure("-g %s: not numbers and ranges FIRST:LAST:xFACTOR"
                      % text)
    return sorted(values)


# ---- Parts for schedulers ----


def count_folds(words):
    """How many a validation with these options has."""
    path, rest = taken_out(words, "--folds-file")
    count, _ = taken_out(rest, "-v", "--validate")
    try:
        if path is None:
            return int(count or "")
        lines = [line.partition("#")[0].strip()
                 for line in tool.read_text(path).split("\n")]
        return len({int(line) for line in lines if line})
    except ValueError:
        raise Failure("--by-fold: it takes the folds of -v or --folds-file")


def count_pairs(data, words):
    """How many pairs the classes of the data make."""
    label_of = str if has_option(words, "--string-labels") else tool.label
    found = set()
    with open(data, encoding="utf-8-sig", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            label = line.partition("#")[0].split(None, 1)[:1]
            try:
                found.update(map(label_of, label))
            except ValueError:
                raise Failure("%s:%d: label '%s': not a number"
                              % (tool.printable(data), number, label[0]))
    if len(found) < 2:
        raise Failure("%s: no two classes" % tool.printable(data))
    return len(found) * (len(found) - 1) // 2


def divisions(options, words, data):
    """Words of klr-train that all parts have, and for each part the values of
    PART_OPTIONS that are its own."""
    if options.by_pair:
        return words, [{"pair": str(pair)} for pair
                       in range(1, count_pairs(data, words) + 1)]
    gammas, words = taken_out(grid_words(options, words), "-g", "--gamma")
    found = [{"gamma": shortest(g)} for g in list_of(gammas)] if gammas \
        else [{}]
    if options.by_fold:
        found = [dict(one, fold=str(fold)) for one in found
                 for fold in range(1, count_folds(words) + 1)]
    return words, found


def write(options, arguments, data):
    """The commands of the parts."""
    if not os.path.isfile(data):
        raise Failure("%s: no such file" % tool.printable(data))
    train = tool.find_program("klr-train", options.train)
    words, found = divisions(options, arguments, data)
    prefix = options.parts or os.path.basename(data) + ".part"

    def command(value, threads):
        own = [word for name in found[0]
               for word in (PART_OPTIONS[name], value(name))]
        return ([train, "-q"] + threads + words + own
                + ["--part", value("part"), data])
    then = "klr-grid --finish PARTS"
    jobs.write(options.plan, command, jobs.numbered(found, prefix), prefix,
               then if options.by_pair else "klr-grid PARTS, and " + then,
               "goes on from its part")


# ---- The last training ----


def problem_words(problem, aside):
    """Options of klr-train that a problem has, but for some."""
    for key, value in problem.items():
        if key in aside or key == "scale" and value == "none":
            continue
        if key.startswith("-w"):
            yield from (key, str(value))
        else:
            yield "--" + key
            if value is not True:
                yield str(value)


def point_words(point):
    for key, letter in (("gamma", "-g"), ("c", "-c")):
        if point.get(key):
            yield from (letter, shortest(point[key]))
    if point.get("lambda_over_c") is not None:
        yield from ("-l", shortest(point["lambda_over_c"]) + "c")
    elif point.get("lambda") is not None:
        yield from ("-l", shortest(point["lambda"]))


def file_words(files):
    return [word for option, path in files.items() if option != "training_set"
            for word in ("--" + option, path)]


def problem_of(part):
    if part.problem is None:
        raise Failure("%s does not say of what it is: JSON and logs do"
                      % part.name)
    return part.problem


def last_words(part, best, train):
    """Words of klr-train for the model of a point, but for its name."""
    problem = problem_of(part)
    files = {option: path for option, path in part.files.items()
             if option != "folds-file"}
    return [tool.find_program("klr-train", train),
            *problem_words(problem, HASHES | VALIDATION),
            *point_words(best), *file_words(files), files["training_set"]]


def join(part, parts, options):
    """A line of the shell: a log of all parts, and klr-train as of `part`,
    which goes on from the log and makes points of its folds, or a model of its
    pairs."""
    paths = [other.path for other in parts]
    log = os.path.splitext(paths[0])[0] + ".log"
    if log in paths:
        raise Failure("%s is a part, and to be the log of all" % log)
    problem, files = problem_of(part), part.files
    aside = HASHES | ({"validate"} if part.pairs or "folds-file" in files
                      else set())
    gammas = {line[0] for other in parts for line in other.folds + other.pairs}
    gammas.update(point.get("gamma") for other in parts
                  for point in other.points)
    gammas.discard(None)
    words = [tool.find_program("klr-train", options.train),
             *problem_words(problem, aside), *file_words(files)]
    if gammas:
        words += ["-g", ",".join(map(shortest, sorted(gammas)))]
    if options.metric != "auto":
        words += ["--metric", options.metric]
    words += ["--log", log, "--resume", files["training_set"]]
    return "cat -- %s >%s && %s" % (shlex.join(paths), shlex.quote(log),
                                    shlex.join(words))


# ---- Beyond the edge ----


def beyond(values, largest):
    """Values that go on by the step of the last two."""
    edge, inner = (values[-1], values[-2]) if largest else (values[0],
                                                            values[1])
    factor = edge / inner
    found = [edge * factor ** i for i in range(1, NEW_VALUES + 1)]
    return sorted(v for v in found if 1e-300 < v < 1e300)


def next_words(grid, words):
    """Words for the grid beyond an edge, or None."""
    edges = [edge for edge in grid.edges() if edge[0] in ("c", "gamma")]
    if not edges:
        return None
    key, largest = edges[0]
    values = {"c": grid.values("c"), "gamma": grid.values("gamma")}
    values[key] = beyond(values[key], largest)
    if not values[key]:
        return None
    tool.tell("%s: on to %.6g" % (grid.edge_text(),
                                  values[key][-1 if largest else 0]))
    _, words = taken_out(words, "-c", "--cost")
    _, words = taken_out(words, "-g", "--gamma")
    for key, letter in (("c", "-c"), ("gamma", "-g")):
        if values[key]:
            words += [letter, ",".join(map(shortest, values[key]))]
    return words


def extend(options, arguments, validate, grid_of):
    """Status, and output of klr-train, a line of JSON for each grid: the first,
    and others, each beyond an edge that the best point so far is at."""
    words = grid_words(options, arguments)
    status, printed = validate(words)
    for _ in range(MOST_ROUNDS):
        words = None if status else next_words(grid_of(printed), words)
        if words is None:
            break
        status, more = validate(words)
        printed += more
    return status, printed
