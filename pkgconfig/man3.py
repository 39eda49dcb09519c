"""Writes the manual pages of the C interface from the public headers: ggufx(3), an overview with the first sentence
of each contract, and a page for each function.

usage: man3.py SOURCE_ROOT VERSION FOLDER
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "bindings"))
sys.dont_write_bytecode = True
import contract  # noqa: E402
import interface  # noqa: E402
import roles  # noqa: E402

SPDX = '.\\" SPDX-License-Identifier: MIT\n'
ROW = re.compile(r"^`?(\w+(?:, \w+)*)`?  +(\S.*)$")  # a parameter of a contract


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def quoted(text):
    """One argument of a macro."""
    return '"' + roff(text).replace('"', "\\(dq") + '"'


def first_sentence(comment):
    text = " ".join(contract.parts_of(comment)[0].split("\n\n")[0].split())
    match = re.match(r".*?[^.][.](?=\s+[A-Z]|$)", text)
    return (match.group(0) if match else text).strip()


def header_order():
    """The headers in the order in which ggufx.h names them."""
    text = (ROOT / "include/ggufx/ggufx.h").read_text(encoding="utf-8")
    return re.findall(r"^ \*   (\w+\.h) +(.*)$", text, re.M)


def conventions():
    """The list in the first comment of base.h."""
    text = (ROOT / "include/ggufx/base.h").read_text(encoding="utf-8")
    comment = text[: text.index("*/")]
    comment = re.sub(r"^ \* ?", "", comment[comment.index("Conventions"):], flags=re.M)
    items = re.split(r"^\s*- ", comment.split("SPDX")[0], flags=re.M)[1:]
    return [re.sub(r"`([^`]*)`", r"\1", " ".join(item.split())) for item in items]


# ---- the overview ----------------------------------------------------------------------------------------------

def functions(api, header):
    out = []
    for f in (f for f in api.functions if f.header == header):
        result = f.result + ("" if f.result.endswith("*") else " ")
        call = f"{roff(result)}\\fB{f.name}\\fR({roff(f.signature)})"
        out.append(f".TP\n{call}\n{roff(first_sentence(f.comment))}\n")
    return "".join(out)


def overview(api, version):
    out = [SPDX, f'.TH GGUFX 3 "" "ggufx {version}" "Library Functions"\n',
           ".SH NAME\nggufx \\- GGUF files, quantized matrices, KV caches and language models\n",
           ".SH SYNOPSIS\n.nf\n.B #include <ggufx/ggufx.h>\n.PP\n",
           ".B cc ... $(pkg\\-config \\-\\-cflags \\-\\-libs ggufx)\n.fi\n",
           ".SH DESCRIPTION\nEach function has a page with its contract: shapes, units, ownership, errors,\n",
           "threads. For all of them:\n"]
    out += [f".IP \\(bu 2\n{roff(item.rstrip(';.'))}\n" for item in conventions()]
    out.append(".SH FUNCTIONS\n.ad l\n")
    for header, what in header_order():
        out.append(f".SS ggufx/{header}: {roff(what)}\n{functions(api, header)}")
    out.append(".SH ERRORS\nA call that fails returns one of these and fills its\n.I error\n"
               "with a sentence that names the place, the value and the limit.\n")
    out += [f".TP\n.BR {c.name} \" ({roff(str(c.value))})\"\n{roff(c.doc)}\n"
            for c in api.constants.values() if c.name.startswith("GGUFX_E_")]
    out.append(".SH SEE ALSO\n.BR ggufx (1),\n.BR pkg\\-config (1)\n")
    return "".join(out)


# ---- a page for each function ----------------------------------------------------------------------------------

def tag_words(tags):
    """The tags of a parameter or member as sentences."""
    words = {"null": "May be NULL.", "len": f"{tags.get('len')} elements.",
             "keeps": "Must outlive the object.", "takes": "In use until destroy(user)."}
    return [words[name] for name in tags]


def paragraph(text):
    """A paragraph of a comment: lines that are indented by four spaces, items of a list, rows of parameters, or
    text, which may follow each other."""
    out, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        row = ROW.match(line)
        if line.startswith("    ") and i == 0:
            return [".PP", ".RS 4", ".nf", roff(text), ".fi", ".RE"]
        if line.startswith("- "):
            out += [".IP \\(bu 2", roff(line[2:])]
        elif row:
            tags, text = roles.split_tags(row[2])
            out += [".TP", f".I {roff(row[1])}", roff(" ".join([*tag_words(tags), text]))]
        else:
            out += ([".PP"] if i == 0 else []) + [roff(line.strip())]
    return out


def prose(text):
    lines = [line for part in text.split("\n\n") for line in paragraph(part)]
    return "\n".join(lines[1:] if lines[0] == ".PP" else lines) + "\n"  # none after a heading


def members(api, f):
    """The members of the structs that a function takes."""
    out = []
    for p in f.parameters:
        struct = api.structs.get(re.sub(r"\bconst\b|[ *]", "", p.type))
        if not struct or struct.name in ("ggufx_error", "ggufx_progress"):
            continue
        out.append(f".SS {struct.name}\n" + (prose(struct.comment) if struct.comment else ""))
        for m in struct.members:
            declaration = f"{m.type}{'' if m.type.endswith('*') else ' '}"
            name = f"(*{m.name})()" if m.parameters is not None else m.name + (f"[{m.array}]" if m.array else "")
            out.append(f".TP\n.B {quoted(declaration + name)}\n{roff(' '.join(interface.doc_of(m).split()))}\n")
    return "".join(out)


def page(api, f, version):
    body, fields = contract.parts_of(f.comment)
    space = "" if f.result.endswith("*") else " "
    summary = first_sentence(f.comment).rstrip(".:")
    out = [SPDX, f'.TH {f.name} 3 "" "ggufx {version}" "Library Functions"\n',
           f".SH NAME\n{f.name} \\- {roff(summary[0].lower() + summary[1:])}\n",
           f".SH SYNOPSIS\n.nf\n.B #include <ggufx/{f.header}>\n.PP\n.fi\n.ad l\n.HP 4\n",
           f".B {quoted(f'{f.result}{space}{f.name}({f.signature});')}\n.ad\n",
           f".SH DESCRIPTION\n{prose(body)}{members(api, f)}"]
    if "Errors" in fields:
        out.append(f".SH ERRORS\n{prose(fields['Errors'])}")
    out.append(f".SH THREADS\n{prose(fields['Threads'])}")
    if "Allocates" in fields:
        out.append(f".SH MEMORY\nAllocates: {prose(fields['Allocates'])}")
    return "".join([*out, f".SH HISTORY\nSince version {f.contract['since']}.\n",
                    ".SH SEE ALSO\n.BR ggufx (3)\n"])


def main():
    version, folder = sys.argv[2], pathlib.Path(sys.argv[3])
    api = interface.load(ROOT / "include")
    pages = {"ggufx.3": overview(api, version), **{f"{f.name}.3": page(api, f, version) for f in api.functions}}
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
