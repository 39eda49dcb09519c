"""Every module of the Vulkan plugin is valid SPIR-V, and its float operations must not be contracted or reordered:
each sum, difference and product is decorated NoContraction.

usage: spirv.py SPIRV-VAL SPIRV-DIS SHADERS.spv SHADERS_TABLE.inc      (exit 77: no SPIRV-VAL)
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

PLACE = re.compile(r"ggufx_shaders \+ (\d+), (\d+)\}")
FLOAT = re.compile(r"(%\w+) = Op(?:FAdd|FSub|FMul|FDiv|FRem)\b")


def check(tools, number, module):
    val, dis = tools
    name = f"module {number}"
    run = subprocess.run([val, "--target-env", "vulkan1.2", "-"], input=module, capture_output=True)
    if run.returncode != 0:
        return 0, [f"{name}: {(run.stdout + run.stderr).decode(errors='replace').strip()}"]
    text = subprocess.run([dis, "--no-color", "-"], input=module, capture_output=True, check=True).stdout.decode()
    fixed = set(re.findall(r"OpDecorate (%\w+) NoContraction", text))
    found = [(f.group(1), line.strip()) for line in text.splitlines() for f in [FLOAT.search(line)] if f]
    return len(found), [f"{name}: {line} may be contracted" for result, line in found if result not in fixed]


def main():
    val, dis, blob, table = sys.argv[1:]
    if not os.path.exists(val) or not os.path.exists(dis):
        print("no spirv-val (spirv-tools)")
        sys.exit(77)
    data = pathlib.Path(blob).read_bytes()
    places = [(4 * int(at), int(n)) for at, n in PLACE.findall(pathlib.Path(table).read_text())]
    faults = [] if places and sum(n for _, n in places) == len(data) else ["the table does not cover the modules"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, (val, dis), i, data[at:at + n]) for i, (at, n) in enumerate(places)]
        n_operations = sum(job.result()[0] for job in jobs)
        faults += [fault for job in jobs for fault in job.result()[1]]
    if n_operations < 3 * len(places):
        faults.append(f"only {n_operations} float operations were found")
    print("\n".join(faults[:20]))
    print(f"{len(places)} modules, {n_operations} float operations, {len(faults)} faults")
    sys.exit(bool(faults))


main()
