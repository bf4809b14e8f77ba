# SPDX-License-Identifier: BSD-3-Clause
"""What the tools share: files in and out, other programs, the end of a tool.

A file appears whole or not at all, as those of the programs do (base/files/output.c):
it is written beside its place, under a name that stands in `unfinished` for as
long as it exists, and renamed. Pipes, devices, what is open already and files
that are mounts are written as they are.

Modules that few runs need are imported by the functions that do, so that tools
start sooner.
"""
import signal

# An interrupt ends what is imported and read before catch_signals as it ends
# any program, without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse  # noqa: E402
import codecs  # noqa: E402
import contextlib  # noqa: E402
import errno  # noqa: E402
import itertools  # noqa: E402
import math  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import stat  # noqa: E402
import sys  # noqa: E402

VERSION = "0.1.0"  # that of solver.h
STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
FOREIGN_MARKS = [
    (mark, "this is UTF-16 or UTF-32 text: convert it to UTF-8")
    for mark in (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
] + [
    (mark, "this is compressed by %s: read - behind '%s -dc FILE |'" % (by, by))
    for mark, by in ((b"\x1f\x8b", "gzip"), (b"BZh91AY&SY", "bzip2"),
                     (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))
] + [
    (mark, "this is a workbook or an archive: save its sheet as CSV")
    for mark in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
]
# Characters as base/error.c has them.
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5"
    "\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
NUMBER = "[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# Signals that end a tool: all but those of a crash or of a write, and those
# that end nothing or cannot be caught.
OTHER = {getattr(signal, "SIG" + name) for name in (
    "ILL ABRT FPE SEGV BUS SYS TRAP PIPE XFSZ CHLD CONT STOP TSTP TTIN TTOU "
    "URG WINCH KILL").split()}
ENDING = [number for number in range(1, signal.NSIG)
          if number not in OTHER and not 32 <= number < signal.SIGRTMIN]

serial = itertools.count()  # makes the names of temporary files unique
unfinished = set()  # temporary files that are to go, however the tool ends


class Failure(Exception):
    """A message for the user."""


class Stopped(BaseException):
    """By the signal of that number."""


# ---- Files in ----


def printable(text):
    """A name of the user as the programs show it: what cannot be seen as
    \\xNN."""
    return INVISIBLE.sub(lambda match: "".join(
        "\\x%02X" % byte for byte in match[0].encode()), text)


def shown_name(path):
    return "stdin" if path == "-" else printable(os.path.basename(path))


def foreign_text(start):
    """What a file is that begins so, if it is no text: as base/files/input.c."""
    for mark, what in FOREIGN_MARKS:
        if start.startswith(mark):
            return what
    return None


def refuse_foreign(start, path):
    what = foreign_text(start)
    if what:
        raise Failure("%s: %s" % (shown_name(path), what))


def read_text(path):
    if path == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    else:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    refuse_foreign(text[:10].encode("utf-8", "surrogateescape"), path)
    return text


@contextlib.contextmanager
def as_file(path):
    """The name of a file that other programs can read, and more than once: of
    `path`, or of a copy of what comes from stdin, a pipe or a descriptor."""
    if not is_direct(path):
        yield path
        return
    import shutil
    import tempfile
    with tempfile.NamedTemporaryFile() as copy:
        with sys.stdin.buffer if path == "-" else open(path, "rb") as file:
            shutil.copyfileobj(file, copy)
        copy.flush()
        yield copy.name


def open_again(path):
    """A binary file that can be read from its start again: a copy of what comes
    from stdin, a pipe or a device."""
    file = sys.stdin.buffer if path == "-" else open(path, "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    import shutil
    import tempfile
    copy = tempfile.TemporaryFile()
    with file:
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


# ---- Numbers ----


def finite(word):
    """The number that a word is to the programs, as base/numbers.c; ValueError
    for any other, of which float() knows more."""
    value = float(word) if re.fullmatch(NUMBER, word) else math.nan
    if not math.isfinite(value):
        raise ValueError(word)
    return value


def is_told(word, value):
    """Whether a label that is written as an integer is told from others, of
    which from 2^53 on several are one double: as solver/data/names.c."""
    integer, _, rest = word.partition(".")
    return abs(value) < 2 ** 53 or "e" in word.lower() or (
        int(integer) == int(value) and not rest.strip("0"))


def label(word):
    """The number that a label is; ValueError for any other."""
    value = finite(word)
    if not is_told(word, value):
        raise ValueError(word)
    return value


def whole_number(most=math.inf):
    """A type of arguments: numbers from 1 to `most`."""
    def convert(text):
        if not re.fullmatch("[0-9]+", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError("%r is not a number from 1%s" % (
                text, "" if most == math.inf else " to %d" % most))
        return int(text)
    return convert


# ---- Files out ----


def descriptor_of(path):
    """Which of the tool's own descriptors a path names, or None."""
    match = re.fullmatch("/(?:dev|proc/self)/fd/([0-9]+)", path)
    return int(match[1]) if match else STREAMS.get(path)


def is_mounted(path):
    """As containers mount files: no other one can be renamed over it."""
    name = re.sub(b"[ \t\n\\\\]", lambda match: b"\\%03o" % ord(match[0]),
                  os.fsencode(os.path.realpath(path)))
    with contextlib.suppress(OSError), \
            open("/proc/self/mountinfo", "rb") as mounts:
        return any(line.split()[4] == name for line in mounts)
    return False


def is_direct(path):
    """Whether it is written as it is: there is more than a name to it."""
    return path == "-" or descriptor_of(path) is not None or (
        os.path.exists(path) and (not os.path.isfile(path)
                                  or is_mounted(path)))


@contextlib.contextmanager
def writing(path):
    """A failure names `path`, not what lies beside it for a while. A reader
    that goes is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure("%s: cannot write: %s" % (
            "stdout" if path == "-" else path, error.strerror))


def target_of(path, stream):
    """The file behind a path, of which - is a stream; None: there is none."""
    if path is None:
        return None
    target = os.path.realpath("/dev/fd/%d" % stream if path == "-" else path)
    return None if is_direct(path) and not os.path.isfile(target) else target


def are_different(read, *written):
    """Whether these files are written into none that is read, nor replace each
    other. None is no file."""
    targets = [target_of(read, 0)] + [target_of(path, 1) for path in written]
    targets = [target for target in targets if target is not None]
    return len(set(targets)) == len(targets)


def check_output(path):
    """Whether it could be written, before there is something to be written."""
    target = os.path.realpath(path)
    with writing(path):
        if os.path.isdir(target) or path.endswith("/"):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        places = [] if is_direct(path) else [os.path.dirname(target)]
        for place in places + [target] * os.path.exists(target):
            os.stat(place)
            if not os.access(place, os.W_OK):
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))


class Output:
    """A file to be written. It appears when it is committed."""

    def __init__(self, path):
        check_output(path)
        self.path = path
        self.name = None  # of the file beside it
        with writing(path):
            if not is_direct(path):
                self.target = os.path.realpath(path)
                self.file = self.create()
            elif path == "-":
                self.file = sys.stdout.buffer
            elif descriptor_of(path) is not None:
                self.file = os.fdopen(os.dup(descriptor_of(path)), "wb")
            else:
                self.file = open(path, "wb")

    def create(self):
        """The file beside it, with the permissions of what is there."""
        mode = None
        if os.path.exists(self.target):
            mode = stat.S_IMODE(os.stat(self.target).st_mode)
        self.name = os.path.join(os.path.dirname(self.target), ".klr-%d-%d.tmp"
                                 % (os.getpid(), next(serial)))
        unfinished.add(self.name)
        handle = os.open(self.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL,
                         0o666 if mode is None else mode & 0o666)
        if mode is not None:
            os.fchmod(handle, mode)
        return os.fdopen(handle, "wb")

    def write(self, data):
        with writing(self.path):
            self.file.write(data)

    def flush(self):
        with writing(self.path):
            self.file.flush()

    def commit(self):
        with writing(self.path):
            self.file.flush()
            if self.name:
                os.fsync(self.file.fileno())
                self.file.close()
                os.replace(self.name, self.target)
                unfinished.discard(self.name)


def write_file(path, data):
    output = Output(path)
    output.write(data)
    output.commit()


# ---- Other programs ----


def find_program(name, given):
    """The path of klr-train or klr-predict: where the user says it is, beside
    the tools, above them, or where the shell would find it."""
    if given:
        return given
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    for folder in (here, os.path.dirname(here)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    import shutil
    path = shutil.which(name)
    if not path:
        raise Failure("%s is neither beside this program nor in PATH" % name)
    return path


def run_command(command, text=None, **options):
    """Status, output, and messages if they are captured, of a command that is
    given `text`. Where the tool is stopped, the command ends first."""
    import subprocess
    with subprocess.Popen(
            command, stdin=None if text is None else subprocess.PIPE,
            stdout=subprocess.PIPE, **options) as process:
        try:
            out, messages = process.communicate(text)
        except Stopped:
            process.terminate()
            raise
    if process.returncode < 0:
        raise Failure("%s: ended by signal %d"
                      % (os.path.basename(command[0]), -process.returncode))
    return process.returncode, out, messages


# ---- Messages ----


class Version(argparse.Action):
    def __call__(self, parser, *_):
        print("%s %s" % (parser.prog.split()[0], VERSION), flush=True)
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Its help is output like any other: argparse keeps a full disk secret."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.add_argument("--version", action=Version, nargs=0,
                          default=argparse.SUPPRESS, help="the version")

    def print_help(self, file=None):
        print(self.format_help(), end="", file=file, flush=True)


def put(text):
    """On stdout, for other programs: the bytes of names as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(text))


def tell(message):
    """After what stands on stdout, which a full disk may refuse."""
    sys.stdout.flush()
    complain(message)


def complain(message):
    sys.stderr.write("%s: %s\n" % (os.path.basename(sys.argv[0]),
                                  printable(str(message))))
    sys.stderr.flush()


def counted(count, noun):
    return "%d %s%s" % (count, noun, "s" * (count != 1))


# ---- The end ----


def visible(error):
    """As the programs show it: bytes of a name as \\xNN; ? where the encoding
    of the terminal has no such character."""
    text = error.object[error.start:error.end]
    return "".join("\\x%02X" % (ord(c) - 0xDC00)
                   if 0xDC80 <= ord(c) < 0xDD00 else "?"
                   for c in text), error.end


def show_all_text():
    codecs.register_error("klr_visible", visible)
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.reconfigure(errors="klr_visible")


def stop(number, _):
    """The first signal is the last, so that nothing ends what follows it."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise Stopped(number)


def catch_signals():
    """But those that were ignored at the start."""
    for ending in ENDING:
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, stop)


def run_program(main):
    """Call main, which returns the exit status, and report what it raises."""
    try:
        catch_signals()
        show_all_text()
        if None in (sys.stdin, sys.stdout):
            raise Failure("stdin or stdout is closed")
        status = main()
        sys.stdout.flush()
        return status
    except Failure as failure:
        status, message = 1, failure
    except BrokenPipeError:
        status, message = 128 + signal.SIGPIPE, None
    except OSError as error:
        status = 1
        message = "%s: %s" % (error.filename or "stdout: cannot write",
                              error.strerror)
    except Stopped as stopped:
        status, message = 128 + stopped.args[0], "interrupted"
    finally:
        for path in unfinished:
            with contextlib.suppress(OSError):
                os.unlink(path)
    if message is not None:
        complain(message)
    os._exit(status)  # stdout may be closed
