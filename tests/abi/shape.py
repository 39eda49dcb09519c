"""Shape of the public headers: names, parameter types, contract comments.

usage: shape.py INCLUDE
SPDX-License-Identifier: MIT
"""
import re
import sys

import public

RESULTS = {"ggufx_status", "void", "const char *", "const void *", "const ggufx_tensor *",
           "uint32_t", "int32_t", "size_t", "uint64_t"}
FORBIDDEN = r"\b(long|short|bool|_Bool|wchar_t|va_list|union|enum|unsigned|signed|inline)\b|\.\.\."
MODULE_VERBS = ("open", "matvec", "matmul", "dequantize", "quantize", "validate", "tokenize",
                "detokenize", "embed", "perplexity", "measure", "logprobs", "estimate", "recommend", "version", "abi", "has", "status", "row")
OBJECTS = ("adapter", "runtime", "file", "tensor", "kv", "tokenizer", "token", "model", "group", "session", "batch", "device", "vulkan", "sampler", "speculator", "embedder", "measure",
           "type", "meta", "attend", "decode", "writer", "write",
           "imatrix", "job", "edit", "chat", "grammar", "matcher", "stop")


def check_prototype(p):
    faults = []
    if p.result not in RESULTS:
        faults.append(f"result type {p.result}")
    if re.search(FORBIDDEN, p.parameters):
        faults.append("type not allowed in an interface: "
                      + re.search(FORBIDDEN, p.parameters).group(0))
    if p.parameters == "":
        faults.append("write (void)")
    if re.search(r"\bggufx_(?!status\b)\w+ (?!\*)\w+(,|$)", p.parameters):
        faults.append("struct by value")
    words = p.name.split("_")
    if words[1] not in MODULE_VERBS and (words[1] not in OBJECTS or len(words) < 3):
        faults.append("name is not ggufx_<object>_<verb> or a known module verb")
    fallible = p.result == "ggufx_status"
    if fallible != p.parameters.endswith("ggufx_error *error"):
        faults.append("a fallible call, and only that, ends with ggufx_error *error")
    outputs = [bool(re.match(r"(\w+ \*+out|float \*y|size_t \*out|float \*k)", a.strip()))
               for a in p.parameters.split(",")]
    if p.name.endswith("_create") and not outputs[0]:
        faults.append("the output comes first")
    return faults


def check_comment(p):
    faults = []
    for wanted in ("Threads:", "Since:"):
        if wanted not in p.comment:
            faults.append(f"comment has no '{wanted}'")
    mentions_failure = re.search(r"Errors|As ggufx_|as ggufx_", p.comment)
    if p.result == "ggufx_status" and not mentions_failure:
        faults.append("comment does not name the errors")
    return faults


def check_text(path):
    text = path.read_text(encoding="utf-8")
    code = public.COMMENT.sub("", text)
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
        faults.append(f"named enum {enum}: use int32_t")
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
    for path in public.header_paths(include):
        faults += check_text(path)
    prototypes = public.prototypes(include)
    for p in prototypes:
        faults += [f"{p}: {f}" for f in check_prototype(p) + check_comment(p)]
    for name, body in public.structs(include).items():
        plain = re.sub(r"\([^)]*\)\([^)]*\)", "", body)
        if re.search(FORBIDDEN + r"|:\s*\d", plain):
            faults.append(f"{name}: field type not allowed")
    public.finish("public headers", faults, len(prototypes))


main()
