#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What lab/commands does, from the list and the pages:

    plan.py lookup          what is in the pages and not in the list, or the other way round, and
                            entries that name a test, a check or a page that does not exist
    plan.py guest           the script for the guest
    plan.py jobs            a line for each entry, fields separated by tabs:
                            NUMBER PAGE COMMAND HOW NAME RECORDING BEFORE RUN CHECK
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PAGES = ["README.md", "Documentation/man/ntrace.1", "Documentation/man/libntrace.3",
         "Documentation/man/libntrace-ctr.3", "Documentation/man/libntrace-tv.3",
         "Documentation/man/libntrace-perfdata.3",
         "tools-perf/Documentation/perf-riscv-ntrace.txt", "Documentation/tandem.rst", "Documentation/ctr.rst"]
WORDS = {"guest", "host", "bare", "as", "before", "after", "check", "same", "by", "names"}


class Entry:
    def __init__(self, page, command):
        self.page, self.command, self.words = page, command, {}

    def how(self):
        return next((w for w in ("guest", "host", "bare", "same", "by", "names") if w in self.words), "")

    def run(self):
        return self.words.get("as", self.command)


def read_list():
    entries, page = [], None
    with open(os.path.join(HERE, "commands"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("= "):
                page = line[2:]
            elif line.startswith("$ "):
                entries.append(Entry(page, line[2:]))
            elif line.startswith("\t"):
                word, _, rest = line.strip().partition(" ")
                if word not in WORDS or not entries:
                    sys.exit(f"commands, line {number}: {word}?")
                entries[-1].words[word] = rest
            elif line and not line.startswith("#"):
                sys.exit(f"commands, line {number}: not understood")
    return entries


def pages():
    """Those of the list above, and all that is in the folders for administrators"""
    found = list(PAGES)
    for folder in ("Documentation/trace", "Documentation/admin-guide"):
        for root, _, names in os.walk(os.path.join(TOP, folder)):
            found += [os.path.relpath(os.path.join(root, n), TOP) for n in names if n.endswith(".rst")]
    return sorted(found)


def in_pages():
    text = subprocess.run([sys.executable, os.path.join(HERE, "extract.py"), *pages()], cwd=TOP,
                          check=True, capture_output=True, text=True).stdout
    page, found = None, set()
    for line in text.splitlines():
        if line.startswith("= "):
            page = line[2:]
        else:
            found.add((page, line[2:]))
    return found


def named_test(entry):
    """What is wrong with "by TEST WORDS"?"""
    test, _, words = entry.words["by"].partition(" ")
    path = os.path.join(TOP, "selftests", test)
    if not os.path.isfile(path):
        return f"no selftests/{test}"
    with open(path, encoding="utf-8") as f:
        if not words or words not in f.read():
            return f"selftests/{test} does not have \"{words}\""
    return None


def lookup():
    entries, found = read_list(), in_pages()
    listed = {(e.page, e.command): e for e in entries}
    checked = {(e.page, e.command) for e in entries if "check" in e.words or "by" in e.words}
    wrong = [f"{page}: no check of this command: {c}" for page, c in sorted(found - set(listed))]
    wrong += [f"{page}: not a command of this page: {c}" for page, c in sorted(set(listed) - found)]
    if len(listed) != len(entries):
        wrong.append("a command of a page is in the list twice")
    for e in entries:
        how = e.how()
        if how in ("guest", "host", "bare") and "check" not in e.words:
            wrong.append(f"{e.page}: runs, and nobody looks at what it prints: {e.command}")
        elif how == "by" and named_test(e):
            wrong.append(f"{e.page}: {e.command}: {named_test(e)}")
        elif how == "same":
            page, _, command = e.words["same"].partition(" ")
            if (page, command or e.command) not in checked:
                wrong.append(f"{e.page}: not checked in {page}: {e.command}")
        elif not how:
            wrong.append(f"{e.page}: how does it run? {e.command}")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


def jobs():
    """Entries with their numbers; a recording's is that of the entry which made it"""
    last, out = {}, []
    for number, e in enumerate(read_list(), 1):
        how = e.how()
        name = e.words.get(how, "")
        if how == "guest" and e.run().startswith("perf record"):
            last[name] = number
        out.append((number, e, how, name, last.get(name, 0)))
    return out


def guest():
    quote = lambda s: "'" + s.replace("'", "'\\''") + "'"
    print("export HOME=/tmp/home PAGER=cat; mkdir -p $HOME /tmp/doc")
    # no field tells the CPU in what the pages show: so everything is on one
    print("taskset -p 1 $$ >/dev/null")
    for number, e, how, name, _ in jobs():
        if how != "guest":
            continue
        print(f"mkdir -p /tmp/doc/{name} && cd /tmp/doc/{name} || exit 1")
        print('[ -e prog ] || cp "$(command -v prog)" .')
        if e.run().startswith("perf record"):
            print(f"rm -rf perf.data; recording {number}")
        print(e.words.get("before", ":"))
        # in this shell, for what came before, and exactly as it stands there
        print(f"eval {quote(e.run())} >out.{number} 2>err.{number} </dev/null")
        print(f"echo $? >status.{number}")
        print(e.words.get("after", ":"))
        print(f"mkdir -p /mnt/{name}; cp *.{number} prog /mnt/{name}")
    print("for d in /tmp/doc/*; do cp -r $d/perf.data /mnt/${d##*/}/ 2>/dev/null; done")
    print("cp -r $HOME /mnt/")
    # what comes behind the last recording is none of its
    print("recording 9999; exit 0")


def main():
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    if what == "lookup":
        lookup()
    elif what == "guest":
        guest()
    elif what == "jobs":
        for number, e, how, name, recording in jobs():
            print("\t".join((str(number), e.page, e.command, how, name, str(recording),
                             e.words.get("before", ":"), e.run(), e.words.get("check", e.words.get(how, "")))))
    else:
        sys.exit(__doc__)


main()
