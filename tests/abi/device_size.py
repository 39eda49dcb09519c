"""Devices take little of the library: what its objects for them have in code and data.

usage: device_size.py SIZE LIBGGUFX_CORE.a        (binutils' size)
SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys

import public

MOST_BYTES = 80_000
# Folders of the tree are the first word of an object's name.
OBJECT = re.compile(r"/((?:src_)?(?:device_\w+|abi_device\w*|model_placement))\.cpp\.o")


def main():
    size, archive = sys.argv[1:]
    rows = subprocess.run([size, archive], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    parts = {m.group(1): int(row.split()[3]) for row in rows for m in [OBJECT.search(row)] if m}
    total = sum(parts.values())
    faults = [f"{total} bytes, more than {MOST_BYTES}: {sorted(parts.items(), key=lambda p: -p[1])}"] if total > MOST_BYTES else []
    if not any("product" in name for name in parts) or not any(name.endswith("abi_device") for name in parts):
        faults.append(f"parts are missing: {sorted(parts)}")
    print(f"{total} bytes in {len(parts)} objects")
    public.finish("size of devices", faults, len(parts))


main()
