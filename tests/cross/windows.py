"""The DLL of a cross build: it exports exactly symbols.txt, and needs only DLLs that every Windows has.

usage: windows.py OBJDUMP LIBRARY SYMBOLS.TXT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

# The system's DLLs, or its C library by either name.
SYSTEM = re.compile(r"(kernel32|msvcrt|advapi32|api-ms-win-\S+)\.dll", re.I)


def main():
    objdump, library, listed = sys.argv[1:4]
    out = subprocess.run([objdump, "-p", library], check=True, capture_output=True, text=True).stdout
    exported = set(re.findall(r"^\s*\[\s*\d+\]\s+(?:\+base\[\s*\d+\]\s+[0-9a-f]+\s+)?(\w+)$",
                              out.partition("[Ordinal/Name Pointer] Table")[2], re.M))
    wanted = set(pathlib.Path(listed).read_text(encoding="ascii").split())
    faults = [f"{name}: listed, not exported" for name in sorted(wanted - exported)]
    faults += [f"{name}: exported, not listed" for name in sorted(exported - wanted)]
    needed = re.findall(r"DLL Name: (\S+)", out)
    faults += [f"needs {name}" for name in needed if not SYSTEM.fullmatch(name)]
    for fault in faults:
        print(fault)
    print(f"windows: {len(exported)} functions exported, needs {', '.join(needed)}, "
          f"{len(faults)} faults")
    return bool(faults) or not exported


sys.exit(main())
