"""Only an architecture's file in src/model/arch and architectures.def name it: no other source of src/model does.
Vocabularies have names of their own, some of which are the same. Such a file is short: operations beyond a
description are blocks of build/.

usage: architectures.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public

MOST_LINES = {"gemma4.cpp": 120}  # 60 for other files

model = pathlib.Path(sys.argv[1]) / "src" / "model"
names = re.findall(r'^GGUFX_ARCHITECTURE\("([^"]+)"', (model / "arch" / "architectures.def").read_text(encoding="utf-8"), re.M)
quoted = re.compile('"(%s)[".]' % "|".join(map(re.escape, sorted(names, key=len, reverse=True))))
faults, n_files = [], 0
for path in sorted(model.rglob("*.[ch]pp")):
    if path.relative_to(model).parts[0] in ("arch", "tokenizer"):
        continue
    n_files += 1
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.partition("//")[0]
        for name in quoted.findall(line):
            faults.append(f"{path}:{number}: the architecture {name} is named")
for path in sorted((model / "arch").glob("*.cpp")):
    n, most = path.read_text(encoding="utf-8").count("\n"), MOST_LINES.get(path.name, 60)
    if n > most:
        faults.append(f"{path}: {n} lines, {most} at most")
if len(names) < 40:
    faults.append(f"{len(names)} names only in architectures.def")
public.finish("architectures", faults, n_files)
