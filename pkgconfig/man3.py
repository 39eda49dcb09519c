"""Write the manual page ggufx(3), an overview of the C interface, from the public headers: what
each header is for, its functions with the first sentence of their contracts, the status codes.

usage: man3.py SOURCE_ROOT VERSION > ggufx.3
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests/abi"))
sys.dont_write_bytecode = True
import public  # noqa: E402


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def words(comment):
    """A comment without its stars, one string per paragraph."""
    lines = [re.sub(r"^\s*(/\*|\*/|\*)\s?|\s*\*/$", "", line) for line in comment.splitlines()]
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip())
    return [" ".join(p.split()) for p in paragraphs if "SPDX" not in " ".join(p.split())[:4]]


def first_sentence(comment):
    """What the call does, without the lines about errors, threads and versions."""
    text = words(comment)[0]
    text = re.split(r"(?:^|\s)(?:Errors|Threads|Returns|Allocates|Since):", text)[0].strip()
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


def statuses():
    text = (ROOT / "include/ggufx/base.h").read_text(encoding="utf-8")
    return re.findall(r"^    (GGUFX_E_\w+) = (-\d+),? +/\* (.*?) \*/", text, re.M)


def functions(header):
    out = []
    for prototype in public.read_prototypes(ROOT / "include/ggufx" / header):
        result = prototype.result + ("" if prototype.result.endswith("*") else " ")
        call = f"{roff(result)}\\fB{prototype.name}\\fR({roff(prototype.parameters)})"
        out.append(f".TP\n{call}\n{roff(first_sentence(prototype.comment))}\n")
    return "".join(out)


def page(version):
    out = ['.\\" SPDX-License-Identifier: MIT\n',
           f'.TH GGUFX 3 "" "ggufx {version}" "Library Functions"\n',
           ".SH NAME\nggufx \\- GGUF files, quantized matrices, KV caches and language models\n",
           ".SH SYNOPSIS\n.nf\n.B #include <ggufx/ggufx.h>\n.PP\n",
           ".B cc ... $(pkg\\-config \\-\\-cflags \\-\\-libs ggufx)\n.fi\n",
           ".SH DESCRIPTION\nThe contract of each function (shapes, units, ownership, errors,\n",
           "threads) is the comment above it in its header; this page is a list of them.\n",
           "For all of them:\n"]
    out += [f".IP \\(bu 2\n{roff(item.rstrip(';.'))}\n" for item in conventions()]
    out.append(".SH FUNCTIONS\n.ad l\n")
    for header, what in header_order():
        out.append(f".SS ggufx/{header}: {roff(what)}\n{functions(header)}")
    out.append(".SH ERRORS\nA call that fails returns one of these and fills its\n.I error\n"
               "with a sentence that names the place, the value and the limit.\n")
    out += [f".TP\n.BR {name} \" ({roff(value)})\"\n{roff(text)}\n"
            for name, value, text in statuses()]
    out.append(".SH SEE ALSO\n.BR ggufx (1),\n.BR pkg\\-config (1)\n")
    return "".join(out)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(page(sys.argv[2]))
