"""Input filter of doxygen: turns the comments of a public header into documentation comments.

The headers have plain C comments because most people read them in an editor. Line numbers do not
change.

- A comment after code documents that code; any other comment documents the code after it.
- A struct without a comment lists the functions that take it.
- A field without a comment gets the text of its naming convention (interface.py).
- Anything else without a comment stays undocumented, so that doxygen warns.
- Names of the API in comments become links.

usage: doxygen_filter.py HEADER
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bindings"))
sys.dont_write_bytecode = True
import interface  # noqa: E402


def takers(api, header, struct):
    """Functions of the header that take a struct."""
    return [f.name for f in api.functions if f.header == header and
            any(struct in re.findall(r"\w+", p.type) for p in f.parameters)]


def describe_struct(api, header, match):
    names = takers(api, header, match.group(1))
    if not names:
        return match.group(0)
    return f"/** For {', '.join(f'#{n}' for n in names)}. */ {match.group(0)}"


def describe_field(match):
    """Adds the text of the naming convention, if there is one, to a field without a comment."""
    words = interface.doc_of(interface.declaration(match.group(2)))
    return f"{match.group(0)} /**< {words} */" if words else match.group(0)


def link_names(comment, api):
    members = {f.name for f in api.functions} | {c.name for c in api.constants.values() if c.doc}

    def link(match):
        name = match.group(0)
        return f"#{name}" if name in members else f"@ref {name}" if name in api.structs else name
    lines = comment.split("\n")  # except in indented lines, which doxygen shows as code
    return "\n".join(line if re.match(r"\s*\*? {4}", line) else
                     re.sub(r"(?<![#\w.:\"/])(?:ggufx|GGUFX)_\w+\b(?![\w./*(:])", link, line) for line in lines)


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    structs = re.compile(r"(?<!\*/\n)^typedef struct (ggufx_\w+) \{", re.M)
    path = pathlib.Path(sys.argv[1])
    api = interface.read_syntax(path.parent.parent)
    out = structs.sub(lambda match: describe_struct(api, path.name, match), text)
    out = re.sub(r"^(    )((?:[\w*][\w *]*[ *])(?:\w+(?:\[\d+\])?|\(\*\w+\)\([^;]*\)));$",
                 describe_field, out, flags=re.M)
    out = out.replace("/*\n", "/** @file\n", 1).replace(" * SPDX-License-Identifier: MIT\n", " *\n")
    out = re.sub(r"(\S[ \t]+)/\*(?!\*)", r"\1/**<", out)
    out = re.sub(r"^([ \t]*)/\*(?!\*| ----)", r"\1/**", out, flags=re.M)
    out = re.sub(r"/\*\*.*?\*/", lambda match: link_names(match.group(0), api), out, flags=re.S)
    sys.stdout.write(out)


if __name__ == "__main__":
    main()
