# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts of these tests share that run inside GDB"""

import os
import sys

import gdb


def fail(what):
    print('not ok: ' + what)
    sys.stdout.flush()
    try:
        gdb.execute('kill')
    finally:
        os._exit(1)


def execute(command):
    said = gdb.execute(command, to_string=True)
    if os.environ.get('TRACE'):
        print(command, '->', said)
    return said
