# SPDX-License-Identifier: BSD-3-Clause
"""Predictions as scores of classes, and whether they are right.

They come from files of klr-predict, with labels from the data, or of klr-train
--cv-out (docs/FORMAT.md, section 5). Examples whose label the model lacks are
left out, as its AUC does.
"""
import math
import re

import klr_tool as tool
from klr_tool import Failure


def label_of(text):
    """A label as a number, or as it stands: +1 and 1 are one label."""
    try:
        return tool.label(text)
    except ValueError:
        return text


def words_of(text):
    """The words of each line, between the blanks that the programs know: names
    of classes may have others in them."""
    lines = text.split("\n")
    return [re.findall("[^ \t\r]+", line)
            for line in lines[:-1] + [lines[-1]] * bool(lines[-1])]


def example_lines(text):
    """Words of the examples of a data file, without comments."""
    text = re.sub("#.*", "", text.lstrip("\ufeff"))
    return [words for words in words_of(text) if words]


def data_labels(path, read):
    """A label for each example of a data file, None where it has none."""
    return [None if ":" in words[0] else read(words[0])
            for words in example_lines(tool.read_text(path))]


class Predictions:
    """`rows`: of each example the true label, the predicted one, and scores,
    probabilities of `classes` or decision values (`classes` is None). Labels
    are what `read` makes of their texts."""

    def __init__(self, path, data, read):
        self.name = tool.shown_name(path)
        self.read = read
        lines = words_of(tool.read_text(path))
        first = lines[0] if lines else []
        known = first[:3] in (["fold", "true", "labels"],
                              ["fold", "true", "label"])
        titles = first[2:] if known else first
        self.classes = titles[1:] if titles[:1] == ["labels"] else None
        rows = lines[1:] if known or self.classes else lines
        try:
            self.rows = [(read(words[1]) if known else None,
                          read(words[2 if known else 0]),
                          [tool.finite(w) for w in words[3 if known else 1:]])
                         for words in rows]
        except (ValueError, IndexError):
            raise Failure("%s: not predictions" % self.name)
        if len({len(row[2]) for row in self.rows}) != 1:
            raise Failure("%s: not predictions" % self.name)
        if not self.rows[0][2]:
            raise Failure("%s: labels alone: no probabilities, no decision "
                          "values" % self.name)
        if not known:
            self.join(data)

    def join(self, data):
        if not data:
            raise Failure("%s: the true labels are missing: --data"
                          % self.name)
        labels = data_labels(data, self.read)
        if len(labels) != len(self.rows):
            raise Failure("%s: %s, but %s in %s" % (
                self.name, tool.counted(len(self.rows), "prediction"),
                tool.counted(len(labels), "example"),
                tool.shown_name(data)))
        self.rows = [(label,) + row[1:]
                     for label, row in zip(labels, self.rows)]

    def series(self, wanted):
        """A Series for the class wanted, else the first of two, else each."""
        if self.classes is None:
            return [self.decisions(wanted)]
        classes = [self.read(c) for c in self.classes]
        if wanted is not None and self.read(wanted) not in classes:
            raise Failure("%s: there is no class %s" % (self.name, wanted))
        chosen = classes if len(classes) > 2 else classes[:1]
        if wanted is not None:
            chosen = [self.read(wanted)]
        rows = [row for row in self.rows if row[0] in classes]
        return [Series(self.name, self.classes[i],
                       [(ranked(row[2], i), row[0] == classes[i])
                        for row in rows]).checked()
                for i in map(classes.index, chosen)]

    def top(self):
        """A Series for the most probable class, and whether it is the true
        one."""
        classes = [self.read(c) for c in self.classes]
        series = Series(self.name, None, [
            ((max(p), 0.0), classes[p.index(max(p))] == label)
            for label, _, p in self.rows if label in classes])
        series.what = "most probable of %d classes" % len(classes)
        return series

    def decisions(self, wanted):
        """Of two classes: the first is that of positive decision values."""
        if len(self.rows[0][2]) > 1:
            raise Failure("%s: decision values of several pairs of classes: "
                          "probabilities are needed" % self.name)
        first = {row[1] for row in self.rows if row[2][0] > 0}
        second = {row[1] for row in self.rows if row[2][0] < 0}
        other = {row[0] for row in self.rows} - first - second - {None}
        if len(other) == 1:  # it is the one that nothing is predicted as
            first, second = first or other, second or other
        if len(first) != 1 or len(second) > 1 or first & second:
            raise Failure("%s: not the decision values of two classes"
                          % self.name)
        label, = first
        sign = 1
        if wanted is not None and self.read(wanted) != label:
            label, sign = self.read(wanted), -1
        if label not in first | second:
            raise Failure("%s: there is no class %s" % (self.name, wanted))
        text = "%.15g" % label if isinstance(label, float) else label
        return Series(self.name, text, [
            (sign * row[2][0], row[0] == label)
            for row in self.rows if row[0] in first | second]).checked()


def ranked(probabilities, i):
    """The score of class i: its probability, and minus those of the others,
    which tell apart what rounds to 1."""
    others = probabilities[:i] + probabilities[i + 1:]
    return probabilities[i], -math.fsum(others)


class Series:
    """Pairs of a score, a decision value or as `ranked` has it, and whether
    the example is of the class."""

    def __init__(self, name, label, pairs):
        self.name = name
        self.label = label
        self.what = "class %s" % label
        self.pairs = sorted(pairs, reverse=True)
        self.count = len(pairs)
        self.positive = sum(true for _, true in pairs)
        self.negative = len(pairs) - self.positive

    def checked(self):
        """Itself, if there are examples of the class and others."""
        if not self.positive or not self.negative:
            raise Failure("%s: %s examples of class %s" % (
                self.name, "only" if self.positive else "no", self.label))
        return self

    def cuts(self):
        """True and false positives at every threshold, from the highest."""
        true = false = 0
        for i, (score, right) in enumerate(self.pairs):
            true += right
            false += not right
            if i + 1 == len(self.pairs) or self.pairs[i + 1][0] != score:
                yield true, false


# ---- Titles of pictures ----


def shared(drawn):
    """The file and the class, where what is drawn (each with name, what) has
    one of them."""
    words = [sorted({getattr(d, key) for d in drawn})
             for key in ("name", "what")]
    words = [found[0] for found in words if len(found) == 1]
    return ": " + ", ".join(words) if words else ""


def counts_of(drawn):
    """How many examples there are, and of the class, if there is one."""
    total = span([d.count for d in drawn])
    if len({d.what for d in drawn}) == 1 and drawn[0].label is not None:
        total = "%s of %s" % (span([d.positive for d in drawn]), total)
    joint = ", " if shared(drawn) else ": "
    return "%s%s examples" % (joint, total)


def span(counts):
    low, high = min(counts), max(counts)
    return "%d" % low if low == high else "%d to %d" % (low, high)
