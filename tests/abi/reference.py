"""The reference: doxygen reports no warning for the headers, each function and struct is in its pages, and a header
with an undocumented symbol is refused. The documentation names only functions that exist.

usage: reference.py SOURCE_ROOT WORKDIR [DOXYGEN DOXYFILE]     (exit 77: no doxygen)
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import public

UNDOCUMENTED = ["GGUFX_API int32_t ggufx_nothing_said(void);",
                "#define GGUFX_NOTHING_SAID 1",
                "/* A struct. */\ntypedef struct ggufx_half { int32_t word; } ggufx_half;"]


def names_of_docs(root):
    """Returns API names in README.md and docs that no header has."""
    headers = "".join(path.read_text(encoding="utf-8") for path in
                      (root / "include").rglob("*.h"))
    known = set(re.findall(r"\b(?:ggufx|GGUFX)_\w+\b", headers))
    faults, n_names = [], 0
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        if page.name in ("renames.md", "migrating.md"):  # old names
            continue
        text = re.sub(r"ggufx::\w+|\bGGUFX_(?:THREADS|ISA|COLOR|PROGRESS|LIBRARY|TOOL|STATIC|TEST_\w+|FRESH_\w+)\b", "",
                      page.read_text(encoding="utf-8"))
        named = set(re.findall(r"\b(?:ggufx|GGUFX)_\w*\w(?!\w*\*)\b", text))
        n_names += len(named)
        faults += [f"{page.relative_to(root)}: no {n}" for n in sorted(named - known)
                   if not any(k.startswith(n) for k in known)]
    return faults if n_names > 50 else ["README.md and docs: names of functions are not found"]


def doxygen(program, doxyfile, work, source=None):
    """Generates the reference of the given sources, or of Doxyfile's; returns the status and the messages."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    settings = pathlib.Path(doxyfile).read_text(encoding="utf-8")
    settings += f'\nOUTPUT_DIRECTORY = "{work}"\nGENERATE_TAGFILE =\n'
    if source:
        settings += f'INPUT = "{source}"\nUSE_MDFILE_AS_MAINPAGE =\nGENERATE_HTML = NO\n' \
                    f'GENERATE_XML = YES\n'
    result = subprocess.run([program, "-"], input=settings, capture_output=True, text=True,
                            env={**os.environ, "LC_ALL": "C.UTF-8"})
    return result.returncode, result.stderr


def check_pages(root, work):
    text = "".join(path.read_text(encoding="utf-8") for path in (work / "api").glob("*.html"))
    api = public.interface.load(root / "include")
    names = [f.name for f in api.functions] + list(api.structs)
    faults = [f"no page has {name}" for name in names if name not in text]
    page = (work / "api/generator_8h.html").read_text(encoding="utf-8")
    if not re.search(r'href="batch_8h\.html#\w+"[^>]*>ggufx_session_save', page):
        faults.append("a name in a comment is no link: ggufx_session_save in generator.h")
    return faults if len(names) > 150 else ["the headers have no functions"]


def main():
    root, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    faults = names_of_docs(root)
    if len(sys.argv) < 5:
        if not faults:
            print("skipped: no doxygen")
            sys.exit(77)
        public.finish("reference", faults, 1)
    program, doxyfile = sys.argv[3:5]
    status, said = doxygen(program, doxyfile, work / "all")
    if status or said:
        faults.append(f"doxygen: exit {status}\n{said}")
    faults += check_pages(root, work / "all")
    for i, text in enumerate(UNDOCUMENTED):
        folder = work / f"header-{i}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "half.h").write_text("/*\n * half.h: a header.\n */\n" + text + "\n")
        status, said = doxygen(program, doxyfile, work / "none", folder)
        if status == 0 or "is not documented" not in said:
            faults.append(f"doxygen does not mind: {text}")
    public.finish("parts of the reference", faults, 3 + len(UNDOCUMENTED))


if __name__ == "__main__":
    main()
