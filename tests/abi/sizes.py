"""The library stays small: its loaded size, and code and data of its objects for devices.

usage: sizes.py SIZE LIBGGUFX_CORE.a LIBGGUFX.so MOST_BYTES      (binutils' size; 0: any number)
SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys

import public

MOST_OF_DEVICES = 80_000
# Sources for devices in src/meson.build, several files combined into one.
OBJECT = re.compile(r"(ggufx_devices-unity\d+)\.cpp\.o")


def sizes(size, path):
    """Returns bytes and name of every object in an archive, or of the single file."""
    rows = subprocess.run([size, path], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return [(int(row.split()[3]), row) for row in rows]


def main():
    size, archive, library, most = sys.argv[1:]
    faults = []
    loaded = sizes(size, library)[0][0]
    if 0 < int(most) < loaded:
        faults.append(f"{library}: {loaded} bytes, {most} at most")
    parts = {m.group(1): n for n, row in sizes(size, archive) for m in [OBJECT.search(row)] if m}
    devices = sum(parts.values())
    if devices > MOST_OF_DEVICES:
        faults.append(f"devices: {devices} bytes, {MOST_OF_DEVICES} at most: {sorted(parts.items(), key=lambda p: -p[1])}")
    if devices < MOST_OF_DEVICES / 4:
        faults.append(f"parts are missing: {sorted(parts)}")
    print(f"{loaded} bytes, devices {devices} in {len(parts)} objects")
    public.finish("sizes of the library", faults, 1 + len(parts))


main()
