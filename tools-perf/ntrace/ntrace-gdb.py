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

CALL = re.compile(r'^0x([0-9a-f]+)\b.* called 0x([0-9a-f]+)\b', re.M)


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
    def __init__(self):
        super().__init__('ntrace')
        self.calls = []         # (address of the call, of the function), the innermost first

    def read_calls(self):
        said = gdb.execute('monitor calls', to_string=True)
        self.calls = [(int(m[1], 16), int(m[2], 16)) for m in CALL.finditer(said)]

    def __call__(self, pending):
        level = pending.level()
        if level == 0:
            self.calls = []
            if not has_no_stack():
                return None
            self.read_calls()
        depth = len(self.calls) - level
        if depth < 0:
            return None
        call, function = self.calls[level] if depth else (None, 0)
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
        said = gdb.execute('monitor ' + argument, to_string=True)
        print(re.sub(r'^GDB has not noticed: .*\n', '', said, flags=re.M), end='')
        gdb.execute('maintenance flush register-cache', to_string=True)


gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
Command()
