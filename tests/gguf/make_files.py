"""Writes sample files with their expected dumps, and hostile files with their expected errors.

The folders have the layout of GGUFX_TEST_DATA, so that the same tests read them.

usage: make_files.py OUT   (writes OUT/formats/gguf-golden, OUT/data/malformed, OUT/data/tokenizer, then OUT/files.txt)
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import sys

import hostile_files
import sample_files
from file_writer import File


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1), encoding="ascii")


def make_samples(folder):
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, file in sample_files.dumped():
        (folder / name).write_bytes(file.data)
        write_json(folder / f"{name}.json", file.dump())
        entries.append({"file": name, "expected": f"{name}.json"})
    for name, data, refused in sample_files.undumped():
        (folder / name).write_bytes(data)
        entries.append({"file": name, "strict": "reject" if refused else "accept"})
    write_json(folder / "index.json", {"files": entries})
    return len(entries)


def make_hostile(folder):
    (folder / "public").mkdir(parents=True, exist_ok=True)
    cases = hostile_files.all_cases()
    names = [case["name"] for case, _ in cases]
    if len(set(names)) != len(names):
        raise SystemExit("two cases of one name")
    for case, data in cases:
        (folder / case["file"]).write_bytes(data)
    write_json(folder / "expected.json", {"cases": [case for case, _ in cases]})
    return len(cases)


def make_vocabularies(folder):
    """Writes vocabularies of architectures without a graph."""
    folder.mkdir(parents=True, exist_ok=True)
    key = "tokenizer.ggml."
    for name, architecture, kind, tokens in (("rwkv", "rwkv7", "rwkv", ["<s>", "a", "b"]), ("ugm-t5", "t5", "t5", ["<pad>", "</s>", "<unk>"])):
        keys = [("general.architecture", "str", architecture), (key + "model", "str", kind), (key + "tokens", "arr", ("str", tokens)),
                (key + "scores", "arr", ("f32", [0.0] * len(tokens))), (key + "token_type", "arr", ("i32", [3, 3, 2]))]
        (folder / f"vocab-{name}.gguf").write_bytes(File(keys).data)


def main():
    out = pathlib.Path(sys.argv[1])
    n_samples = make_samples(out / "formats" / "gguf-golden")
    n_hostile = make_hostile(out / "data" / "malformed")
    make_vocabularies(out / "data" / "tokenizer")
    (out / "files.txt").write_text(f"{n_samples} samples, {n_hostile} hostile files\n", encoding="ascii")


main()
