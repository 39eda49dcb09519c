"""exercise.c calls every public function. It runs with failing allocations, cancels at each poll, failing executors
and callbacks of the host (surroundings.c), and failing system calls (calls.py).

usage: coverage.py SYMBOLS.TXT SAMPLERS.DEF EXERCISE.C...
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

names = pathlib.Path(sys.argv[1]).read_text().split()
filters = re.findall(r"^FILTER\d\((\w+)", pathlib.Path(sys.argv[2]).read_text(), re.M)
called = set()
for path in sys.argv[3:]:
    for name, each in re.findall(r"\b(?:a|api)->(\w+)(##id)?\(", pathlib.Path(path).read_text()):
        called |= {name + one for one in filters} if each else {name}
public.finish("public functions", [f"{n} is never called under fault injection" for n in names
                                   if n.removeprefix("ggufx_") not in called], len(names))
