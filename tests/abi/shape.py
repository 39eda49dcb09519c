"""Shape of the public headers: names, parameter types. description.py checks the comments.

usage: shape.py INCLUDE
SPDX-License-Identifier: MIT
"""
import re
import sys

import public

RESULTS = {"ggufx_status", "void", "const char *", "const void *", "const ggufx_tensor *",
           "uint32_t", "int32_t", "size_t", "uint64_t"}
FORBIDDEN = r"\b(long|short|bool|_Bool|wchar_t|va_list|union|enum|unsigned|signed|inline)\b|\.\.\."
MODULE_VERBS = ("open", "matvec", "matmul", "dequantize", "quantize", "tokenize",
                "detokenize", "embed", "logprobs", "estimate", "recommend", "version", "abi", "has", "status")
OBJECTS = ("adapter", "runtime", "file", "tensor", "kv", "tokenizer", "token", "model", "group", "session", "device", "sampler", "generator", "embedder", "eval",
           "type", "meta", "attend", "decode", "writer", "write",
           "imatrix", "moments", "quantizer", "chat", "grammar", "matcher", "pre", "struct")


def check_prototype(p, numbers):
    faults = []
    if p.result not in RESULTS:
        faults.append(f"result type {p.result}")
    if re.search(FORBIDDEN, p.signature):
        faults.append("type not allowed in an interface: "
                      + re.search(FORBIDDEN, p.signature).group(0))
    if p.signature == "":
        faults.append("write (void)")
    if {name for name, _ in re.findall(r"\b(ggufx_\w+) (?!\*)\w+(,|$)", p.signature)} - numbers:
        faults.append("struct by value")
    words = p.name.split("_")
    if words[1] not in MODULE_VERBS and (words[1] not in OBJECTS or len(words) < 3):
        faults.append("name is not ggufx_<object>_<verb> or a known module verb")
    fallible = p.result == "ggufx_status"
    if fallible != p.signature.endswith("ggufx_error *error"):
        faults.append("a fallible call, and only that, ends with ggufx_error *error")
    outputs = [bool(re.match(r"(\w+ \*+out|float \*y|size_t \*out|float \*k)", a.strip()))
               for a in p.signature.split(",")]
    if p.name.endswith("_create") and not outputs[0]:
        faults.append("the output comes first")
    return faults


def check_text(path):
    text = path.read_text(encoding="utf-8")
    code = public.interface.COMMENT.sub("", text)
    faults = []
    if "//" in code:
        faults.append("// comment")
    if "SPDX-License-Identifier: MIT" not in text:
        faults.append("no licence line")
    allowed = {"<stddef.h>", "<stdint.h>"} | {f'"{h.name}"' for h in path.parent.glob("*.h")}
    for include in re.findall(r"#\s*include\s+(\S+)", code):
        if include not in allowed:
            faults.append(f"includes {include}")
    for enum in re.findall(r"\benum (\w+)", code):
        faults.append(f"named enum {enum}: use an integer type")
    for macro in re.findall(r"#\s*define\s+(\w+)", code):
        if not macro.startswith("GGUFX_"):
            faults.append(f"macro {macro}")
        if re.search(rf"#\s*define\s+{macro}\(", code):
            faults.append(f"function-like macro {macro}")
    for value in re.findall(r"^\s{4}(\w+) = ", code, re.M):
        if not value.startswith("GGUFX_"):
            faults.append(f"constant {value}")
    return [f"{path.name}: {f}" for f in faults]


def main():
    include = sys.argv[1]
    faults = []
    for path in public.interface.header_paths(include):
        faults += check_text(path)
    api = public.interface.load(include)
    for p in api.functions:
        faults += [f"{p}: {f}" for f in check_prototype(p, api.enumerations.keys())]
    for struct in api.structs.values():
        faults += [f"{struct.header}:{m.line}: type not allowed: {m.type}" for m in struct.members
                   if re.search(FORBIDDEN, m.type)]
    public.finish("public headers", faults, len(api.functions))


main()
