#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What run does. The list has, for each mistake:

    = NAME WORDS
    in FILE             of kernel/; then lines as in a patch, which are found where they are
                        together: " " is kept, "-" goes, "+" comes. Empty lines part changes.
    by kunit CASE       the test that fails: a case of ntrace_aux_test.c, on this machine,
    by guest [OPTION...] -- COMMAND
                        a command in the guest that is booted with these options,
    by lab NAME [VARIABLE=VALUE...]
                        or a test of lab/ that takes the driver from $DRIVER
    open REASON         or why no test fails

A line that begins with a tab continues the line before.
"""

import fcntl
import fnmatch
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LAB = os.path.join(TOP, "selftests", "qemu", "lab")
BUILD = os.path.join(TOP, "build", "mutants")
SOURCES = os.path.join(BUILD, "sources")
MODULE = os.path.join(BUILD, "module")


class Mutant:
    def __init__(self, name, words):
        self.name = name
        self.words = words
        self.changes = []       # (file, old, new)
        self.how = None
        self.what = None

    def mutated(self):
        """The files as they become; ValueError says what does not fit"""
        texts = {}
        for file, old, new in self.changes:
            if file not in texts:
                with open(os.path.join(TOP, "kernel", file)) as f:
                    texts[file] = f.read()
            text = "\n" + texts[file]
            found = text.count("\n" + old + "\n")
            if found != 1:
                raise ValueError(f"kernel/{file} has {found} times:\n{old}")
            if old == new:
                raise ValueError("nothing changes")
            texts[file] = text.replace("\n" + old + "\n", "\n" + new + "\n")[1:]
        if not texts:
            raise ValueError("no change")
        return texts


def logical_lines(path):
    lines = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("\t"):
                lines[-1] = (lines[-1][0], lines[-1][1] + "\n" + line[1:])
            else:
                lines.append((number, line))
    return lines


def read_list(path):
    mutants, file, hunk = [], None, []

    def end_hunk():
        if hunk:
            mutants[-1].changes.append((file, "\n".join(l[1:] for l in hunk if l[0] != "+"),
                                        "\n".join(l[1:] for l in hunk if l[0] != "-")))
            hunk.clear()

    for number, line in logical_lines(path):
        if line[:1] in (" ", "-", "+"):
            hunk += line.split("\n")
            continue
        end_hunk()
        word, _, rest = line.partition(" ")
        if word == "=":
            mutants.append(Mutant(*rest.split(None, 1)))
        elif word == "in":
            file = rest
        elif word == "by":
            mutants[-1].how, mutants[-1].what = rest.split(None, 1)
        elif word == "open":
            mutants[-1].how, mutants[-1].what = "open", rest
        elif word and not word.startswith("#"):
            sys.exit(f"{path}:{number}: {line}")
    return mutants


def read(*path):
    with open(os.path.join(TOP, *path)) as f:
        return f.read()


def missing_test(mutant):
    """Why the test that a mutant names cannot be run, or None"""
    if mutant.how == "open":
        return None
    if mutant.how == "kunit":
        cases = re.findall(r"KUNIT_CASE\((\w+)\)", read("kernel", "ntrace_aux_test.c"))
        return None if mutant.what in cases else f"no case {mutant.what}"
    if mutant.how == "lab":
        name = mutant.what.split()[0]
        script = os.path.join(TOP, "selftests", "lab", name + ".sh")
        if not os.path.exists(script):
            return f"no selftests/lab/{name}.sh"
        if "DRIVER" not in read("selftests", "lab", name + ".sh"):
            return f"lab/{name} knows no $DRIVER"
        return None
    if mutant.how != "guest":
        return "no test"
    if not re.search(r"(^|\s)--\s", mutant.what):
        return "no command"
    names = read("selftests", "guest", "event-test.c")
    for words in re.findall(r'event-test "([^"]*)"', mutant.what):
        if not re.search(r'^\t\{ "[^"]*' + re.escape(words), names, re.M):
            return f"no test of event-test is called {words}"
    return None


def lookup(mutants):
    bad = 0
    for mutant in mutants:
        why = missing_test(mutant)
        try:
            mutant.mutated()
        except (OSError, ValueError) as error:
            why = why or error
        if [m.name for m in mutants].count(mutant.name) != 1:
            why = why or "the name is not the only one"
        if why:
            print(f"{mutant.name}: {why}")
            bad = 1
    print(f"{len(mutants)} mutants, {sum(m.how != 'open' for m in mutants)} of them with a test")
    return bad


def fresh_sources(texts):
    shutil.rmtree(SOURCES, ignore_errors=True)
    os.makedirs(SOURCES)
    for part in ("kernel", "uapi"):
        shutil.copytree(os.path.join(TOP, part), os.path.join(SOURCES, part))
    shutil.copy(os.path.join(TOP, "Kbuild"), SOURCES)
    os.symlink(os.path.join(TOP, "selftests"), os.path.join(SOURCES, "selftests"))
    for file, text in texts.items():
        with open(os.path.join(SOURCES, "kernel", file), "w") as f:
            f.write(text)


def logged(log, *command, **env):
    with open(os.path.join(BUILD, log), "w") as f:
        status = subprocess.call(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                 env={**os.environ, **env})
    with open(os.path.join(BUILD, log), errors="replace") as f:
        return status, f.read()


def run_kunit(case):
    # what never ends has failed
    status, text = logged("test.log", "timeout", "600",
                          os.path.join(TOP, "selftests", "host", "aux.sh"), top=SOURCES)
    if re.search(r"^not ok .*compile", text, re.M):
        return None, text
    # a case that ends the program has no line
    killed = status and not re.search(rf"^ok [0-9]+ - {case}:", text, re.M)
    return bool(killed), text


def run_guest(what):
    options, command = re.split(r"(?:^|\s)--\s", what, maxsplit=1)
    script = os.path.join(BUILD, "script")
    with open(script, "w") as f:
        f.write(f"cd /tmp\n{command}\n")
    status, text = logged("test.log", os.path.join(LAB, "boot"), "--timeout", "180",
                          "--share", os.path.join(BUILD, "share"),
                          "--log", os.path.join(BUILD, "console.log"),
                          "--driver", os.path.join(MODULE, "ntrace.ko"),
                          *options.split(), "--run", script)
    return status != 0, text


def run_lab(what):
    name, *variables = what.split()
    status, text = logged("test.log", os.path.join(TOP, "selftests", "lab", name + ".sh"),
                          DRIVER=os.path.join(MODULE, "ntrace.ko"),
                          **dict(v.split("=", 1) for v in variables))
    return status != 0, text


RUN = {"kunit": run_kunit, "guest": run_guest, "lab": run_lab}


def fails(how, what, texts):
    """Does the test fail with these files changed? None: they do not compile. And what it said"""
    fresh_sources(texts)
    if how != "kunit":
        status, text = logged("build.log", os.path.join(LAB, "build-module"), MODULE,
                              "/usr/src/linux-headers", SOURCES)
        if status:
            return None, text
    return RUN[how](what)


def why(text):
    """The line of a test's output that says most"""
    for pattern in (r"^not ok.*", r".*(?:BUG|WARNING|Unable to handle|Oops)\b.*", r".*the guest.*",
                    r".*complained.*", r".*time is up.*"):
        found = re.search(pattern, text, re.M)
        if found:
            return found.group(0).strip()[:110]
    return ""


def run(mutants, prove):
    number = failed = 0
    tests = list(dict.fromkeys((m.how, m.what) for m in mutants if m.how in ("guest", "lab")))
    if any(m.how == "kunit" for m in mutants):
        tests.insert(0, ("kunit", "no case of this name"))
    if not prove:
        tests = []
    killed = {}

    def result(ok, words, remarks=""):
        nonlocal number, failed
        number += 1
        failed += not ok
        print(f"{'' if ok else 'not '}ok {number} - {words}", flush=True)
        for line in remarks.splitlines()[-25:]:
            print("#   " + line[:180], flush=True)

    print(f"1..{len(tests) + len(mutants)}", flush=True)
    # A test that fails without a mistake proves nothing.
    for how, what in tests:
        failing, text = fails(how, what, {})
        if how == "kunit":
            failing = bool(re.search(r"^not ok|^Bail", text, re.M))
            what = "all cases"
        result(failing is not None and not failing,
               f"without a mistake: {how} {' '.join(what.split())}", text if failing else "")
    for mutant in mutants:
        words = f"{mutant.name}: {mutant.words}"
        if mutant.how == "open":
            result(True, f"{words} # SKIP {mutant.what}")
            continue
        found, text = fails(mutant.how, mutant.what, mutant.mutated())
        by = f"{mutant.how} {' '.join(mutant.what.split())}"
        if found:
            killed[mutant.how] = killed.get(mutant.how, 0) + 1
        result(bool(found), words, "" if found else text if found is None else f"survives {by}")
        if found:
            print(f"#   {why(text)}", flush=True)
    print("# killed: " + ", ".join(f"{n} by {how}" for how, n in killed.items()) +
          f"; of {len(mutants)}, {sum(m.how == 'open' for m in mutants)} with a reason")
    return 1 if failed else 0


def main(arguments):
    mutants = read_list(os.environ.get("MUTANTS", os.path.join(HERE, "list")))
    if arguments == ["--lookup"]:
        return lookup(mutants)
    prove = "--mutants-only" not in arguments
    arguments = [a for a in arguments if a != "--mutants-only"]
    if any(a.startswith("-") for a in arguments):
        sys.exit("usage: run [--lookup | [--mutants-only] [NAME...]]")
    if arguments:
        mutants = [m for m in mutants if any(fnmatch.fnmatch(m.name, a) for a in arguments)]
    if not mutants:
        sys.exit("no mutant has that name")
    os.makedirs(BUILD, exist_ok=True)
    lock = open(os.path.join(BUILD, ".lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"{BUILD} is in use by another run")
    return run(mutants, prove)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
