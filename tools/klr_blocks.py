# SPDX-License-Identifier: BSD-3-Clause
"""The predictions of a file in blocks: the command of each block, and what they
wrote as one file, which has the bytes that one klr-predict would have written.

A block is a range of bytes, from the start of a line to the end of one.
"""
import os

import klr_jobs as jobs
import klr_tool as tool
from klr_tool import Failure

# Of its arguments: the first byte, from 1, how many, a file, and a command that
# reads them.
SCRIPT = 'tail -c "+$1" -- "$3" | head -c "$2" | (shift 3 && exec "$@")'
OF_ALL = ("--json", "--metrics")  # options of klr-predict that blocks have not


class Task:
    """Words of klr-predict: options, a test set, a model, and an output."""

    def __init__(self, words):
        if len(words) < 3:
            raise Failure("--blocks: options of klr-predict, then test set, "
                          "model and output")
        *self.options, self.test, self.model, self.output = words
        if self.options[-1:] == ["--"]:
            self.options.pop()
        for path in (self.test, self.model):
            if not os.path.isfile(path):
                raise Failure("%s: no such file: test set, model and output "
                              "come last" % tool.printable(path))
            if not tool.are_different(path, self.output):
                raise Failure("test set, model and output are different files")
        for option in OF_ALL:
            if option in self.options:
                raise Failure("%s: a block has no metrics of all" % option)

    def prefix(self, options):
        name = self.output
        if name == "-":
            name = os.path.basename(self.test)
        return options.parts or name + ".part"

    def jobs(self, options):
        """A job for each block. The first one has the line of labels."""
        values = [{"first": str(start + 1), "bytes": str(end - start),
                   "names": "--no-header" if start > 0 else "-q"}
                  for start, end in ranges(self.test, options.blocks)]
        return jobs.numbered(values, self.prefix(options))


def ranges(path, count):
    """Pairs of the first byte and the end of at most `count` blocks, none of
    them empty. They differ by a line or so."""
    size = os.path.getsize(path)
    starts = {0}
    with open(path, "rb") as file:
        for i in range(1, count):
            file.seek(max(i * size // count - 1, 0))
            file.readline()
            starts.add(file.tell())
    ends = sorted(starts - {size}) + [size]
    return list(zip(ends, ends[1:]))


def write(options, words):
    task = Task(words)
    program = tool.find_program("klr-predict", options.predict)

    def command(value, threads):
        return (["/bin/sh", "-c", SCRIPT, "sh", value("first"), value("bytes"),
                 task.test, program, "-q", value("names")] + threads
                + task.options + ["--", "-", task.model, value("part")])
    jobs.write(options.plan, command, task.jobs(options), task.prefix(options),
               "klr-grid --finish in place of --plan", "begins its block again")


def is_row(line):
    return bool(line.partition(b"#")[0].strip())


def rows_of(file, job, keep_going):
    """How many rows a block has that are answered."""
    rows, left = 0, int(job["bytes"])
    while left > 0:
        line = file.readline()
        left -= len(line)
        rows += keep_going or is_row(line)
    return rows


def lines_of(path):
    """How many lines, and whether the first one may be that of labels."""
    with open(path, "rb") as part:
        first = next(part, b"")
        return bool(first) + sum(1 for _ in part), first.startswith(b"labels ")


def check(task, parts):
    """Raise unless each part has an answer for each row of its block."""
    with open(task.test, "rb") as file:
        for job in parts:
            rows = rows_of(file, job, "--keep-going" in task.options)
            lines, named = lines_of(job["part"])
            named = named and job["names"] == "-q"
            if rows not in (lines, lines - named):
                raise Failure("%s has %s, and its block %s: it is of another "
                              "file, or of other blocks" % (
                                  tool.printable(job["part"]),
                                  tool.counted(lines - named, "answer"),
                                  tool.counted(rows, "row")))


def finish(options, words):
    """Exit status. The output appears if no part is missing."""
    task = Task(words)
    parts = task.jobs(options)
    lost = [job["part"] for job in parts if not os.path.isfile(job["part"])]
    for path in lost:
        tool.tell("%s: No such file" % path)
    if lost:
        return 1
    check(task, parts)
    output = tool.Output(task.output)
    for job in parts:
        with open(job["part"], "rb") as part:
            for piece in iter(lambda: part.read(1 << 20), b""):
                output.write(piece)
    output.commit()
    return 0
