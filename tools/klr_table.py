# SPDX-License-Identifier: BSD-3-Clause
"""Tables of text: rows in blocks, as they come, and the meaning of cells.

Cells are read a column of a block at a time, so that the interpreter's own
loops do most of the work.
"""
import contextlib
import csv
import datetime
import functools
import io
import itertools
import math
import re

import klr_tool as tool
from klr_tool import Failure

BLOCK = 1 << 16  # bytes that are read at once: they stay in the cache
MOST_ROWS = 512  # of a block
SEPARATORS = ",;\t|"
BLANK = " "  # any number of them is between two cells
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MEASURES = ("number", "amount", "time")  # and dates, of one of these orders:
ORDERS = ("ymd", "dmy", "mdy")
DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})"
                  r"(?:[ T](\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?"
                  r"(?:Z|([+-])(\d\d):?(\d\d))?)?", re.ASCII)
CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?"
                   r"(?:\s?([AaPp])\.?[Mm]\.?)?", re.ASCII)
FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
MONEY = "$\xa2\xa3\xa5\u0e3f\u20a0-\u20bf"  # $, cent, pound, yen ... euro ...
# Letters, as in mg, kg/m2 or °C, but no ordinal.
UNIT = r"(?!(?:st|nd|rd|th)$)(?:°|[^\W\d_])(?:[^\W_]|[/.·^°])*"
# A sign, money before the number or a unit behind it, and marks of thousands in
# it: with a decimal point, and with a decimal comma.
AMOUNT = [re.compile(r"([-+]?)([" + MONEY + r"]?)\s?([-+]?)"
                     r"([0-9]{1,3}([%s'’\s])[0-9]{3}(?:\5[0-9]{3})*|[0-9]+"
                     r"|(?=%s[0-9]))(?:%s([0-9]*))?([eE][-+]?[0-9]+)?"
                     r"\s?((?:[%%‰" % (mark, point, point) + MONEY
                     + r"]|" + UNIT + r")?)")
          for mark, point in ((",", "[.]"), (".", ","))]


# ---- Rows in ----


class Lines:
    """Lines of a binary file. While `ready` has some, the next one needs no
    waiting."""

    def __init__(self, file, path):
        self.file = file
        self.path = path
        self.rest = None  # of a line that has not ended
        self.ready = []  # the last one first

    def __iter__(self):
        return self

    def __next__(self):
        while not self.ready:
            self.fill()
        return self.ready.pop()

    def begin(self):
        """The first two lines, which stay, or "": the second may not have come
        yet. None has been read before."""
        with contextlib.suppress(StopIteration):
            self.fill()
        return (self.ready[:-3:-1] + ["", ""])[:2]

    def fill(self):
        block = self.file.read1(BLOCK)
        if self.rest is None:
            tool.refuse_foreign(block, self.path)
            self.rest = b""
            if block.startswith(BYTE_ORDER_MARK):
                block = block[len(BYTE_ORDER_MARK):]
        if not block and not self.rest:
            raise StopIteration
        whole, feed, rest = (self.rest + block).rpartition(b"\n")
        if not block:
            whole, rest = rest, b""
        self.rest = rest
        text = (whole + feed).decode("utf-8", "surrogateescape")
        self.ready = list(io.StringIO(text, newline="\n"))
        self.ready.reverse()


class Table:
    """A header and the rows below it. The separator is found if none is given.
    Columns without a name are called by their number, and so are all of a
    table without a header.
    """

    def __init__(self, file, path, separator=None, has_header=True):
        self.name = "stdin" if path == "-" else tool.printable(path)
        self.has_header = has_header
        self.lines = Lines(file, path)
        lines = self.lines.begin()
        said = re.fullmatch("sep=(.)\\s*", lines[0])  # as spreadsheets do it
        self.separator = separator or (said[1] if said
                                       else find_separator(*lines))
        self.reader = csv.reader(self.cleared() if self.separator == BLANK
                                 else self.lines, delimiter=self.separator,
                                 strict=True, skipinitialspace=True)
        self.kept = None  # a row that was read ahead
        if said:
            self.next_row()
        row = self.next_row() or []
        if not has_header:
            self.kept, row = row, [""] * len(row)
        self.header = [name.strip() or "column%d" % number
                       for number, name in enumerate(row, 1)]
        if not self.header:
            raise Failure("%s: no header" % self.name)
        for i, name in enumerate(self.header):
            if name in self.header[:i]:
                raise Failure("%s: two columns are called %r"
                              % (self.name, name))

    def again(self):
        """The table from its beginning, of a file that can be read again."""
        lines = self.lines
        lines.file.seek(0)
        return Table(lines.file, lines.path, self.separator, self.has_header)

    def cleared(self):
        """Lines with blanks between cells, and none behind the last."""
        for line in self.lines:
            yield line.rstrip().replace("\t", BLANK) + "\n"

    def next_row(self):
        """The next one that is not blank; None at the end."""
        row, self.kept = self.kept, None
        if row:
            return row
        try:
            return next(filter(None, self.reader), None)
        except csv.Error as error:
            why = "%s: is a quote not closed?" % error
            if "new-line" in str(error):
                why = "a carriage return within a line: end lines as Unix " \
                    "or Windows does"
            raise Failure("%s:%d: %s" % (self.name, self.reader.line_num, why))

    def blocks(self):
        """Lists of rows, and the line on which each ends. A block is handed on
        before the next row has to be waited for."""
        rows, lines = [], []
        for row in iter(self.next_row, None):
            rows.append(row)
            lines.append(self.reader.line_num)
            if len(rows) == MOST_ROWS or not self.lines.ready:
                yield rows, lines
                rows, lines = [], []
        if rows:
            yield rows, lines


def find_separator(line, second):
    """What divides the line into most cells, and the second into as many;
    blanks, where nothing else does. What is wrong with the line is said where
    it is read.
    """
    def cells(separator, line=line):
        try:
            return len(next(csv.reader([line], delimiter=separator), []))
        except csv.Error:
            return 0

    best = max(SEPARATORS, key=lambda separator: (
        cells(separator), cells(separator, second) == cells(separator)))
    return BLANK if cells(best) < 2 <= len(line.split()) else best


def is_of_numbers(header):
    """Whether a header looks like an example: numbers, but for one cell at
    most, which do not just count the columns."""
    numbers = [cell for cell in header if is_number(cell, False)]
    return len(numbers) >= max(1, len(header) - 1) \
        and numbers != [str(int(float(numbers[0])) + i)
                        for i in range(len(numbers))]


def find_comma(table):
    """Whether more cells of the first block are amounts with a decimal comma
    alone than are with a decimal point alone. 1,200 is one with either: a
    fraction, unless it has a unit; $1,200 tells nothing."""
    count = {",": 0, ".": 0}
    rows, _ = next(table.blocks(), ([], []))
    for cell in map(str.strip, itertools.chain.from_iterable(rows)):
        by_point, by_comma = amount_of(cell, False), amount_of(cell, True)
        if not by_point or not by_comma:
            count["."] += by_point is not None
            count[","] += by_comma is not None
        elif by_point != by_comma and not by_point[1]:
            count["," if "," in cell else "."] += 1
    return count[","] > count["."]


# ---- Cells ----


def numbers_of(cells, comma):
    """Their values where all are numbers of the programs, else None. With
    `comma` that is the decimal mark."""
    text = "".join(cells)
    if "_" in text or not text.isascii() or comma and "." in text:
        return None  # what float() would read
    if comma:
        cells = [cell.replace(",", ".") for cell in cells]
    try:
        values = list(map(float, cells))
    except ValueError:
        return None
    finite = math.isfinite(sum(values)) or all(map(math.isfinite, values))
    return values if finite else None


def is_number(cell, comma):
    return numbers_of([cell], comma) is not None


@functools.lru_cache(maxsize=1 << 16)
def amount_of(cell, comma):
    """The value and the unit, perhaps "", of a number that may have a unit and
    marks of thousands; None of others. The unit is None where any one does: $0
    is 0 %, but 0 °C is not 0 °F."""
    match = AMOUNT[comma].fullmatch(cell)
    if not match:
        return None
    sign, before, inner_sign, whole, mark, places, power, behind = \
        match.groups()
    if mark:
        whole = whole.replace(mark, "")
    value = float("%s%s.%s%s" % (sign or inner_sign, whole, places or "0",
                                 power or ""))
    if before and behind or sign and inner_sign or not math.isfinite(value):
        return None
    unit = before or behind
    return value, unit if value or any(map(str.isalpha, unit)) else None


def value_of(cell, kind, comma, unit):
    """Of an amount in that unit, a date of that order, or a time of day; None
    of others."""
    if kind in ORDERS:
        return days_of(cell, kind)
    if kind == "time":
        return hours_of(cell)
    value, own = amount_of(cell, comma) or (None, None)
    return value if own in (None, unit) else None


@functools.lru_cache(maxsize=1 << 16)
def days_of(cell, order):
    """Days since 1970-01-01 of a date, perhaps with a time; None of others."""
    match = DATE.fullmatch(cell)
    if not match:
        return None
    part = dict(zip(order, match.group(1, 3, 4)))
    if len(part["y"]) != 4 or len(part["d"]) > 2 or len(part["m"]) > 2:
        return None
    hour, minute, second, sign, hours, minutes = match.group(5, 6, 7, 8, 9, 10)
    try:
        day = datetime.date(*(int(part[p]) for p in "ymd")).toordinal()
        if hour is None:
            return day - FIRST_DAY
        datetime.time(int(hour), int(minute))
    except ValueError:
        return None
    clock = 60 * int(hour) + int(minute) + float(second or 0) / 60
    if sign:
        clock -= int(sign + "1") * (60 * int(hours) + int(minutes))
    return round(day - FIRST_DAY + clock / 1440, 6)


@functools.lru_cache(maxsize=1 << 16)
def hours_of(cell):
    """Hours since midnight of a time of day, 18:30 or 6:30 pm; None of
    others."""
    match = CLOCK.fullmatch(cell)
    if not match:
        return None
    hour, minute, second, half = match.groups()
    hours, first = int(hour), 0
    if half:
        hours, first = hours % 12 + 12 * (half in "Pp"), 1
    if not first <= int(hour) < (13 if half else 24) or int(minute) > 59 \
            or float(second or 0) >= 60:
        return None
    return round(hours + int(minute) / 60 + float(second or 0) / 3600, 6)
