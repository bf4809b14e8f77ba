# SPDX-License-Identifier: BSD-3-Clause
"""Curves of predictions over all thresholds: ROC, precision-recall, cost.

ROC: every threshold that the scores know, ties in one step; the area by
trapezoids, which counts ties half. Precision-recall: the average precision is
the sum of (R_i - R_{i-1}) P_i, without interpolation. The mean of classes is
that of their curves at the same false positive rate or recall; its area is the
mean of theirs.
"""
import itertools

import klr_draw as draw
from klr_draw import COLOURS, quoted
from klr_scores import Series, counts_of, shared
from klr_tool import Failure

GREY = "#888888"
MOST_INSIDE = 6  # lines of a legend inside the picture
MOST_NAMED = 4  # classes whose lines of chance have an entry in the legend
EPS = 1e-12  # thresholds of a mean that differ by less are one


# ---- Of one class ----


def roc(series, _):
    """The curve, without points inside straight lines, and the area."""
    cuts = [(0, 0)] + list(series.cuts())
    area = sum((f1 - f0) * (t0 + t1)
               for (t0, f0), (t1, f1) in zip(cuts, cuts[1:]))
    kept = cuts[:1]
    for here, after in zip(cuts[1:], cuts[2:]):
        before = kept[-1]
        if ((here[0] - before[0]) * (after[1] - here[1])
                != (after[0] - here[0]) * (here[1] - before[1])):
            kept.append(here)
    points = [(f / series.negative, t / series.positive)
              for t, f in kept + cuts[-1:]]
    area /= 2 * series.positive * series.negative
    return points, "AUC = %.6g" % area, area


def precision_recall(series, _):
    """The curve, in steps, and the average precision."""
    points, average, recall = [], 0, 0
    for true, false in series.cuts():
        here, precision = true / series.positive, true / (true + false)
        if here > recall:
            average += (here - recall) * precision
            points += [(recall, precision), (here, precision)]
        recall = here
    return points, "average precision = %.6g" % average, average


def mean_cost(series, costs, true, false):
    """Of an example, where so many are rightly and wrongly taken for the
    class."""
    return (costs[0] * false + costs[1] * (series.positive - true)) \
        / len(series.pairs)


def cost_curve(series, costs):
    """The curve, in steps from the threshold 1 down to 0, in units of the
    dearer error, and the least cost, halfway between two scores."""
    if not isinstance(series.pairs[0][0], tuple):
        raise Failure("%s: not probabilities" % series.name)
    series = Series(series.name, series.label,
                    [(score[0], true) for score, true in series.pairs])
    scores = sorted({score for score, _ in series.pairs}, reverse=True)
    steps = [mean_cost(series, costs, true, false)
             for true, false in [(0, 0)] + list(series.cuts())]
    ends = [1.0] + scores + [0.0]
    points = [(x, cost / max(costs)) for i, cost in enumerate(steps)
              for x in ends[i:i + 2]]
    least = steps.index(min(steps))
    return points, "least cost = %.6g at %.6g" % (
        steps[least], (ends[least] + ends[least + 1]) / 2), None


def guess(kind, series, costs):
    """What guessing has: the share of the class, or the cost of the better of
    the same answers to all."""
    if kind == "pr":
        return series.positive / len(series.pairs)
    return min(mean_cost(series, costs, 0, 0), mean_cost(
        series, costs, series.positive, series.negative)) / max(costs)


KINDS = {  # title, axes, place of the legend, function, area, guessing
    "roc": ("Receiver operating characteristic", "false positive rate",
            "true positive rate", "bottom right", roc, "AUC", "chance"),
    "pr": ("Precision and recall", "recall", "precision", "bottom left",
           precision_recall, "average precision", "chance"),
    "cost": ("Mean cost", "threshold", "cost, 1: all errors are of the dearer "
             "kind", "top center", cost_curve, None, "same answer to all"),
}


class Curve:
    """Its points, what its legend says behind its name, its area, or None, and
    the level of guessing. Label None: the mean of classes."""

    def __init__(self, series, label, points, text, area, level):
        self.name, self.positive, self.count = (
            series.name, series.positive, len(series.pairs))
        self.label = label
        self.points = points
        self.text = text
        self.area = area
        self.level = level
        self.what = "class %s" % label


def curves_of_file(kind, all_series, costs):
    """Curves of the classes of a file, and behind them their mean."""
    curves = [Curve(s, s.label, *KINDS[kind][4](s, costs),
                    guess(kind, s, costs)) for s in all_series]
    area = KINDS[kind][5]
    if len(curves) > 1 and area:
        mean = sum(c.area for c in curves) / len(curves)
        curves.append(Curve(
            all_series[0], None, mean_points([c.points for c in curves]),
            "%s = %.6g" % (area, mean), mean,
            sum(c.level for c in curves) / len(curves)))
        curves[-1].what = "mean of %d classes" % len(all_series)
    return curves


# ---- The mean of classes ----


def limits(points, xs):
    """At each of xs, ascending, the value just before and just behind it, of a
    curve from 0 to 1 that may rise or fall at an x."""
    i = 0
    for x in xs:
        while i < len(points) and points[i][0] < x - EPS:
            i += 1
        before = points[max(0, i - 1)]
        first = i
        while i < len(points) and points[i][0] <= x + EPS:
            i += 1
        if i > first:
            yield points[first][1], points[i - 1][1]
        else:
            after = points[i]
            part = (x - before[0]) / (after[0] - before[0])
            value = before[1] + part * (after[1] - before[1])
            yield value, value


def mean_points(curves):
    """Values at the same x, in the middle of the curves."""
    xs = []
    for x in sorted({x for points in curves for x, _ in points}):
        if not xs or x > xs[-1] + EPS:
            xs.append(x)
    points = []
    for x, pairs in zip(xs, zip(*(limits(points, xs) for points in curves))):
        for values in zip(*pairs):
            points.append((x, sum(values) / len(curves)))
    return [p for i, p in enumerate(points) if not i or p != points[i - 1]]


# ---- Pictures ----


def names_of(curves):
    """What tells them apart, files or classes or both."""
    files = len({c.name for c in curves}) > 1
    classes = len({c.what for c in curves}) > 1
    return [", ".join([c.name] * files + [c.what] * (classes or not files))
            for c in curves]


def chance_lines(kind, curves, colours):
    """Points, colour and name of what guessing has: the diagonal, or a level
    for each class, the mean of several files."""
    title = KINDS[kind][6]
    if kind == "roc":
        return [([(0, 0), (1, 1)], GREY, title)]
    levels = {}
    for curve, colour in zip(curves, colours):
        levels.setdefault(curve.what, (colour, []))[1].append(curve.level)
    lines = []
    for what, (colour, found) in levels.items():
        level = sum(found) / len(found)
        name = ", ".join([title] + [what] * (len(levels) > 1))
        lines.append(([(0, level), (1, level)],
                      colour if len(levels) > 1 else GREY,
                      "%s: %.3g" % (name, level)))
    if len(lines) > MOST_NAMED + 1:
        lines = [line[:2] + ("",) for line in lines]
        lines[-1] = lines[-1][:2] + (
            title + " of each class: dashed, in its colour",)
    return lines


def colours_of(curves):
    """Black for a mean beside its classes, and grey for these where there are
    more than colours."""
    single = sum(c.label is None for c in curves) == 1
    classes = [c for c in curves if not (single and c.label is None)]
    many = len(classes) > len(COLOURS)
    colours = {id(c): GREY if many else COLOURS[i]
               for i, c in enumerate(classes)}
    return [colours.get(id(c), "#000000") for c in curves], many


def range_text(curves):
    """The legend of classes that are all grey."""
    areas = [c.area for c in curves if c.label is not None]
    text = "%d curves" % len(areas)
    if None in areas:
        return text
    return "%d classes: from %.4g to %.4g" % (len(areas), min(areas),
                                              max(areas))


def script(kind, title, curves, names):
    colours, many = colours_of(curves)
    lines = draw.titles(title, *KINDS[kind][1:3]) + [
        "set xrange [0:1]", "set yrange [0:1.02]", draw.GRID,
        "set size ratio 1", "set tics nomirror"]
    plots = []
    chosen = [pair for pair in zip(curves, colours)
              if not many or pair[0].label is None] or [(curves[0], GREY)]
    for i, (points, colour, name) in enumerate(
            chance_lines(kind, *zip(*chosen))):
        lines.append(draw.block("$chance%d" % i, points))
        plots.append("$chance%d with lines dt 2 lc '%s' %s"
                     % (i, colour, legend(name)))
    shown = False
    for i, (curve, colour, name) in enumerate(zip(curves, colours, names)):
        lines.append(draw.block("$c%d" % i, curve.points))
        grey = many and colour == GREY
        if grey:
            name, shown = "" if shown else range_text(curves), True
        plots.append("$c%d with lines lw %s lc '%s' %s" % (
            i, "1" if grey else "3" if colour == "#000000" else "2",
            colour, legend(name)))
    inside = sum(" title " in plot for plot in plots) <= MOST_INSIDE
    place = KINDS[kind][3] if inside else "outside right center"
    return (lines + ["set key %s %s" % (place, draw.KEY),
                     "plot " + ", ".join(plots)],
            (760 if inside else 1180, 760))


def legend(name):
    return "title " + quoted(name) if name else "notitle"


def plot(kind, files, title, output, costs):
    """Of a file of several classes each and their mean, of several files the
    means alone."""
    curves = []
    for all_series in files:
        found = curves_of_file(kind, all_series, costs)
        curves += found[-1:] if found[-1].label is None and (
            len(files) > 1) else found
    names = ["%s: %s" % (name, c.text)
             for name, c in zip(names_of(curves), curves)]
    title = title or KINDS[kind][0] + shared(curves) + counts_of(curves)
    if output:
        draw.draw(output, *script(kind, title, curves, names))
    else:
        x, y = KINDS[kind][1:3]
        letters = list(itertools.islice(draw.letters(), len(curves)))
        if len(curves) > 1 and curves[-1].label is None and len(files) == 1:
            letters[-1] = "*"
        draw.write([title, ""] + list(draw.curves_text(
            [c.points for c in curves], letters, x, y)) + [""])
        names = ["%s  %s" % pair for pair in zip(letters, names)]
    draw.write(names)
