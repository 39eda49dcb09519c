"""Every public function is called by exercise.c, which runs under a failing allocator at each allocation, a
cancelling callback at each poll, an executor and callbacks of the host that fail at each turn (surroundings.c), and
under failing system calls (calls.py).

usage: coverage.py SYMBOLS.TXT EXERCISE.C...
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

names = pathlib.Path(sys.argv[1]).read_text().split()
called = {name for path in sys.argv[2:]
          for name in re.findall(r"\b(?:a|api)->(\w+)\(", pathlib.Path(path).read_text())}
public.finish("public functions", [f"{n} is never called under fault injection" for n in names
                                   if n.removeprefix("ggufx_") not in called], len(names))
