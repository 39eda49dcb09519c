"""Writes api_table.h: struct api with a pointer per exported function, filled by dlsym or directly.

usage: api_table.py SYMBOLS.TXT OUTPUT
SPDX-License-Identifier: MIT
"""
import sys

names = open(sys.argv[1], encoding="utf-8").read().split()
short = [n.removeprefix("ggufx_") for n in names]
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write("/* Written by api_table.py. SPDX-License-Identifier: MIT */\n"
              "#include <ggufx/ggufx.h>\n\nstruct api {\n")
    out.writelines(f"    __typeof__({n}) *{s};\n" for n, s in zip(names, short))
    out.write("};\n\n#define API_DIRECT { \\\n")
    out.writelines(f"    {n}, \\\n" for n in names)
    out.write("}\n\nstatic const char *const api_names[] = {\n")
    out.writelines(f'    "{n}",\n' for n in names)
    out.write("};\n")
