#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What run --user does: mistakes in the libraries and the command, which this program makes itself.

The mistakes of a file follow from its text: another operator, a constant that is off by one, a
call, a condition or a return that is left out. A hash of each one's identity decides which are
tried: file, function, kind and line, but not the line's number. So a change of the sources changes
few of the choices.

The file "reasons" has the mistakes that no test can find, and why:

    FILE FUNCTION() KIND [NUMBER]       NUMBER: which one of this kind in lines of this text
    	LINE                            of the source, after a tab
    because REASON                      a line that begins with a tab continues the one before
"""

import fcntl
import fnmatch
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(TOP, "build", "mutants", "user")
TREE = os.path.join(WORK, "tree")
OUT = os.path.join(WORK, "out")
CACHE = os.path.join(WORK, "cache-")
LOG = os.path.join(WORK, "test.log")
CFLAGS = "-O2 -g0 -w"
SEED = "20260101"

DECODER = "tools-perf/util/ntrace-decoder/"
SESSION = "tools-perf/util/ntrace-session/"
COMMAND = "tools-perf/ntrace/"

# name, how many mistakes, files, tests of host/ from the quickest to the slowest. Of the command,
# what records is not here: no test of host/ has hardware to record from. perf's own part is not,
# because perf has to be built for it.
AREAS = [
    ("message", 12, [DECODER + "nt-msg.c", DECODER + "nt-demux.c"],
     "msg-test demux-test enc-test alloc-test flow-test golden-test property-test"),
    ("flow", 22, [DECODER + f for f in ("nt-flow.c", "nt-path.c", "nt-branch.c")],
     "msg-test flow-test loss-test golden-test alloc-test quick-test property-test work-test "
     "count-test encode-test"),
    ("count", 14, [DECODER + f for f in ("nt-count.c", "nt-loop.c", "nt-walk.c")],
     "flow-test alloc-test quick-test work-test store-test property-test count-test golden-test"),
    ("code", 14, [DECODER + f for f in ("nt-code.c", "nt-store.c", "nt-insn.c", "nt-image.c")],
     "code-test image-test invalidate-test store-test alloc-test flow-test golden-test "
     "command-test property-test"),
    ("encoder", 10, [DECODER + "nt-enc.c"],
     "enc-test golden-test property-test encode-test"),
    ("session", 30, [SESSION + "*.c"],
     "buffer-test period-test session-test tasks records recording patched parts"),
    ("perfdata", 14, ["tools-perf/util/ntrace-perfdata/*.c"],
     "perfdata-test perfdata-plain-test recording records"),
    ("ctr", 10, ["tools-perf/util/ntrace-ctr/*.c"], "ctr-test alloc-test"),
    ("tv", 14, ["tools-perf/util/ntrace-tv/*.c"],
     "tv-test tv-state-test alloc-test serve-state-test tv-verify-test tv-dump tv-stores"),
    ("verify", 10, [COMMAND + "tv-*.c"],
     "tv-dump tv-align tv-verify-test tv-stores tv-gdb"),
    ("serve", 12, [COMMAND + "serve-*.c", COMMAND + "gdb-packet.c"],
     "serve-test serve-state-test gdbserver gdbserver-test"),
    ("edges", 10, [COMMAND + "edges-*.c"], "edges fleet collect"),
    ("fleet", 8, [COMMAND + "fleet-*.c", COMMAND + "collect-*.c"], "collect fleet"),
    ("calls", 10, [COMMAND + f for f in ("calls*.c", "timeline*.c", "quantile.c", "stacks*.c")],
     "timeline calls stacks"),
    ("profile", 10, [COMMAND + f for f in ("profile*.c", "gcov-*.c", "cover*.c", "lines.c",
                                           "source.c")],
     "gcov coverage profile edges"),
    ("input", 14, [COMMAND + f for f in ("rec*.c", "input.c", "pieces.c", "marks.c", "follow.c",
                                         "symbols.c", "ranges.c", "diagnose.c", "cmd-decode.c",
                                         "cmd-encode.c", "perf-script.c")],
     "golden-test command-test rows live tasks diagnose calls encode-test records recording"),
]

PAIRS = {"<": ("less", "<="), "<=": ("less-equal", "<"), ">": ("greater", ">="),
         ">=": ("greater-equal", ">"), "==": ("equal", "!="), "!=": ("unequal", "=="),
         "&&": ("and", "||"), "||": ("or", "&&"), "+": ("plus", "-"), "-": ("minus", "+"),
         "+=": ("add", "-="), "-=": ("subtract", "+="), "<<": ("left", ">>"),
         ">>": ("right", "<<"), "&": ("mask", "|"), "|": ("join", "&")}
# Each class gives as many mistakes to an area as the others.
CLASSES = {**dict.fromkeys(("less", "less-equal", "greater", "greater-equal"), "boundary"),
           **dict.fromkeys(("equal", "unequal", "and", "or"), "logic"),
           **dict.fromkeys(("plus", "minus", "add", "subtract", "left", "right", "mask", "join"),
                           "arithmetic"),
           **dict.fromkeys(("more", "fewer"), "constant"),
           **dict.fromkeys(("if-not", "if-always", "if-never"), "condition"),
           "call": "call", "return": "return"}

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|<<=|>>=|->|\+\+|--|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|\S")
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
                    r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
FUNCTION = re.compile(r"^(?![ \t{}#/*])[^;{}=]*?\b(?!__attribute__|format)(\w+)\([^;{}]*\)\n\{\n"
                      r"(.*?)^\}", re.S | re.M)
ARRAY = re.compile(r"\s*(?:\w+\s+)+\**\w+\[[^]]*\]+[^=]*;")


class Mutant:
    def __init__(self, area, tests, file, function, kind, line, start, end, new):
        self.area, self.tests = area, tests
        self.file, self.function, self.kind, self.line = file, function, kind, line
        self.start, self.end, self.new = start, end, new
        self.number = 1
        self.reason = None

    def identity(self):
        return (self.file, self.function, self.kind, self.line, self.number)

    def hash(self):
        return hashlib.sha256("\0".join(map(str, self.identity())).encode()).hexdigest()

    def name(self):
        return f"{self.area}/{os.path.basename(self.file)}/{self.function}/{self.kind}-" + \
               self.hash()[:6]

    def applied(self, text):
        return text[:self.start] + self.new + text[self.end:]


def closing(text, at):
    """Where the parenthesis ends that begins here"""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i
    raise ValueError("a parenthesis that does not end")


def of_operators(text, start, end):
    before = ""
    for m in TOKEN.finditer(text, start, end):
        token = m.group()
        spaced = text[m.start() - 1].isspace() and text[m.end()].isspace()
        if token in PAIRS and spaced and re.match(r"[\w)\]]", before[-1:]):
            yield PAIRS[token][0], m.start(), m.end(), PAIRS[token][1]
        number = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", token)
        line = text[text.rfind("\n", 0, m.start()) + 1:text.find("\n", m.end())]
        if number and not ARRAY.fullmatch(line):
            value = int(number[1], 8 if re.fullmatch("0[0-7]+", number[1]) else 0)
            yield "more", m.start(), m.end(), f"{value + 1}{number[2]}"
            if value:
                yield "fewer", m.start(), m.end(), f"{value - 1}{number[2]}"
        before = token


def of_statements(text, start, end):
    for m in re.compile(r"(?<=[;{})])\s+([a-z_]\w*)(?=\()").finditer(text, start, end):
        if m[1] in ("if", "while", "for", "switch", "return", "sizeof"):
            continue
        stop = closing(text, m.end()) + 1
        if text[stop:stop + 1] == ";":
            yield "call", m.start(1), stop, ""
    for m in re.compile(r"\bif (?=\()").finditer(text, start, end):
        stop = closing(text, m.end())
        inner = text[m.end() + 1:stop]
        yield "if-not", m.end() + 1, stop, f"!({inner})"
        yield "if-always", m.end() + 1, stop, "1"
        yield "if-never", m.end() + 1, stop, "0"
    for m in re.compile(r"(?<=\n\t\t)\t*(return\b[^;]*)(?=;)").finditer(text, start, end):
        yield "return", m.start(1), m.end(1), ""


def mutants_of(area, tests, file):
    with open(os.path.join(TOP, file)) as f:
        whole = f.read()
    # what the compiler does not see keeps its length
    text = HIDDEN.sub(lambda m: re.sub(r"[^\n]", "_" if m[0][0] in "\"'" else " ", m[0]), whole)
    seen = {}
    for function in FUNCTION.finditer(text):
        for make in (of_operators, of_statements):
            for kind, start, end, new in make(text, function.start(2), function.end(2)):
                line = whole[whole.rfind("\n", 0, start) + 1:whole.find("\n", start)].strip()
                if kind == "if-not":
                    new = f"!({whole[start:end]})"
                mutant = Mutant(area, tests, file, function[1], kind, line, start, end, new)
                key = mutant.identity()
                mutant.number = seen[key] = seen.get(key, 0) + 1
                yield mutant


def candidates():
    for area, count, patterns, tests in AREAS:
        found = []
        for pattern in patterns:
            folder = os.path.dirname(pattern)
            files = [f"{folder}/{f}" for f in os.listdir(os.path.join(TOP, folder))]
            matching = fnmatch.filter(files, pattern)
            if not matching:
                sys.exit(f"user.py: no file {pattern}")
            for file in sorted(matching):
                found += mutants_of(area, tests.split(), file)
        yield area, count, found


def chosen(found, count):
    """As many, of all classes alike, by their hashes"""
    queues = {}
    for mutant in sorted(found, key=Mutant.hash):
        queues.setdefault(CLASSES[mutant.kind], []).append(mutant)
    result = []
    while len(result) < count and any(queues.values()):
        for name in sorted(queues):
            if queues[name] and len(result) < count:
                result.append(queues[name].pop(0))
    return result


def read_reasons(path):
    """Identity to reason; the texts of lines are without white space around them"""
    reasons, lines = {}, []
    with open(path) as f:
        for line in f:
            if line.startswith("\t"):
                lines[-1].append(line.strip())
            elif line.strip() and not line.startswith("#"):
                lines.append([line.strip()])
    for head, why in zip(lines[::2], lines[1::2]):
        found = re.fullmatch(r"(\S+) (\w+)\(\) ([\w-]+)(?: (\d+))?", head[0])
        if not found or len(head) != 2 or not why[0].startswith("because "):
            sys.exit(f"{path}: {' '.join(head + why)}")
        key = (found[1], found[2], found[3], head[1], int(found[4] or 1))
        reasons[key] = " ".join(why)[len("because "):]
    return reasons


def read_mutants(factor):
    """The chosen ones, and reasons that fit no line"""
    reasons = read_reasons(os.environ.get("REASONS", os.path.join(HERE, "reasons")))
    mutants, lost = [], set(reasons)
    for _, count, found in candidates():
        lost -= {m.identity() for m in found}
        mutants += chosen(found, count * factor)
    for mutant in mutants:
        mutant.reason = reasons.get(mutant.identity())
    return mutants, sorted(lost)


def lookup(mutants, lost):
    bad = 0
    for file, function, kind, line, number in lost:
        print(f"{file} {function}() {kind} {number}: no such mistake can be made\n\t{line}")
        bad = 1
    for test in sorted({t for m in mutants for t in m.tests}):
        source = "perfdata-test" if test == "perfdata-plain-test" else test
        if not any(os.path.exists(os.path.join(TOP, "selftests", "host", source + end))
                   for end in (".c", ".sh")):
            print(f"no test host/{test}")
            bad = 1
    print(f"{len(mutants)} mutants that are made, {sum(m.reason is not None for m in mutants)} "
          "of them with a reason why no test finds them")
    return bad


def compile_cached(arguments):
    """The compiler, as make calls it. What was compiled before is kept, by its text and that of all
    headers. A command with many sources compiles them one by one."""
    sources = [a for a in arguments if a.endswith(".c")]
    output = arguments[arguments.index("-o") + 1] if "-o" in arguments else None
    if not sources or not output or "-shared" in arguments:
        os.execvp("gcc", ["gcc", *arguments])
    alone = "-c" in arguments
    dropped = re.compile(r"-(l|Wl,|L|M)|.*\.[cao]$")
    flags = [a for i, a in enumerate(arguments) if a not in ("-c", "-o") and
             arguments[i - 1] not in ("-o", "-MF") and not dropped.match(a)]
    objects = {}
    for source in sources:
        with open(source, "rb") as f:
            text = f.read()
        key = hashlib.sha256(repr((flags, source)).encode() + text).hexdigest()
        objects[source] = os.path.join(os.environ["OBJECTS"], key + ".o")
        if not os.path.exists(objects[source]):
            made = objects[source] + ".new"
            status = subprocess.call(["gcc", *flags, "-c", "-o", made, source])
            if status:
                return status
            os.rename(made, objects[source])
    if alone:
        shutil.copyfile(objects[sources[0]], output)
        return 0
    return subprocess.call(["gcc", *(objects.get(a, a) for a in arguments
                                     if not re.match(r"-M", a) and not a.endswith(".d"))])


def make(folder, *targets):
    """Status, and what make said"""
    done = subprocess.run(["make", "-s", "--no-print-directory", "-C", os.path.join(TREE, folder),
                           f"out={OUT}", f"CFLAGS={CFLAGS}",
                           f"CC={sys.executable} {os.path.abspath(__file__)} --cc", *targets],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def is_program(test):
    return not os.path.exists(os.path.join(TREE, "selftests", "host", test + ".sh"))


def run_test(test, limit):
    """What is wrong, or None; ends at the first line that says so"""
    program = os.path.join(OUT, "tests", test)
    wanted = [program]
    if not is_program(test):
        program = os.path.join(TREE, "selftests", "host", test + ".sh")
        with open(program) as f:
            wanted = [os.path.join(OUT, p) for p in re.findall(r"\$out/(tests/[\w-]+)", f.read())]
    if wanted:
        status, text = make("selftests/host", *sorted(set(wanted)))
        if status:
            return "does not link: " + text.strip()[-100:]
    with open(LOG, "w") as f:
        child = subprocess.Popen([program], cwd=TREE, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                 start_new_session=True,
                                 env={**os.environ, "top": TREE, "out": OUT, "SEED": SEED})
    began, wrong = time.monotonic(), None
    while wrong is None and child.poll() is None:
        time.sleep(0.05)
        wrong = first_wrong()
        if time.monotonic() - began > limit:
            wrong = wrong or "does not end"
    ended = child.poll()
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    if wrong is None:
        wrong = first_wrong()
    if wrong is None and ended not in (0, 4):
        wrong = f"exit status {ended}"
    return wrong


def first_wrong():
    with open(LOG, errors="replace") as f:
        found = re.search(r"^(not ok .*|Bail out.*)\n", f.read(), re.M)
    return found[1][:100] if found else None


def keep_objects():
    """Where objects are kept: those of other headers go"""
    all_headers = hashlib.sha256()
    for folder, folders, files in os.walk(TREE):
        folders.sort()
        for file in sorted(f for f in files if f.endswith(".h")):
            all_headers.update(contents(os.path.join(folder, file)))
    os.environ["OBJECTS"] = CACHE + all_headers.hexdigest()[:16]
    for old in os.listdir(WORK):
        if os.path.join(WORK, old).startswith(CACHE) and not os.environ["OBJECTS"].endswith(old):
            shutil.rmtree(os.path.join(WORK, old))
    os.makedirs(os.environ["OBJECTS"], exist_ok=True)


def fresh_tree():
    """A copy of what git knows, and of what has changed; built, with samples"""
    for old in (TREE, OUT):
        shutil.rmtree(old, ignore_errors=True)
    files = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "-co", "--exclude-standard"],
                           stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    for file in filter(None, files):
        source = os.path.join(TOP, file)
        if os.path.lexists(source):
            os.makedirs(os.path.dirname(os.path.join(TREE, file)), exist_ok=True)
            shutil.copy2(source, os.path.join(TREE, file), follow_symlinks=False)
    keep_objects()
    for folder, *targets in (("tools-perf",), ("selftests/host", f"{OUT}/samples/.stamp"),
                             ("selftests/truth",)):
        status, text = make(folder, *targets)
        if status:
            sys.exit(f"{folder} does not build:\n{text}")


def object_of(file):
    folder, name = file.split("/")[-2:]
    library = {"ntrace-decoder": "libntrace", "ntrace-session": "util/ntrace-session"}.get(
        folder, "ntrace" if folder == "ntrace" else "lib" + folder)
    return os.path.join(OUT, "obj", library, name[:-1] + "o")


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def build(file, left):
    """The file's library, or its object. left: the libraries that have, or had, a mistake"""
    folder = os.path.dirname(file)
    if os.path.exists(os.path.join(TREE, folder, "Makefile")):
        left.add(folder)
    elif make("tools-perf", object_of(file))[0]:
        return False
    made = {library: make(library, f"O={OUT}")[0] == 0 for library in sorted(left)}
    left.intersection_update({folder})
    return all(made.values())


def try_mutant(mutant, limits, before, left):
    """"killed", "survives", "equivalent", "refused" (by the compiler), and by what; before: the
    file's object without a mistake. What the mutant before has changed is built again, too."""
    path = os.path.join(TREE, mutant.file)
    with open(path) as f:
        text = f.read()
    try:
        with open(path, "w") as f:
            f.write(mutant.applied(text))
        if not build(mutant.file, left):
            return "refused", ""
        if contents(object_of(mutant.file)) == before:
            return "equivalent", ""
        for test in filter(limits.get, mutant.tests):
            if not is_program(test) and make("tools-perf")[0]:
                return "killed", "the command does not link"
            wrong = run_test(test, limits[test])
            if wrong:
                return "killed", f"{test}: {wrong}"
        return "survives", " ".join(mutant.tests)
    finally:
        with open(path, "w") as f:
            f.write(text)


def run(mutants):
    tests = list(dict.fromkeys(t for m in mutants for t in m.tests))
    print(f"1..{len(mutants) + len(tests)}", flush=True)
    number, failed, limits, sums = 0, 0, {}, {}
    before, left = {m.file: contents(object_of(m.file)) for m in mutants}, set()
    # A test that fails without a mistake proves nothing: what it "finds" does not count.
    for test in tests:
        began = time.monotonic()
        wrong = run_test(test, 600)
        limits[test] = 20 + 5 * (time.monotonic() - began) if wrong is None else None
        number += 1
        failed += wrong is not None
        with open(LOG, errors="replace") as f:
            skips = re.search(r"^1\.\.0 (# SKIP.*)", f.read(), re.M)
        print(f"{'not ' if wrong else ''}ok {number} - without a mistake: host/{test}"
              f" ({time.monotonic() - began:.1f} s){': ' + wrong if wrong else ''}"
              f"{' ' + skips[1] if skips else ''}", flush=True)
    for mutant in mutants:
        number += 1
        began = time.monotonic()
        if mutant.reason is not None:
            result, by = "reason", ""
            print(f"ok {number} - {mutant.name()} # SKIP {mutant.reason}", flush=True)
        else:
            result, by = try_mutant(mutant, limits, before[mutant.file], left)
            failed += result == "survives"
            print(f"{'not ' if result == 'survives' else ''}ok {number} - {mutant.name()}: "
                  f"{result}", flush=True)
            print(f"#   {by} ({time.monotonic() - began:.1f} s)" if by else "#", flush=True)
        if result == "survives":
            print(f"#   {mutant.file} {mutant.function}() {mutant.kind}"
                  f"{' ' + str(mutant.number) if mutant.number > 1 else ''}\n"
                  f"#   \t{mutant.line}\n#   becomes {mutant.new or 'nothing'}", flush=True)
        sums[result] = sums.get(result, 0) + 1
    print(f"# {len(mutants)} mutants: " + ", ".join(f"{n} {what}" for what, n in sums.items()))
    return 1 if failed else 0


def main(arguments):
    if arguments[:1] == ["--cc"]:
        return compile_cached(arguments[1:])
    options = {a for a in arguments if a.startswith("-")}
    names = [a for a in arguments if not a.startswith("-")]
    factor = max([int(o[8:]) for o in options if re.fullmatch(r"--times=\d+", o)] + [1])
    if not all(o in ("--lookup", "--list") or re.fullmatch(r"--times=\d+", o) for o in options):
        sys.exit("usage: run --user [--lookup | --list] [--times=N] [NAME...]")
    mutants, lost = read_mutants(factor)
    if "--lookup" in options:
        return lookup(mutants, lost)
    if names:
        mutants = list(dict.fromkeys(m for n in names for m in mutants
                                     if fnmatch.fnmatch(m.name(), n)))
    if not mutants:
        sys.exit("no mutant has that name")
    if "--list" in options:
        for mutant in mutants:
            print(f"{mutant.name()}\t{mutant.line}\t-> {mutant.new or 'nothing'}")
        return 0
    os.makedirs(os.path.dirname(WORK), exist_ok=True)
    lock = open(WORK + ".lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"{WORK} is in use by another run")
    fresh_tree()
    return run(mutants)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
