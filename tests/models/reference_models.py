# Architectures that make_models.py lacks, and variants of others, with a reference implementation for them. Keys and
# tensors are those that converters write.
# SPDX-License-Identifier: MIT
import make_models
import numpy as np
import ref64
from make_models import B, LN, RMS, heads, llama_like
from ref64 import NORM, Traits, every, f, moe
from reference_recent import MODELS, forward_pass  # noqa: F401: for reference.py

PLAIN = ("llama-bias", "qwen2vl", "ernie4-5", "ernie4-5-moe", "olmoe", "seed-oss", "hunyuan-moe", "phi2", "gpt2",
         "falcon", "stablelm", "command-r", "nemotron", "mamba")
MADE = {name: make_models.MODELS[name] for name in PLAIN}

def arcee():
    return llama_like("arcee", "arcee", gate=False)

def dots1():
    b = B("dots1", "dots1", 2, **{RMS: 1e-5}, **heads(4, 2, 32, rot=32), feed_forward_length=64, expert_feed_forward_length=32,
          expert_count=8, expert_used_count=3, expert_shared_count=1, leading_dense_block_count=1, expert_gating_func=2,
          expert_weights_scale=2.5, expert_weights_norm=True)
    b.embed(False)
    for l in range(2):
        b.norms(l, "attn_norm", "ffn_norm"), b.attn(l, 4, 2, 32, qk="head")
        if l:
            b.moe(l, 8, 32, prob_bias=True), b.ffn(l, 32, suffix="_shexp")
        else:
            b.ffn(l, 64)
    return b

def stablelm_12b():  # no ffn_norm, norms of each head
    b = llama_like("stablelm-12b", "stablelm", eps=LN, qk="heads", rot=8, extra_norms=("attn_norm",))
    for name in [n for n in b.t if n.endswith("attn_norm.weight")] + ["output_norm.weight"]:
        b.vec(name.replace("weight", "bias"), 64, 0.0)
    return b

def command_r_plus():
    return llama_like("command-r-plus", "command-r", eps=LN, tied=True, extra_norms=("attn_norm",), qk="heads", logit_scale=0.5)

def falcon_7b():
    return llama_like("falcon-7b", "falcon", K=1, eps=LN, ln=True, gate=False, fused_qkv=True, extra_norms=("attn_norm",))

def exaone4_windows():
    b = llama_like("exaone4-windows", "exaone4", 4, extra_norms=("post_attention_norm", "post_ffw_norm"), qk="head",
                   attention__sliding_window=16)
    return b

def llama4_chunks():
    b = make_models.MODELS["llama4"]()
    b.key(attention__sliding_window=16, attention__temperature_length=8, attention__temperature_scale=0.3, expert_used_count=2)
    return b

def cohere2_bias():
    b = llama_like("cohere2-bias", "cohere2", 4, eps=LN, tied=True, extra_norms=("attn_norm",), bias="qkvo",
                   attention__sliding_window=16)
    return b

def glm4_plain():  # GLM-4-32B: no biases
    return llama_like("glm4-plain", "glm4", fused_up=True, extra_norms=make_models.SANDWICH, rot=8)

def falcon_mamba():  # norms on time steps, b and c
    b = make_models.MODELS["mamba"]()
    b.key(ssm__dt_b_c_rms=True)
    return b

def qwen3next_old():  # q, k, v, z of each key head in one matrix
    b = make_models.MODELS["qwen3next"]()
    S, Hk, Hv = 16, 2, 4
    q, k, v = np.split(b.t.pop("blk.0.attn_qkv.weight"), [Hk * S, 2 * Hk * S])
    z = b.t.pop("blk.0.attn_gate.weight")
    b.t["blk.0.ssm_in.weight"] = np.concatenate([a.reshape(Hk, -1, 64) for a in (q, k, v, z)], 1).reshape(-1, 64)
    return b

def mamba1(m, x, l):
    norms = [m.w(name, l) for name in ("ssm_dt_norm", "ssm_b_norm", "ssm_c_norm")]  # Jamba
    if not m.get("ssm.dt_b_c_rms") and norms[0] is None:
        return plain_mamba(m, x, l)
    n, D, S, R = len(x), m.get("ssm.inner_size"), m.get("ssm.state_size"), m.get("ssm.time_step_rank")
    u, z = np.split(m.linear(x, "ssm_in", l), 2, 1)
    u = ref64.silu(ref64.causal_conv(u, m.w("ssm_conv1d", l), m.w("ssm_conv1d", l, "bias")))
    parts = np.split(m.linear(u, "ssm_x", l), [R, R + S], 1)
    dt, Bt, C = (ref64.rms(a, w, m.eps) for a, w in zip(parts, norms))
    dt, M, y = ref64.softplus(m.linear(dt, "ssm_dt", l)), np.zeros((D, S)), np.empty((n, D))
    for t in range(n):
        M = M * np.exp(dt[t][:, None] * m.t["blk.%d.ssm_a" % l]) + np.outer(u[t] * dt[t], Bt[t])
        y[t] = M @ C[t] + u[t] * m.t["blk.%d.ssm_d" % l].reshape(-1)
    return m.linear(ref64.silu(z) * y, "ssm_out", l)

plain_mamba, ref64.mamba1 = ref64.mamba1, mamba1

def exaone4_traits(m):
    w = m.get("attention.sliding_window", 0)
    return Traits(order="post", window=w, window_layers=every(4), rope_layers=every(4) if w else None)

def llama4_traits(m, traits=ref64.TRAITS["llama4"]):
    t = traits(m)
    t.window = m.get("attention.sliding_window", 8192)
    t.temp = (f(m, "attention.temperature_scale", 0.1), m.get("attention.temperature_length", 8192), 1.0)
    return t

ref64.TRAITS.update({
    "arcee": lambda m: Traits(rope=NORM, act="relu2"),
    "dots1": lambda m: Traits(moe=moe(m, "sigmoid")),
    "exaone4": exaone4_traits, "llama4": llama4_traits})
for make in (*MODELS, arcee, dots1, stablelm_12b, command_r_plus, falcon_7b, exaone4_windows, llama4_chunks, cohere2_bias, glm4_plain, falcon_mamba,
             qwen3next_old):
    MADE[make.__name__] = make
