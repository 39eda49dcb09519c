"""The public headers are a complete description: each parameter and member has a role, each contract its lines. The
committed files that repeat the headers are what bindings/raw.py writes, and api.json is the same in every build.

Changed copies of the headers must be refused, with file and line.

usage: description.py SOURCE_ROOT WORKDIR
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import public
from public import interface

# Header, old text, new text, text on the line that the fault names ("": that of the new text), text of the message.
REFUSED = [
    # roles
    ("kv.h", "mu_k  {null} {len: n_k} f32", "mu_k  {null} f32", "const float *mu_k", "mu_k: no rule gives it a role"),
    ("model.h", "/* {null} {len: n_heads} attention sink logits", "/* {null} attention sink logits", "*sink_logits;",
     "ggufx_layer_facts: sink_logits: no rule gives it a role"),
    ("model.h", "(ggufx_layer_facts *out, const ggufx_model *", "(ggufx_layer_facts *out, const ggufx_modle *", "",
     "model: unknown type ggufx_modle"),
    ("matmul.h", "    const ggufx_progress *progress;", "    unsigned bits : 3;", "", "unknown type"),
    # tags
    ("quant.h", "/* {len: n_rows * n_cols} f32", "/* {size: 4} f32", "", "unknown tag {size}"),
    ("quant.h", "/* {len: n_rows * n_cols} f32", "/* {len} f32", "", "tag {len} needs a value"),
    ("matmul.h", " * x  f32, n_x = ne0", " * x  {len: n_x} f32, n_x = ne0", "*x,", "x: tag {len} is not needed"),
    ("model.h", "progress; /* counts layers; NULL", "progress; /* {null} counts layers; NULL", "",
     "ggufx_model_options: progress: tag {null} is not needed"),
    ("matmul.h", " * x  f32, n_x = ne0", " * z  {null} f32, n_x = ne0", "GGUFX_API", "z: a tag of no parameter"),
    # contracts
    ("imatrix.h", " * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */",
     " * Threads: any number at once.   Since: 0.1. */", "GGUFX_API", "no line 'Errors:'"),
    ("imatrix.h", " * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */",
     " * Errors: ARGUMENT, NOT_FOUND.   Since: 0.1. */", "GGUFX_API", "no line 'Threads:'"),
    ("imatrix.h", " * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */",
     " * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once. */", "GGUFX_API", "no line 'Since:'"),
    ("imatrix.h", "NOT_FOUND.   Threads: any number at once.   Since: 0.1. */", "NOT_FOUND.   Threads: any number at once.   Since: soon. */", "GGUFX_API",
     "'soon.' is no version"),
    ("imatrix.h", "NOT_FOUND.   Threads: any number at once.   Since: 0.1. */", "NOT_THERE.   Threads: any number at once.   Since: 0.1. */", "GGUFX_API",
     "NOT_THERE is no status"),
    ("embed.h", "as ggufx_model_create and ggufx_embedder_create.", "as ggufx_model_open.", "GGUFX_API",
     "no function ggufx_model_open"),
    ("kv.h", "Frees a cache.   Threads: exclusive on kv.", "Frees a cache.   Threads: any number at once.", "GGUFX_API",
     "but kv is not const"),
    ("kv.h", "Errors: ARGUMENT.   Threads: any number at once (const).   Since", "Errors: ARGUMENT.   Threads: exclusive on kv.   Since",
     "GGUFX_API", "but kv is const"),
    ("base.h", "/* Returns the version of the library as text: \"0.1.0\".   Threads: any.   Since: 0.1. */\n", "\n", "GGUFX_API",
     "ggufx_version: the comment has no line"),
    # parameters
    ("kv.h", "GGUFX_API ggufx_status ggufx_kv_copy(ggufx_kv *kv,",
     "GGUFX_API ggufx_status ggufx_kv_copy(ggufx_kv *kv, uint32_t a, uint32_t b, uint32_t c,", "",
     "ggufx_kv_copy: 9 parameters, at most 8"),
    # text that the reader does not understand
    ("quant.h", "    GGUFX_QUANTIZE_REFINED = 1", "    GGUFX_QUANTIZE_REFINED = 1 << 1", "", "cannot read: << 1"),
    ("matmul.h", "#define GGUFX_MATMUL_F32 1u", "#define GGUFX_MATMUL_F32 (1u << 0)", "", "cannot read macro"),
    ("matmul.h", "#define GGUFX_MATMUL_F32 1u", "union ggufx_word;", "", "cannot read: union ggufx_word;"),
]


def changed(include, work, header, old, new, place):
    """A copy of the headers with one change; returns it and the line of a place at the new text or after it."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(include, work)
    path = work / "ggufx" / header
    before, found, after = path.read_text(encoding="utf-8").partition(old)
    if not found:
        sys.exit(f"{header}: no {old}")
    text = before + new + after
    path.write_text(text, encoding="utf-8")
    return work, text.count("\n", 0, text.index(place, len(before))) + 1


def check_refusals(include, work):
    for header, old, new, place, message in REFUSED:
        copy, line = changed(include, work / "include", header, old, new, place)
        try:
            interface.read(copy)
            yield f"{header} is accepted with: {new}"
        except interface.Faults as faults:
            wanted = rf"{header}:{line}: .*{re.escape(message)}"
            if not any(re.match(wanted, fault) for fault in faults.args[0]):
                yield f"{header} with {new!r}: no {wanted}, but {faults.args[0]}"


def described(root, include, output, seed):
    """Runs the program that the build runs; returns its exit code, its messages and the bytes of api.json."""
    result = subprocess.run([sys.executable, root / "bindings/interface.py", include, output], capture_output=True,
                            text=True, env={**os.environ, "PYTHONHASHSEED": seed})
    return result.returncode, result.stderr, output.read_bytes() if output.is_file() else b""


def check_json(root, work):
    first, second = (described(root, root / "include", work / f"{seed}.json", seed) for seed in "12")
    if first != second or first[0]:
        yield f"api.json: exit {first[0]} and {second[0]}, or two runs differ: {first[1]}"
    api = json.loads(first[2])
    if sorted(f["name"] for f in api["functions"]) != (root / "tests/abi/symbols.txt").read_text().split():
        yield "api.json has other functions than symbols.txt"
    for kind, parts in (("functions", "parameters"), ("structs", "members")):
        for x in api[kind]:
            yield from (f"api.json: {x['name']}.{p['name']} has no role" for p in x[parts] if not p.get("role"))
    copy, line = changed(root / "include", work / "include", *REFUSED[0][:4])
    code, said, _ = described(root, copy, work / "refused.json", "1")
    if code != 1 or f"{copy}/ggufx/{REFUSED[0][0]}:{line}: " not in said:
        yield f"interface.py refuses with exit {code}: {said}"


def check_committed(include, work):
    import loader
    import raw
    yield from raw.differences()
    copy, _ = changed(include, work / "include", "base.h", "GGUFX_API const char *ggufx_version(void);", "", "")
    if loader.header(interface.read(copy)) == (include / "ggufx/loader.h").read_text(encoding="utf-8"):
        yield "a function less, but loader.h is the same"


def main():
    root, work = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    faults = [*check_committed(root / "include", work), *check_json(root, work),
              *check_refusals(root / "include", work)]
    public.finish("descriptions", faults, len(REFUSED) + 2)


main()
