# SPDX-License-Identifier: BSD-3-Clause
"""What a model predicts of two features, over a lattice around the data."""
import re
import sys

import klr_draw as draw
import klr_tool as tool
from klr_draw import COLOURS, quoted
from klr_scores import example_lines, words_of
from klr_tool import Failure

MOST_POINTS = 2000  # examples in a picture of a surface
LATTICE = 201


def feature_of(word):
    index, _, value = word.partition(":")
    if not re.fullmatch("[0-9]+", index):
        raise ValueError(word)
    return int(index), tool.finite(value)


def axis_names(model, axes):
    """What the features are called, by the model if it has names."""
    names = []
    with open(model, "rb") as file:
        for line in file:
            if line.startswith(b"feature_names "):
                names = line.decode("utf-8", "surrogateescape").split()[1:]
    return [names[i - 1] if 0 < i <= len(names) else "feature %d" % i
            for i in axes]


class Data:
    """Examples of two features: their indices, points and labels, of which
    `read` makes classes."""

    def __init__(self, path, read):
        self.read = read
        rows = example_lines(tool.read_text(path))
        try:
            found = [dict(feature_of(word) for word in words if ":" in word)
                     for words in rows]
        except ValueError:
            raise Failure("%s: not data" % path)
        self.axes = sorted({index for row in found for index in row})
        if len(self.axes) != 2:
            raise Failure("%s: %s, but a surface has two" % (
                path, tool.counted(len(self.axes), "feature")))
        self.points = [tuple(row.get(i, 0.0) for i in self.axes)
                       for row in found]
        self.labels = ["" if ":" in words[0] else words[0] for words in rows]

    def axis(self, k):
        """The lattice along a feature, a margin around the examples."""
        values = [point[k] for point in self.points]
        low, high = min(values), max(values)
        margin = 0.05 * (high - low) or 1
        step = (high - low + 2 * margin) / (LATTICE - 1)
        return [low - margin + step * i for i in range(LATTICE)]

    def every(self):
        """Of how many examples one is shown, so that they can be told apart."""
        return -(-len(self.points) // MOST_POINTS)

    def by_class(self, labels, last):
        """Label and points of each class, that of label `last` at the end. It
        is spelled as in `labels`, where it is there."""
        groups = {self.read(label): (label, []) for label in labels}
        for label, point in list(zip(self.labels, self.points))[::self.every()]:
            groups.setdefault(self.read(label), (label, []))[1].append(point)
        groups = {key: group for key, group in groups.items() if group[1]}
        return [groups[key] for key in sorted(
            groups, key=lambda key: (key == last, isinstance(key, str), key))]


def predict(options, model, axes, xs, ys):
    """Words of the predictions at a lattice, [iy][ix], and the classes, None
    of a model without probabilities, for which there are decision values."""
    program = tool.find_program("klr-predict", options.predict)
    rows = "".join("%d:%.17g %d:%.17g\n" % (axes[0], x, axes[1], y)
                   for y in ys for x in xs).encode()
    command = [program, "-q", "--unlabelled", "-", model, "-"]
    status, printed, _ = tool.run_command(command, rows)
    if not status and not printed.startswith(b"labels"):
        command.insert(1, "--decision")
        status, printed, _ = tool.run_command(command, rows)
    if status:
        sys.exit(1)
    words = words_of(printed.decode("utf-8", "surrogateescape"))
    titled = words and words[0][0] == "labels"
    classes = words.pop(0)[1:] if titled else None
    if len(words) != len(xs) * len(ys):
        raise Failure("%s: not the predictions of klr-predict"
                      % tool.shown_name(program))
    return ([words[i:i + len(xs)] for i in range(0, len(words), len(xs))],
            classes)


def point_plots(groups):
    lines, plots = [], []
    for i, (label, points) in enumerate(groups):
        lines.append(draw.block("$p%d" % i, points))
        plots.append("$p%d with points pt %d ps 0.8 lw 1.5 lc '%s' title %s" % (
            i, (6, 2, 4, 8, 10, 12, 1, 3)[i % 8], COLOURS[i % len(COLOURS)],
            quoted("class " + label if label else "unlabelled")))
    return lines, plots


def two_class_script(values, name, decision, xs, ys):
    """A probability in bands of a tenth, or a decision value; a heavy line is
    the boundary between the classes."""
    if decision:
        known = sorted(abs(v) for row in values for v in row)
        limit = known[len(known) * 9 // 10] or 1
        low, high, middle = -limit, limit, 0
    else:
        low, high, middle = 0, 1, 0.5
    levels = [low + (high - low) * i / 10 for i in range(1, 10) if i != 5]
    return ([draw.block("$lattice", draw.lattice(xs, ys, values))]
            + draw.contours("$thin", levels)
            + draw.contours("$thick", [middle])
            + ["set palette defined (%s)" % DIVERGING,
               "set cbrange [%.9g:%.9g]" % (low, high),
               "set cblabel %s" % quoted(name)],
            ["$lattice using 1:2:3 with image notitle",
             "$thin using 1:2 with lines lw 1 lc '#888888' notitle",
             "$thick using 1:2 with lines lw 2.5 lc '#000000' "
             "title 'boundary'"])


# Light, so that points show: from the second class to the first.
DIVERGING = "0 '#b3cde3', 1 '#f7f7f7', 2 '#fdcc9a'"


def many_class_script(words, classes, groups, read, xs, ys):
    """Each region in the colour of its class, the stronger the more probable
    the class is."""
    order = [read(label) for label, _ in groups]
    order += [c for c in map(read, classes or []) if c not in order]
    colours = [[int(COLOURS[i % len(COLOURS)][k:k + 2], 16) for k in (1, 3, 5)]
               for i in range(max(1, len(order)))]
    rows = []
    for y, row in zip(ys, words):
        for x, cell in zip(xs, row):
            label = read(cell[0])
            which = order.index(label) if label in order else 0
            share = max(map(float, cell[1:])) if classes else 0.8
            part = 0.1 + 0.45 * max(0, share)
            rows.append((x, y) + tuple(
                round(255 + part * (c - 255)) for c in colours[which]))
    return ([draw.block("$lattice", rows)],
            ["$lattice using 1:2:3:4:5 with rgbimage notitle"])


def positive_class(data, cells):
    """That of positive decision values; where none is, the class of the data
    that is not predicted. Empty if that is not known."""
    value, label = max((float(cell[1]), cell[0]) for cell in cells)
    others = {data.read(other): other for other in data.labels if other}
    others.pop(data.read(label), None)
    if value > 0:
        return label
    return others.popitem()[1] if len(others) == 1 else ""


def surface_script(title, data, words, classes, xs, ys):
    cells = [cell for row in words for cell in row]
    two = len(classes) == 2 if classes else len(cells[0]) == 2
    first = classes[0] if classes else positive_class(data, cells)
    groups = data.by_class(classes or [cell[0] for cell in cells],
                           data.read(first) if two else None)
    if two:
        values = [[float(cell[1]) for cell in row] for row in words]
        name = ("probability of class " if classes else
                "decision value" + ", positive: class " * bool(first)) + first
        before, under = two_class_script(values, name, not classes, xs, ys)
    else:
        title += (": the most probable class, paler where less so" if classes
                  else ": the predicted class")
        before, under = many_class_script(words, classes, groups,
                                          data.read, xs, ys)
    if data.every() > 1:
        title += "; 1 of %d examples is shown" % data.every()
    lines, plots = point_plots(groups)
    return (draw.titles(title, *data.names)
            + before + lines + draw.frame(xs, ys)
            + ["plot " + ", ".join(under + plots)])


def surface_text(title, data, words, classes, xs, ys):
    """A letter for each class, large where it is surer than 3/4."""
    labels = sorted({cell[0] for row in words for cell in row},
                    key=lambda label: (str(type(data.read(label))),
                                       data.read(label)))
    yield from (title, "")
    yield "%s from %.4g to %.4g, upwards" % (data.names[1], ys[0], ys[-1])
    for row in words[::-9]:
        text = ""
        for cell in row[::3]:
            letter = draw.LETTERS[labels.index(cell[0]) % 26]
            sure = classes and max(map(float, cell[1:])) > 0.75
            text += letter.upper() if sure else letter
        yield "  " + text
    yield "%s from %.4g to %.4g" % (data.names[0], xs[0], xs[-1])
    yield ""
    for i, label in enumerate(labels):
        letter = draw.LETTERS[i % 26]
        yield "%s: class %s%s" % (letter, label, (
            ", %s: more probable than 3/4" % letter.upper()) if classes else "")


def plot_surface(options):
    data = Data(options.data, options.read)
    xs, ys = data.axis(0), data.axis(1)
    with tool.as_file(options.model) as model:
        words, classes = predict(options, model, data.axes, xs, ys)
        data.names = axis_names(model, data.axes)
    title = options.title or "%s and %s" % (
        tool.shown_name(options.model), tool.shown_name(options.data))
    if options.output:
        draw.draw(options.output,
                  surface_script(title, data, words, classes, xs, ys),
                  (860, 760))
    else:
        draw.write(surface_text(title, data, words, classes, xs, ys))
