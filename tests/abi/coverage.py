"""exercise.c calls every public function. It runs with failing allocations, cancels at each poll, failing executors
and callbacks of the host (surroundings.c), and failing system calls (calls.py).

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
