# SPDX-License-Identifier: BSD-3-Clause
"""Commands that differ in some values, for GNU parallel, Slurm and HTCondor.

A command is a function of two: how a value is written that differs, by its
name, and the words that give a job its threads. It returns the words of the
command, of which values are Verbatim. A job has a value for each name; its
part, the file that the command writes, is the last one.
"""
import re
import shlex

import klr_tool as tool
from klr_tool import Failure


class Verbatim(str):
    """A word that stands in a script as it is."""


def numbered(values, prefix):
    """The jobs of these values, each with its part: PREFIX.1, PREFIX.2 ..."""
    digits = len(str(len(values)))
    return [dict(job, part="%s.%0*d" % (prefix, digits, i))
            for i, job in enumerate(values, 1)]


def write(how, command, jobs, prefix, then, again):
    """On stdout, `how` of WRITERS: what follows the jobs, and what a job does
    that is run again, stand in a comment."""
    for word in command(str, []) + [prefix]:
        if "\n" in word:
            raise Failure("%s: a command is a line, and can hold no line feed"
                          % tool.printable(word))
    notes = {"then": then, "again": again, "log": log_name(prefix)}
    tool.put(WRITERS[how](command, jobs, notes))


def joined(words, quoted):
    return " ".join(word if isinstance(word, Verbatim) else quoted(word)
                    for word in words)


def parallel(command, jobs, _):
    return "".join(shlex.join(command(job.get, [])) + "\n" for job in jobs)


def log_name(prefix):
    """One for all parts, of characters that no scheduler takes for its own."""
    return re.sub("[^A-Za-z0-9._/+-]", "_", prefix)


SLURM = """#!/bin/sh
# sbatch FILE; then {then}.
# --cpus-per-task=N, --time, --mem and others of sbatch go before FILE, or here.
# A task that is stopped, 60 seconds before its time is over or to make room, is
# queued again, and {again}.
#SBATCH --job-name=klr-grid
#SBATCH --array=1-{count}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={log}.slurm
#SBATCH --signal=B:USR1@60

case $SLURM_ARRAY_TASK_ID in
{cases}
esac

again() {{
    trap '' USR1 TERM
    kill "$child"
    wait "$child"
    scontrol requeue "$SLURM_JOB_ID"
    exit
}}
trap again USR1
{command} &
child=$!
wait "$child"
"""


def slurm(command, jobs, notes):
    words = command(lambda name: Verbatim('"$%s"' % name),
                    ["-j", Verbatim('"${SLURM_CPUS_PER_TASK:-1}"')])
    cases = ("%d) %s ;;" % (i, " ".join(
        "%s=%s" % (name, shlex.quote(value)) for name, value in job.items()))
        for i, job in enumerate(jobs, 1))
    return SLURM.format(count=len(jobs), command=joined(words, shlex.quote),
                        cases="\n".join(cases), **notes)


CONDOR = """# condor_submit FILE; then {then}.
# The folder is shared. A job that is evicted {again}.
cpus = 1
executable = {program}
arguments = "{arguments}"
request_cpus = $(cpus)
should_transfer_files = NO
log = {log}.condor
error = $(part).err
max_retries = 3
queue {names} from (
{lines}
)
"""


def condor_quoted(word):
    """In the syntax of arguments between double quotes."""
    if re.search("[\\s']|^$", word):
        word = "'%s'" % word.replace("'", "''")
    return word.replace('"', '""').replace("$", "$(DOLLAR)")


def condor(command, jobs, notes):
    part = jobs[0]["part"]
    if re.search("[\\s'\",$]", part):
        raise Failure("%s: HTCondor takes a part of this name for something "
                      "else: --parts gives others" % tool.printable(part))
    program, *words = command(lambda name: Verbatim("$(%s)" % name),
                              ["-j", Verbatim("$(cpus)")])
    return CONDOR.format(
        program=program, arguments=joined(words, condor_quoted),
        names=", ".join(jobs[0]),
        lines="\n".join(", ".join(job.values()) for job in jobs), **notes)


WRITERS = {"parallel": parallel, "slurm": slurm, "condor": condor}
