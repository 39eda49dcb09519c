"""A device plugin exports its only function, and needs no library except those of C and C++: it finds the driver at
run time.

usage: plugins.py NM READELF PLUGIN...
SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys

import public

NEEDED = re.compile(r"lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux[\w.-]*\.so\.\d+")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(nm, readelf, plugin):
    names = [line.split()[-1] for line in run(nm, "-D", "--defined-only", plugin).splitlines()]
    faults = [f"{plugin} exports {name}" for name in names if name != "ggufx_plugin_0"]
    if "ggufx_plugin_0" not in names:
        faults.append(f"{plugin} does not export ggufx_plugin_0")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(readelf, "-dW", plugin))
    return faults + [f"{plugin} needs {name}" for name in needed if not NEEDED.fullmatch(name)]


def main():
    nm, readelf, *plugins = sys.argv[1:]
    public.finish("plug-ins", [fault for p in plugins for fault in check(nm, readelf, p)],
                  len(plugins))


if __name__ == "__main__":
    main()
