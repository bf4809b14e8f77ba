# SPDX-License-Identifier: BSD-3-Clause
"""What klr-grid and klr-plot share: pictures.

A picture is a gnuplot script, which gnuplot turns into PNG, SVG or PDF;
whatever text of the user goes into one is quoted, and gnuplot's markup is off.
Without a file to draw into there are pictures of ASCII characters within 79
columns.
"""
import math
import re

import klr_tool as tool
from klr_tool import Failure

# From bad or small to good or large; dark to light, also for the colour-blind.
PALETTE = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80",
           "#5ec962", "#addc30", "#fde725")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#7f3b08", "#332288", "#666666", "#999933")  # curves and classes: Okabe
# and Ito's, and darker ones
KEY = "Left reverse opaque box lc '#cccccc' samplen 2"  # a legend
GRID = "set grid lt 1 lc '#e4e4e4'"
TERMINALS = (".png", ".svg", ".pdf")
SHADES = " -:=+x%#@"
COLUMNS = 79
LETTERS = "abcdefghijklmnopqrstuvwxyz"


# ---- Files ----


def check_picture(parser, path):
    """Whether it can be drawn, before there is something to be drawn."""
    if not path.lower().endswith(TERMINALS):
        parser.error("%r: a name in .png, .svg or .pdf says what to draw"
                     % path)
    tool.check_output(path)
    import shutil
    if not shutil.which("gnuplot"):
        raise Failure("%s: gnuplot, which draws pictures, is not installed; "
                      "without -o there is text" % path)


# ---- Gnuplot ----


def quoted(text):
    """Between double quotes, where octal numbers can stand for what gnuplot
    would take for its own."""
    text = text.encode("utf-8", "replace").decode()
    return '"%s"' % "".join(
        "\\%03o" % ord(c) if c in "\"\\`@" else c if c.isprintable() else "?"
        for c in text)


def block(name, rows):
    """Data under a name, which starts with $; an empty row parts blocks."""
    lines = [" ".join("NaN" if v is None else "%.9g" % v for v in row)
             for row in rows]
    return "%s << END\n%s\nEND" % (name, "\n".join(lines))


def titles(title, x, y):
    return ["set title %s" % quoted(title), "set xlabel %s" % quoted(x),
            "set ylabel %s" % quoted(y)]


def terminal(path, size):
    """Lines that choose what gnuplot draws into: a PDF is measured in inches,
    of 72 points each."""
    kind = path.lower().rpartition(".")[2]
    if kind == "png":
        choice = ("kind = strstrt(GPVAL_TERMINALS, 'pngcairo') "
                  "? 'pngcairo' : 'png'")
    else:
        choice = "kind = '%s'" % {"svg": "svg", "pdf": "pdfcairo"}[kind]
    return [choice, "set terminal @kind size %s noenhanced background "
            "'#ffffff' font 'Sans,12'%s" % (
                ("%.9gin,%.9gin" % tuple(v / 72 for v in size),
                 " fontscale 1 lw 2") if kind == "pdf" else ("%d,%d" % size, ""))]


def draw(path, lines, size):
    """The picture that gnuplot makes of a script, which it would read byte by
    byte if it were not called a file. The date of a PDF is
    always the same, so that the same script makes the same file."""
    import subprocess
    script = "\n".join(["set encoding utf8"] + terminal(path, size) + lines
                       + ["unset output", ""])
    status, picture, messages = tool.run_command(
        ["gnuplot", "-d", "/dev/stdin"], script.encode(),
        stderr=subprocess.PIPE)
    if status or not picture:
        raise Failure("gnuplot failed: " + " ".join(
            messages.decode("utf-8", "replace").split())[-300:])
    if path.lower().endswith(".pdf"):
        picture = re.sub(rb"(?<=/CreationDate \(D:)[0-9]{14}",
                         b"19700101000000", picture)
    tool.write_file(path, picture)


# ---- Surfaces ----


def contours(name, levels):
    """Contour lines of $lattice, under a name."""
    return ["set contour base", "unset surface",
            "set cntrparam levels discrete "
            + ", ".join("%.9g" % level for level in levels),
            "set table %s" % name, "splot $lattice using 1:2:3", "unset table",
            "unset contour", "set surface"]


def lattice(xs, ys, values):
    """The rows of values[iy][ix] as gnuplot wants them."""
    for y, row in zip(ys, values):
        for x, value in zip(xs, row):
            yield x, y, value
        yield ()


def colour(part):
    """The colour of the palette at 0..1."""
    i = min(int(part * (len(PALETTE) - 1)), len(PALETTE) - 2)
    t = part * (len(PALETTE) - 1) - i
    pair = [[int(c[k:k + 2], 16) for k in (1, 3, 5)] for c in PALETTE[i:i + 2]]
    return "#%02x%02x%02x" % tuple(round(u + t * (v - u))
                                   for u, v in zip(*pair))


def palette(low, high, bands, reverse=False):
    """Bands of one colour each, light where the value is good."""
    parts = [i / max(1, bands - 1) for i in range(bands)]
    stops = []
    for i, part in enumerate(reversed(parts) if reverse else parts):
        stops += ["%d '%s'" % (edge, colour(part)) for edge in (i, i + 1)]
    return ["set palette defined (%s)" % ", ".join(stops),
            "set cbrange [%.9g:%.9g]" % (low, high)]


def frame(xs, ys):
    """The axes end where the lattice does; below them is the legend."""
    return ["set xrange [%.9g:%.9g]" % (xs[0], xs[-1]),
            "set yrange [%.9g:%.9g]" % (ys[0], ys[-1]),
            "set bmargin 6", "set key outside below samplen 1",
            "set tics out nomirror"]


def log2_tics(letter, low, high):
    """Marks of an axis of logarithms to base 2 that show the numbers: powers of
    ten, if there are two at least, else also twice and five times these."""
    first, last = (math.floor(v * math.log10(2)) for v in (low, high))
    marks = [(math.log2(m) + e * math.log2(10), m, m * 10.0 ** e)
             for e in range(first, last + 1) for m in range(1, 10)]
    marks = [mark for mark in marks if low <= mark[0] <= high]
    decades = sum(m == 1 for _, m, _ in marks)
    named = (1,) if decades > 2 else (1, 2, 5) if len(marks) > 3 else range(10)
    step = max(1, -(-decades // 10))
    return "set %stics (%s)" % (letter, ", ".join(
        '"%g" %.9g' % (value, place)
        if m in named and round(math.log10(value / m)) % step == 0
        else '"" %.9g 1' % place for place, m, value in marks))


# ---- Text ----


def shade(value, low, high):
    """A character, the denser the nearer to `high` (which may be below)."""
    if value is None:
        return "?"
    part = (value - low) / (high - low) if high != low else 1
    part = min(1, max(0, part))
    return SHADES[min(len(SHADES) - 1, int(part * len(SHADES)))]


def letters():
    """Of curves and classes, a dot where the alphabets end."""
    yield from LETTERS + LETTERS.upper()
    while True:
        yield "."


def curves_text(curves, marks, x, y):
    """Lines of a picture of curves over 0..1, [(x, y)...] each, in characters
    `marks`."""
    width, height = 61, 21
    canvas = [[" "] * width for _ in range(height)]
    for mark, curve in zip(marks, curves):
        for px, py in filled(curve, width):
            canvas[height - 1 - cell_of(py, height)][
                cell_of(px, width)] = mark
    yield y
    for i, row in enumerate(canvas):
        scale = "1" if i == 0 else "0" if i == height - 1 else ""
        yield ("%3s |%s" % (scale, "".join(row))).rstrip()
    yield "    +" + "-" * width
    yield "     0" + x.center(width - 2) + "1"


def cell_of(value, cells):
    """Which of the cells 0..1 is parted into has a value."""
    return min(cells - 1, int(value * cells + 1e-9))


def filled(curve, steps):
    """Points along a curve, close enough for a picture of characters."""
    yield curve[0]
    for (x, y), (x1, y1) in zip(curve, curve[1:]):
        for i in range(1, steps + 1) if len(curve) < 1000 else (steps,):
            yield x + (x1 - x) * i / steps, y + (y1 - y) * i / steps


def write(lines):
    for line in lines:
        print(line)
