# SPDX-License-Identifier: BSD-3-Clause
"""Results that klr-train -v printed or logged: tables, lines of JSON, and logs
(docs/FORMAT.md, section 7), as points of one grid.

A point is a dictionary by the keys of klr-train's JSON. Parts of a grid belong
together if they are of one problem: the same data, folds and options.
"""
import json

import klr_tool as tool
from klr_tool import Failure

# klr-train --metric: key in its JSON, title in tables, name, unit, larger is
# better.
METRICS = {
    "accuracy": ("accuracy", "accuracy", "accuracy, %", 100, True),
    "balanced": ("balanced_accuracy", "balanced", "balanced accuracy, %", 100,
                 True),
    "logloss": ("log_loss", "log_loss", "log loss", 1, False),
    "brier": ("brier", "Brier", "Brier score", 1, False),
    "auc": ("auc", "AUC", "AUC", 1, True),
    "f1": ("f1", "F1", "F1", 1, True),
    "mcc": ("mcc", "MCC", "MCC", 1, True),
    "ece": ("ece", "ECE", "expected calibration error", 1, False),
}
OF_LABELS = ("accuracy", "balanced", "f1", "mcc")  # alone
PARAMETERS = {"c": "C", "gamma": "gamma", "lambda": "lambda",
              "lambda_over_c": "lambda/C"}
KEYS = {m[1]: m[0] for m in METRICS.values()}
KEYS.update({title: key for key, title in PARAMETERS.items()})
UNSOLVED = ("time_limit", "interrupted")
ORDER = ("gamma", "lambda", "lambda_over_c", "c")  # of klr-train's points
FREE = ("cost", "lambda")  # parts may differ in them
FOLD = ("gamma", "lambda_number", "fold")  # of lines of a fold
PAIR = ("gamma", "pair", "pairs")
MOST_NUMBER = 500000  # of pairs of classes, or of folds
MOST_TOLD = 4


class Part:
    """The points of a file, and the problem that they are of, or None."""

    def __init__(self, name):
        self.path = name
        self.name = tool.printable(name)
        self.points = []
        self.folds = []  # gamma, number of lambda, and fold, each by itself
        self.pairs = []  # of classes, of a training: gamma, pair, their number
        self.problem = self.files = None


# ---- Results in ----


def is_results(text):
    """True of a text that klr-train printed, not of data."""
    first = text.lstrip().partition("\n")[0]
    return first.startswith("{") or ":" not in first and (
        first.split()[:1] in ([title] for title in PARAMETERS.values()))


def object_of(line, part):
    try:
        found = json.loads(line)
    except ValueError as error:
        raise Failure("%s: not JSON of klr-train: %s" % (part.name, error))
    if not isinstance(found, dict):
        raise Failure("%s: not JSON of klr-train" % part.name)
    return found


def holds(found, *types):
    """Whether it is an object whose members are of these types."""
    return isinstance(found, dict) and all(
        isinstance(member, types) for member in found.values())


def add_problem(part, problem, files):
    if not (holds(problem, str, int) and holds(files, str)
            and "training_set" in files):
        raise Failure("%s: not JSON of klr-train" % part.name)
    differs = difference(part.problem or problem, problem)
    if differs:
        raise Failure("%s: results of two problems: %s" % (part.name, differs))
    part.problem, part.files = problem, files


def place_of_line(found, keys, part):
    """Gamma and numbers of the line of a fold, or of a pair."""
    gamma, *numbers = place = [found.get(key) for key in keys]
    if not (isinstance(gamma, (int, float, type(None)))
            and all(type(number) is int and 0 < number <= MOST_NUMBER
                    for number in numbers)):
        raise Failure("%s: not a log of klr-train" % part.name)
    return tuple(place)


def add_json(part, line):
    """A validation, or a line of a log."""
    found = object_of(line, part)
    if found.get("problem") is not None:
        add_problem(part, found["problem"], found.get("files"))
    if "klr_log" in found:
        return
    if "lambda_number" in found:
        part.folds.append(place_of_line(found, FOLD, part))
        return
    if "pair" in found:
        part.pairs.append(place_of_line(found, PAIR, part))
        return
    points = found.get("values")
    if not points:
        raise Failure("%s: no grid: -v with several values of -c, -g or -l "
                      "makes one" % part.name)
    metric = found.get("metric")
    try:
        part.points += [dict(numbers_of(point), part=part.name,
                             metric=metric if metric in METRICS else None)
                        for point in points]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failure("%s: not JSON of klr-train" % part.name)


def numbers_of(point):
    """Without lambda where its share of C is what varies. Each has a C."""
    float(point["c"])
    numbers = {key: None if value is None else float(value)
               for key, value in point.items() if key in KEYS.values()
               and not (key == "lambda" and "lambda_over_c" in point)}
    error = point.get("standard_error") or {}
    return dict(numbers, solved=point.get("status") not in UNSOLVED,
                error={key: float(value) for key, value in error.items()
                       if value is not None})


def point_of_row(cells, header, part):
    point = {"metric": None, "part": part.name, "error": {}, "solved": True}
    last = None
    try:
        for key, cell in zip(header, cells):
            value = None if cell == "-" else float(cell.rstrip("%"))
            value = value / 100 if cell.endswith("%") else value
            if key != "s.e.":
                point[key] = value
            elif value is not None:
                point["error"][last] = value
            last = key
    except ValueError:
        raise Failure("%s: not a number of a table: %s" % (part.name, cell))
    return point


def part_of(text, name):
    """The results of a text. In a log a line that does not end was cut off."""
    part, header = Part(name), None
    *lines, rest = text.split("\n")
    if not text.startswith('{"klr_log"'):
        lines.append(rest)
    for line in lines:
        words = line.replace("log loss", "log_loss").split()
        if line.startswith("{"):
            add_json(part, line)
        elif "accuracy" in words and words[0] in PARAMETERS.values():
            header = [KEYS.get(word, word) for word in words]
        elif (header and words[:1] != ["Best"]
              and len([w for w in words if w != "*"]) == len(header)):
            part.points.append(point_of_row(words, header, part))
        else:
            header = None  # what follows a table
    return part


def why_empty(text):
    """How a text has no points; None if it is no part of a grid."""
    if not text.strip():
        return "empty"
    return "nothing is finished" if text.startswith('{"klr_log"') else None


def parts_of(named_texts):
    """Parts in files, which are pairs of a path and a function that reads it;
    how many are missing or empty, which is told."""
    parts, lost = [], 0
    for path, read in named_texts:
        try:
            text = read()
        except FileNotFoundError as error:
            why = error.strerror
        else:
            part = part_of(text, path)
            known = part.points or part.folds or part.pairs
            why = None if known else why_empty(text)
            if not known and why is None:
                raise Failure("%s: no results of klr-train -v" % part.name)
        if why is None:
            parts.append(part)
        else:
            tool.tell("%s: %s" % (path, why))
            lost += 1
    return parts, lost


def loose_folds(parts):
    """Folds of gammas that no part has points of."""
    known = {point.get("gamma") for part in parts for point in part.points}
    return sorted({fold for part in parts for fold in part.folds
                   if fold[0] not in known},
                  key=lambda fold: tuple(value or 0 for value in fold))


def tell_missing_folds(folds, count):
    """Whether a gamma and lambda lacks some of its folds, which are named."""
    cells = sorted({fold[:2] for fold in folds},
                   key=lambda cell: tuple(value or 0 for value in cell))
    missing = [(gamma, fold) for gamma, number in cells
               for fold in range(1, count + 1)
               if (gamma, number, fold) not in folds]
    return tell_missing("fold %d%s" % (
        fold, "" if gamma is None else " at gamma = %.6g" % gamma)
        for gamma, fold in missing)


def tell_missing_pairs(parts):
    """Name pairs of classes that are missing; whether there are any."""
    pairs = [pair for part in parts for pair in part.pairs]
    gammas = {gamma for gamma, _, _ in pairs}
    if len(gammas) > 1:
        raise Failure("the parts are of %d gammas: a training has one"
                      % len(gammas))
    known = {pair for _, pair, _ in pairs}
    return tell_missing("pair %d" % pair for pair in range(1, pairs[0][2] + 1)
                        if pair not in known)


def tell_missing(names):
    names = list(names)
    for name in names[:MOST_TOLD]:
        tool.tell("%s is missing" % name)
    if names[MOST_TOLD:]:
        tool.tell("and %d more" % len(names[MOST_TOLD:]))
    return bool(names)


# ---- What belongs together ----


def difference(one, other):
    """"seed is 1 and 2", or "" of problems that parts of a grid may have."""
    for key in list(one) + list(other):
        if key not in FREE and one.get(key) != other.get(key):
            return "%s is %s and %s" % (key, one.get(key, "not given"),
                                        other.get(key, "not given"))
    return ""


def check(parts):
    """Raise unless they are parts of one grid."""
    told = [part for part in parts if part.problem is not None]
    for part in told[1:]:
        differs = difference(told[0].problem, part.problem)
        if differs:
            raise Failure("%s and %s do not belong together: %s"
                          % (told[0].name, part.name, differs))


def place_of(point):
    return tuple(point.get(key) or 0 for key in ORDER)


def results_of(point):
    return {key: point.get(key) for key in KEYS.values()}


def merge(points):
    """The points in the order of klr-train, each once; one that is solved in
    some part is."""
    grid = {}
    for point in points:
        other = grid.setdefault(place_of(point), point)
        if not other["solved"]:
            grid[place_of(point)] = point
        elif point["solved"] and any(
                value != point.get(key) for key, value in results_of(
                    other).items() if key in other):
            raise Failure("two results at %s, in %s and %s: of other data or "
                          "folds, or tables without gamma, which --json has"
                          % (named(point), other["part"], point["part"]))
    return [grid[place] for place in sorted(grid)]


def named(point):
    return ", ".join("%s = %.6g" % (title, point[key])
                     for key, title in PARAMETERS.items()
                     if point.get(key) is not None)


def told_points(points):
    more = len(points) - MOST_TOLD
    return "; ".join(map(named, points[:MOST_TOLD])) + (
        "; and %d more" % more if more > 0 else "")


def holes_of(points):
    """The combinations of values that have no point."""
    keys = [key for key in ORDER if any(p.get(key) for p in points)]
    places = {tuple(p.get(key) for key in keys) for p in points}
    holes = [()]
    for i in range(len(keys)):
        values = sorted({place[i] for place in places if place[i] is not None})
        holes = [hole + (value,) for hole in holes for value in values]
    return [dict(zip(keys, hole)) for hole in holes if hole not in places]


def tell_gaps(points):
    """Say which points are not solved, by their parts, and which are missing;
    whether there are any."""
    unsolved = [p for p in points if not p["solved"]]
    for name in sorted({p["part"] for p in unsolved}):
        of_part = [p for p in unsolved if p["part"] == name]
        tool.tell("%s: %s not solved: %s" % (
            name, tool.counted(len(of_part), "point"), told_points(of_part)))
    holes = holes_of(points)
    if holes:
        tool.tell("%s of the grid missing: %s" % (
            tool.counted(len(holes), "point"), told_points(holes)))
    return bool(unsolved or holes)
