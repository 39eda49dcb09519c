"""Input filter of doxygen: turns the comments of a public header into documentation comments.

The headers have plain C comments because most people read them in an editor. Line numbers do not
change.

- A comment after code documents that code; any other comment documents the code after it.
- A struct without a comment lists the functions that take it.
- A field without a comment gets the text of its naming convention (CONVENTIONS).
- Anything else without a comment stays undocumented, so that doxygen warns.
- Names of the API in comments become links.

usage: doxygen_filter.py HEADER
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

# Fields that mean the same in every struct: pattern, comment.
CONVENTIONS = [
    (r"uint32_t struct_size", "Bytes of this struct, set by the caller."),
    (r"const void \*next", "NULL."),
    (r"u?int\d+_t reserved\d*(?:\[\d+\])?", "0."),
    (r"void \*user", "First argument of the functions."),
    (r"size_t \w+_length", "Bytes of the string before it."),
    (r"uint(?:32|64)_t n_(\w+)", r"Number of \1."),
    (r"size_t n_(\w+)", r"Number of \1."),
    (r"\w[\w ]*\*?\(\*\w+\)\((?s:.*)", "Described in the comment of the struct."),
]


def takers(text, struct):
    """Functions of the header that take a struct, except its initializer."""
    found = re.findall(r"^GGUFX_API [^;(]*?\b(ggufx_\w+)\(([^;]*)\);", text, re.M)
    return [name for name, parameters in found
            if re.search(rf"\b{struct} \*", parameters) and not name.endswith("_options_init")]


def describe_struct(text, match):
    names = takers(text, match.group(1))
    if not names:
        return match.group(0)
    return f"/** For {', '.join(f'#{n}' for n in names)}. */ {match.group(0)}"


def describe_field(match):
    """Adds the text of the naming convention, if there is one, to a field without a comment."""
    for pattern, words in CONVENTIONS:
        found = re.fullmatch(pattern, match.group(2))
        if found:
            return f"{match.group(0)} /**< {found.expand(words).replace('_', ' ')} */"
    return match.group(0)


def names(folder):
    """Names of all headers of a folder: functions and constants with a comment, and structs."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h")))
    members = set(re.findall(r"^GGUFX_API [^;(]*?\b(ggufx_\w+)\(", text, re.M)) | \
        set(re.findall(r"^ *(GGUFX_\w+) = [^\n]*/\*|^#define (GGUFX_\w+) [\w(-][^\n]*/\*", text, re.M))
    members = {name for found in members for name in ([found] if isinstance(found, str) else found) if name}
    return members, set(re.findall(r"^typedef struct (ggufx_\w+) \{", text, re.M))


def link_names(comment, members, structs):
    def link(match):
        name = match.group(0)
        return f"#{name}" if name in members else f"@ref {name}" if name in structs else name
    lines = comment.split("\n")  # except in indented lines, which doxygen shows as code
    return "\n".join(line if re.match(r"\s*\*? {4}", line) else
                     re.sub(r"(?<![#\w.:\"/])(?:ggufx|GGUFX)_\w+\b(?![\w./*(:])", link, line) for line in lines)


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    structs = re.compile(r"(?<!\*/\n)^typedef struct (ggufx_\w+) \{", re.M)
    out = structs.sub(lambda match: describe_struct(text, match), text)
    out = re.sub(r"^(    )((?:[\w*][\w *]*[ *])(?:\w+(?:\[\d+\])?|\(\*\w+\)\([^;]*\)));$",
                 describe_field, out, flags=re.M)
    out = out.replace("/*\n", "/** @file\n", 1).replace(" * SPDX-License-Identifier: MIT\n", " *\n")
    out = re.sub(r"(\S[ \t]+)/\*(?!\*)", r"\1/**<", out)
    out = re.sub(r"^([ \t]*)/\*(?!\*| ----)", r"\1/**", out, flags=re.M)
    members, structs = names(pathlib.Path(sys.argv[1]).parent)
    out = re.sub(r"/\*\*.*?\*/", lambda match: link_names(match.group(0), members, structs), out, flags=re.S)
    sys.stdout.write(out)


if __name__ == "__main__":
    main()
