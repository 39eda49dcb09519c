"""The documentation as a site: sphinx reports no warning, and every page exists and is in the search index. API
names link to the reference, and nothing is loaded from other sites.

usage: site.py SOURCE_ROOT WORKDIR     (exit 77: no sphinx, myst-parser or furo)
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import public

TAGS = """<tagfile><compound kind="file"><name>file.h</name><filename>file_8h.html</filename>
<member kind="function"><name>ggufx_open</name><anchorfile>file_8h.html</anchorfile><anchor>a1</anchor></member>
</compound></tagfile>"""


def has_modules(program):
    """Returns whether the Python of sphinx-build has the parser and the theme."""
    first = pathlib.Path(program).read_text(encoding="utf-8", errors="replace").splitlines()[0]
    interpreter = first.removeprefix("#!").split() or [sys.executable]
    return subprocess.run([*interpreter, "-c", "import myst_parser, furo"], capture_output=True).returncode == 0


def main():
    root, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    program = shutil.which("sphinx-build")
    if not program or not has_modules(program):
        print("skipped: no sphinx-build with myst-parser and furo")
        sys.exit(77)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "tags").write_text(TAGS)
    result = subprocess.run(
        [program, "-q", "-W", "--keep-going", "-b", "html", "-d", str(work / "trees"), str(root / "docs"),
         str(work / "html")],
        capture_output=True, text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "GGUFX_VERSION": "0", "GGUFX_TAGFILE": str(work / "tags")})
    faults = [f"sphinx: exit {result.returncode}\n{result.stdout}{result.stderr}"] if result.returncode else []
    index = work / "html/searchindex.js"
    words = index.read_text(encoding="utf-8") if index.is_file() else ""
    sources = sorted((root / "docs").rglob("*.md"))
    for source in sources:
        name = source.relative_to(root / "docs").with_suffix("").as_posix()
        page = work / f"html/{name}.html"
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        if not text or f'"{name}"' not in words:
            faults.append(f"{name}: not a page of the site, or not in its search index")
        elsewhere = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"", text)
        faults += [f"{name}: loads {tag}" for tag in elsewhere]
    if 'href="api/file_8h.html#a1"' not in (work / "html/c-api.html").read_text(encoding="utf-8"):
        faults.append("c-api.html has no link to ggufx_open in the reference")
    public.finish("pages of the site", faults, len(sources))


if __name__ == "__main__":
    main()
