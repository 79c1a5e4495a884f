# SPDX-License-Identifier: GPL-2.0-only
"""Frames for GDB where ntrace gdbserver serves a trace without registers.

	(gdb) source ntrace-gdb.py

The way through the code tells which calls the program is in, but neither the stack pointer nor the
stack. GDB finds no frames then. With this script backtrace, up, next, finish, until and their reverse
forms work. A frame's arguments and variables are as unknown as before.

"ntrace COMMAND" is the server's "monitor COMMAND"; afterwards GDB looks where the program is.
"""

import re

import gdb
import gdb.unwinder

PLACE = re.compile(r': 0x([0-9a-f]+)')
MORE = re.compile(r'^\.\.\. and (\d+) more$', re.M)
CALL = re.compile(r'^0x([0-9a-f]+)\b.* called 0x([0-9a-f]+)\b', re.M)


def monitor(command):
    """Of the selected thread: GDB does not tell the server which it is."""
    thread = gdb.selected_thread()
    prefix = 'thread %d ' % thread.ptid[1] if thread else ''
    return gdb.execute('monitor ' + prefix + command, to_string=True)


class FrameId:
    """GDB tells frames apart by these. There is no stack: the outermost frame is the highest."""

    def __init__(self, depth, function):
        self.sp = gdb.Value(0x40000000 - 16 * depth)
        self.pc = gdb.Value(function)


def length(pc):
    """Of the instruction there, whose code the server knows, as it was executed"""
    low = gdb.selected_inferior().read_memory(pc, 1)[0]
    return 4 if ord(low) & 3 == 3 else 2


class Unwinder(gdb.unwinder.Unwinder):
    """Frames of functions that were inlined are GDB's own: it counts them, and asks for others alone."""

    def __init__(self):
        super().__init__('ntrace')
        self.place = None       # of which is known:
        self.more = 0           # calls, that were not asked for
        self.calls = []         # (address of the call, of the function), the innermost first
        self.levels = []        # GDB's number of each frame that it has asked for

    def take(self, said):
        self.calls = [(int(m[1], 16), int(m[2], 16)) for m in CALL.finditer(said)]
        more = MORE.search(said)
        self.more = int(more[1]) if more else 0

    def look(self):
        """GDB does not tell when it begins anew."""
        thread = gdb.selected_thread()
        place = (has_no_stack.last, monitor('position'), thread and thread.ptid)
        if place != self.place:
            said = monitor('calls')
            self.place = place
            self.take(said)
            self.levels = []

    def is_innermost(self, pc):
        """Not so certain if a function called itself from there"""
        here = PLACE.search(self.place[1])
        return bool(here) and int(here[1], 16) == pc

    def is_number(self, number, pc):
        call = self.calls[number - 1][0] if 0 < number <= len(self.calls) else None
        return call is not None and call + length(call) == pc

    def number(self, level, pc):
        """Of the frame at that level, without those of inlined functions"""
        while self.levels and self.levels[-1] > level:
            self.levels.pop()
        # a step into a function that was inlined is one of levels alone
        count = len(self.levels) - (level in self.levels)
        if count and self.is_innermost(pc) and not self.is_number(count, pc):
            self.levels = []
        if not self.levels or self.levels[-1] < level:
            self.levels.append(level)
        return len(self.levels) - 1

    def __call__(self, pending):
        if not has_no_stack():
            return None
        self.look()
        pc = int(pending.read_register('pc')) & (1 << 64) - 1
        number = self.number(pending.level(), pc)
        if number >= len(self.calls) and self.more:
            self.take(monitor('calls 1000000'))
        depth = len(self.calls) + self.more - number
        if depth < 0:
            return None
        call, function = self.calls[number] if depth else (None, 0)
        info = pending.create_unwind_info(FrameId(depth, function))
        # who called the outermost frame is not known: GDB ends at 0
        back = gdb.Value(call + length(call) if depth else 0)
        info.add_saved_register('pc', back.cast(pending.read_register('pc').type))
        return info


def has_no_stack():
    """Is the other side ntrace gdbserver, without a stack? It is asked once for each connection."""
    connection = gdb.selected_inferior().connection
    if connection is None or not connection.type.endswith('remote'):
        return False
    if has_no_stack.last != connection:
        try:
            said = gdb.execute('monitor known', to_string=True)
        except gdb.error:
            said = ''
        # of a tandem-verification trace GDB finds frames itself
        has_no_stack.last = connection
        has_no_stack.answer = "memory: what programs' files have" in said
    return has_no_stack.answer


has_no_stack.last = None


class Command(gdb.Command):
    """ntrace COMMAND: what ntrace gdbserver knows of the recording, and where to go in it.

ntrace help lists the commands."""

    def __init__(self):
        super().__init__('ntrace', gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        said = monitor(argument)
        print(re.sub(r'^GDB has not noticed: .*\n', '', said, flags=re.M), end='')
        gdb.execute('maintenance flush register-cache', to_string=True)
        gdb.execute('maintenance flush dcache', to_string=True)


gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
Command()
