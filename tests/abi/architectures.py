"""Only an architecture's file in src/graph/arch and architectures.def name it: no other source of graphs, runs and
measures does. Such a file is short: operations beyond a description are blocks of graph/.

usage: architectures.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

MOST_LINES = {"gemma4.cpp": 120}  # 60 for other files

src = pathlib.Path(sys.argv[1]) / "src"
arch = src / "graph" / "arch"
names = re.findall(r'^GGUFX_ARCHITECTURE\("([^"]+)"', (arch / "architectures.def").read_text(encoding="utf-8"), re.M)
quoted = re.compile('"(%s)[".]' % "|".join(map(re.escape, sorted(names, key=len, reverse=True))))
faults, n_files = [], 0
for path in sorted(path for room in ("graph", "run", "distributed", "eval") for path in (src / room).rglob("*.[ch]pp")):
    if path.parent == arch:
        continue
    n_files += 1
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.partition("//")[0]
        for name in quoted.findall(line):
            faults.append(f"{path}:{number}: the architecture {name} is named")
for path in sorted(arch.glob("*.cpp")):
    n, most = path.read_text(encoding="utf-8").count("\n"), MOST_LINES.get(path.name, 60)
    if n > most:
        faults.append(f"{path}: {n} lines, {most} at most")
if len(names) < 40:
    faults.append(f"{len(names)} names only in architectures.def")
public.finish("architectures", faults, n_files)
