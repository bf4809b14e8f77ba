# SPDX-License-Identifier: BSD-3-Clause
"""What klr-grid and klr-plot share: pictures.

A picture is a gnuplot script, which gnuplot turns into PNG or SVG; whatever
text of the user goes into one is quoted, and gnuplot's markup is off. Without
gnuplot, or without a file to draw into, there are pictures of ASCII characters
within 79 columns.
"""
import math
import shutil
import subprocess

import klr_tool as tool
from klr_tool import Failure

# From bad or small to good or large; dark to light, also for the colour-blind.
PALETTE = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80",
           "#5ec962", "#addc30", "#fde725")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#7f3b08", "#666666")  # of curves and classes: Okabe and Ito's
SHADES = " -:=+x%#@"
COLUMNS = 79
LETTERS = "abcdefghijklmnopqrstuvwxyz"


# ---- Files ----


def can_draw(path):
    """Whether to draw into a file: None, or a path that command_line took."""
    if path and not shutil.which("gnuplot"):
        tool.tell("gnuplot is not installed: text instead of " + path)
        return False
    return bool(path)


def check_picture(parser, path):
    if not path.lower().endswith((".png", ".svg")):
        parser.error("%r: a name in .png or .svg says what to draw" % path)
    tool.check_output(path)


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


def draw(path, lines, size):
    """The picture that gnuplot makes of a script."""
    kind = "kind = 'svg'"
    if not path.lower().endswith(".svg"):
        kind = ("kind = strstrt(GPVAL_TERMINALS, 'pngcairo') "
                "? 'pngcairo' : 'png'")
    script = "\n".join([
        "set encoding utf8", kind,
        "set terminal @kind size %d,%d noenhanced background '#ffffff'"
        " font 'Sans,12'" % size] + lines + ["unset output", ""])
    status, picture, messages = tool.run_command(
        ["gnuplot", "-d"], script.encode(), stderr=subprocess.PIPE)
    if status or not picture:
        raise Failure("gnuplot failed: " + " ".join(
            messages.decode("utf-8", "replace").split())[-300:])
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


# ---- Text ----


def shade(value, low, high):
    """A character, the denser the nearer to `high` (which may be below)."""
    if value is None:
        return "?"
    part = (value - low) / (high - low) if high != low else 1
    part = min(1, max(0, part))
    return SHADES[min(len(SHADES) - 1, int(part * len(SHADES)))]


def curves_text(curves, x, y):
    """Lines of a picture of curves over 0..1, [(x, y)...] each, in letters."""
    width, height = 61, 21
    canvas = [[" "] * width for _ in range(height)]
    for letter, curve in zip(LETTERS, curves):
        for px, py in filled(curve, width):
            canvas[height - 1 - cell_of(py, height)][
                cell_of(px, width)] = letter
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
