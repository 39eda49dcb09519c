"""The tables and the script of docs/migrating: every new name is in the headers and no old one is, and the script gives
a program of the old names the new ones.

usage: migrating.py SOURCE_ROOT WORKDIR
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

import public

OLD = '''#include <ggufx/ggufx.h>
#include <ggufx/job.h>
/* A ggufx_job of my_ggufx_job and ggufx_jobs; caf\u00e9. */
static int plan(ggufx_job **job, ggufx_file *file) {
    ggufx_job_options options = {.struct_size = sizeof options, .flags = GGUFX_JOB_ONLY_COPY};
    return ggufx_job_quantize(job, NULL, file, 2, &options, NULL) == GGUFX_E_KVTYPE;
}
'''
NEW = '''#include <ggufx/ggufx.h>
#include <ggufx/quantizer.h>
/* A ggufx_quantizer of my_ggufx_job and ggufx_jobs; caf\u00e9. */
static int plan(ggufx_quantizer **job, ggufx_file *file) {
    ggufx_quantizer_options options = {.struct_size = sizeof options, .flags = GGUFX_QUANTIZER_COPY_ONLY};
    return ggufx_quantizer_create(job, NULL, file, 2, &options, NULL) == GGUFX_E_VALUE_TYPE;
}
'''


def table_faults(root, pairs):
    headers = "".join(path.read_text(encoding="utf-8") for path in (root / "include/ggufx").glob("*.h"))
    known, new = set(re.findall(r"\b(?:ggufx|GGUFX)_\w+", headers)), {n for _, n in pairs}
    faults = [f"{n}: not in the headers" for n in sorted(new - known)]
    faults += [f"{o}: still in the headers" for o, _ in pairs if o in known - new]
    if pairs != sorted(set(pairs)) or len({o for o, _ in pairs}) < len(pairs):
        faults.append("names.txt is not sorted, or has a name twice")
    return faults


def member_faults(api, page):
    """Returns faults of the table of members, and its number of rows."""
    rows, faults = re.findall(r"^\| `(ggufx_\w+)` \| (`.*`) \| (`.*`) \|$", page, re.M), []
    for struct, old, new in rows:
        have = {f.name for f in api.structs[struct].members} if struct in api.structs else set()
        old, new = (re.findall(r"`(\w+)`", text) for text in (old, new))
        if len(old) != len(new) or set(new) - have or set(old) & have:
            faults.append(f"members of {struct}: {old} -> {new}")
    return faults, len(rows)


def script_faults(script, work):
    work.mkdir(parents=True, exist_ok=True)
    program = work / "program.c"
    program.write_bytes(OLD.encode().replace(b"\n", b"\r\n"))  # as the editor of a user may leave it
    results = []
    for options in (["--check"], [], ["--check"]):
        done = subprocess.run([sys.executable, str(script), *options, str(program)], capture_output=True, text=True)
        results.append((done.returncode, done.stdout.removeprefix(str(program)), program.read_bytes().decode()))
    old, new = (text.replace("\n", "\r\n") for text in (OLD, NEW))
    wanted = [(1, ": 7\n", old), (0, ": 7\n", new), (0, "", new)]
    return [f"rename.py, run {i}: {got}, not {want}" for i, (got, want) in enumerate(zip(results, wanted)) if got != want]


def main():
    root, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder = root / "docs/migrating"
    pairs = [tuple(line.split()) for line in (folder / "names.txt").read_text().splitlines()]
    members, n_members = member_faults(public.interface.load(root / "include"), (root / "docs/migrating.md").read_text())
    if n_members < 10:
        members.append("the table of members is not found")
    faults = table_faults(root, pairs) + members + script_faults(folder / "rename.py", work)
    public.finish("names", faults, len(pairs) + n_members)


main()
