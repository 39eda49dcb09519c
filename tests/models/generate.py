"""Writes the tiny models that the tests run, with the results of the reference implementation (ref64.py).

The layout is that of GGUFX_TEST_DATA, so that a test can read both. A case has the logits of each position of the
prompt, then of each token of the greedy continuation.

usage: generate.py models FOLDER RESULTS.JSON      FOLDER/data/tiny/NAME/: the model; CASE.json: token ids;
                                                   CASE.logits.f32 or CASE.embd.f32: results, little-endian.
                                                   RESULTS.JSON: the short form of all results
       generate.py compare RESULTS.JSON KEPT.JSON  compares the short form with the one in the tree (expected.json);
                                                   a new model's results are kept by copying RESULTS.JSON
       generate.py stored DATA                     compares the reference with results that another engine stored
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import shutil
import sys

import numpy as np

import make_models
import ref64

CONTEXT = 512
# Token ids and the number of tokens to generate: a short prompt, and one beyond every window (16 positions) and every
# original context length (32) of the models.
CASES = {
    "seq_a": ([5, 17, 300, 42, 42, 7, 200, 11, 99, 310, 3, 68, 255, 256, 257, 319], 4),
    "long": ([1, 303, 67, 12, 88, 261, 262, 5, 190, 44, 300, 7, 7, 301, 33, 250, 41, 99, 318, 64, 3, 120, 270, 16, 284,
              299, 9, 71, 208, 55, 4, 90, 260, 133, 17, 29, 311, 76, 240, 38, 6, 181, 275, 290, 47, 102, 8, 315, 66, 222], 2),
}
# Models that other tests build on demand (reference_models.py).
LEFT_OUT = {"command-r", "ernie4-5", "ernie4-5-moe", "falcon", "gpt2", "hunyuan-moe", "jina-bert-v2", "llama-bias",
            "mamba", "nemotron", "nomic-bert-moe", "olmoe", "phi2", "qwen2vl", "seed-oss", "stablelm"}
N_LARGEST = 8  # logits of the last position in the tree
TOLERANCE = 2e-4  # for kept logits, which have 4 decimals; the same inputs give the same sums up to their order


def results(model, name, prompt, n_generate):
    """Returns the generated ids and the rows of results: logits per position, or one embedding."""
    if name in make_models.EMBEDDINGS:
        return [], ref64.pooled(model, prompt, CONTEXT)[None]
    ids, rows = list(prompt), []
    for _ in range(n_generate):
        rows = ref64.logits(model, ids, CONTEXT)
        ids.append(int(np.argmax(rows[-1])))
    return ids[len(prompt):], rows


def generate(root):
    """Writes every model and its results; returns their short form."""
    shutil.rmtree(root / "data", ignore_errors=True)
    short = {}
    for name, make in sorted(make_models.MODELS.items()):
        if name in LEFT_OUT:
            continue
        folder = root / "data/tiny" / name
        folder.mkdir(parents=True)
        path = folder / f"tiny-{name}-f16.gguf"
        make().save(path, False)
        model, short[name] = ref64.Model(path), {}
        for case, (prompt, n_generate) in CASES.items():
            generated, rows = results(model, name, prompt, n_generate)
            kind = "embd" if name in make_models.EMBEDDINGS else "logits"
            np.asarray(rows).astype("<f4").tofile(folder / f"{case}.{kind}.f32")
            (folder / f"{case}.json").write_text(json.dumps(
                {"name": case, "n_ctx": CONTEXT, "n_vocab": make_models.V, "prompt_tokens": prompt, "generated_tokens": generated}))
            largest = np.argsort(-rows[-1])[:N_LARGEST]
            short[name][case] = {"generated": generated, "largest": {str(i): round(float(rows[-1][i]), 4) for i in largest}}
    return short


def store(path, short):
    lines = [f"{json.dumps(name)}: {json.dumps(cases)}" for name, cases in short.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compare(kept, short):
    """Returns differences between the kept results and those of this run."""
    faults = [f"{name}: only one of the two has it" for name in sorted(set(kept) ^ set(short))]
    for name in sorted(set(kept) & set(short)):
        for case, want in kept[name].items():
            got = short[name][case]
            if got["generated"] != want["generated"]:
                faults.append(f"{name}/{case}: generated {got['generated']}, not {want['generated']}")
            for i, value in want["largest"].items():
                if abs(got["largest"].get(i, np.inf) - value) > TOLERANCE:
                    faults.append(f"{name}/{case}: result {i} is {got['largest'].get(i)}, not {value}")
    return faults


def compare_stored(data):
    """Compares the reference with the results that another engine stored for its own files. That engine uses an F16
    table for GELU; for architectures with GELU, it stored a second, exact result."""
    faults, n = [], 0
    for path in sorted(data.glob("tiny/**/*.json")):
        folder = path.parent
        name = folder.name
        file = folder / f"tiny-{name}-f16.gguf"
        if not file.exists():
            file = data / "tiny" / f"tiny-{name}-f16.gguf"
        case = json.loads(path.read_text())
        model, ids = ref64.Model(file), case["prompt_tokens"] + case["generated_tokens"]
        embeds = path.with_suffix(".embd.f32").exists()
        got = ref64.pooled(model, ids, case.get("n_ctx", CONTEXT)) if embeds else ref64.logits(model, ids, case.get("n_ctx", CONTEXT))
        want = np.fromfile(path.with_suffix(".embd.f32" if embeds else ".logits.f32"), "<f4")
        got = got.ravel()[:want.size]
        gelu = path.with_suffix(".ref64.f32").exists()
        worst = float(abs(got - want).max())
        if worst > (2e-2 if gelu else 1e-3):
            faults.append(f"{name}/{path.stem}: differs by {worst:.2g}")
        n += 1
    print(f"{n} stored results compared")
    return faults if n else ["no stored results"]


def main():
    action, folder, *rest = sys.argv[1:]
    faults = []
    if action == "models":
        store(pathlib.Path(rest[0]), generate(pathlib.Path(folder)))
    elif action == "compare":
        got, kept = (json.loads(pathlib.Path(path).read_text()) for path in (folder, rest[0]))
        faults = compare(kept, got)
        print(f"{len(got)} models compared")
    elif (pathlib.Path(folder) / "data/tiny").is_dir():
        faults = compare_stored(pathlib.Path(folder) / "data")
    else:
        print(f"skipped: no {folder}/data/tiny")
        sys.exit(77)
    for fault in faults:
        print("FAIL:", fault)
    sys.exit(1 if faults else 0)


main()
