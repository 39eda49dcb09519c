# Models of architectures and variants that generate.py leaves out, and LoRA adapters, with the results of the reference
# implementation. A separate program, because the Python that runs the tests may lack NumPy.
#   reference.py FOLDER PROMPTS              NAME.gguf, and NAME.N.f32: the logits of prompt N
#   reference.py FOLDER PROMPTS --adapters   NAME.gguf (F32), NAME.a.gguf, NAME.b.gguf, and the logits with
#                                            0.75 of a and -0.5 of b merged into the weights
# PROMPTS is JSON: lists of token ids. Prints the names as JSON.
# SPDX-License-Identifier: MIT
import json
import os
import sys

import numpy as np

import gguf_io
import make_models
import ref64
from reference_models import MADE, forward_pass

# ---- adapters

SCALES = {"a": 0.75, "b": -0.5}
NOT_ADAPTED = ("_norm", "conv", "ssm_a", "ssm_d", "token_types", "position_embd", "nextn")


def pairs(model, rng, rank, alpha):
    """Returns for each matrix of a model: A, B, and the factor of B A."""
    out = {}
    for name, w in model.t.items():
        if w.ndim < 2 or not name.endswith(".weight") or any(part in name for part in NOT_ADAPTED):
            continue
        a = rng.standard_normal((*w.shape[:-2], rank, w.shape[-1])) / np.sqrt(w.shape[-1])
        b = 0.15 * rng.standard_normal((*w.shape[:-1], rank))
        out[name] = (a.astype(np.float32), b.astype(np.float32), alpha / rank if alpha else 1)
    return out


def save_adapter(path, architecture, adapter, alpha, by_rows):
    tensors = {}
    for name, (a, b, _) in adapter.items():
        if name == "token_embd.weight" and by_rows:  # as converters write it: a row of A for each token
            a, b = b, np.ascontiguousarray(a.T)
        tensors[name + ".lora_a"], tensors[name + ".lora_b"] = a, b
    keys = {"general.architecture": architecture, "general.type": "adapter", "adapter.type": "lora"}
    if alpha:
        keys["adapter.lora.alpha"] = float(alpha)
    gguf_io.write(path, keys, tensors, True)


ADAPTED = ("llama-bias", "mistral3", "qwen3moe", "qwen35moe", "gemma", "gemma4", "phi3-longrope", "gpt-oss",
           "deepseek2-lite", "llama4", "lfm2moe", "nemotron-h-moe", "mamba2", "falcon")


def write_adapted(folder, texts):
    for name in ADAPTED:
        model, rng = make_models.MODELS[name](), np.random.default_rng(5)
        path = os.path.join(folder, name)
        model.save(path + ".gguf", True)
        m = forward_pass(path + ".gguf")
        for which, rank, alpha in (("a", 4, 8), ("b", 3, 0)):
            adapter = pairs(model, rng, rank, alpha)
            save_adapter(f"{path}.{which}.gguf", model.arch, adapter, alpha, which == "a")
            for target, (a, b, s) in adapter.items():
                m.t[target] = m.t[target] + SCALES[which] * s * (b.astype(float) @ a)
        write_logits(path, m, texts)
    return ADAPTED


def write_logits(path, m, texts):
    for i, ids in enumerate(texts):
        ref64.logits(m, ids).astype("<f4").tofile(f"{path}.{i}.f32")


def write_models(folder, texts):
    for name, make in MADE.items():
        path = os.path.join(folder, name)
        make().save(path + ".gguf", False)
        write_logits(path, forward_pass(path + ".gguf"), texts)
    return list(MADE)


if __name__ == "__main__":
    write = write_adapted if "--adapters" in sys.argv[3:] else write_models
    print(json.dumps(write(sys.argv[1], json.loads(sys.argv[2]))))
