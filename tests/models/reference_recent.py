# Architectures of 2025 and 2026 that make_models.py lacks: a model of each, and their differences in the reference
# implementation. Sizes, ratios and windows differ from those of the other models.
# SPDX-License-Identifier: MIT
import contextlib

import make_models
import numpy as np
import ref64
from make_models import B, LN, RMS, SANDWICH, heads, llama_like
from ref64 import NORM, Traits, every, f, gating, moe, swa_rope

PRE = ("attn_norm", "ffn_norm")


# ---- models

def experts_like(name, arch, L=4, H=4, K=2, hd=16, hv=None, dense=1, shared=True, prob_bias=True, norms=PRE, qk="head", gates=None, eps=RMS,
                 fused=False, tied=False, head_keys=None, sinks=None, fused_qkv=False, **keys):
    """Some dense layers, then experts with sigmoid gates; H, K may be a list."""
    b = B(name, arch, L, **{eps: 1e-5}, **heads(H, K, hd, hv, rot=hd), feed_forward_length=80, expert_feed_forward_length=24,
          expert_count=8, expert_used_count=3, leading_dense_block_count=dense)
    b.key(**{f"attention__head_count{part}": ("i32", n) for part, n in (("", H), ("_kv", K)) if isinstance(n, list)}, **keys)
    b.embed(tied)
    per_layer = lambda value, l: value[l] if isinstance(value, list) else value
    for l in range(L):
        h, k = per_layer(H, l), per_layer(K, l)
        b.norms(l, *norms), b.attn(l, h, k, hd, hv=hv, qk=qk, fused=fused_qkv, sinks=bool(sinks and sinks(l)))
        if gates:
            b.mat(f"blk.{l}.attn_gate", h if gates == "heads" else h * (hv or hd), 64, 2.0)
        if l < dense:
            b.ffn(l, 80)
            continue
        b.moe(l, 8, 24, prob_bias=prob_bias, fused=fused)
        if shared:
            b.ffn(l, 40, suffix="_shexp")
    return b


def qwen3vlmoe():
    return experts_like("qwen3vlmoe", "qwen3vlmoe", 2, 6, 3, dense=0, shared=False, prob_bias=False, tied=True)


def minimax_m2():
    return experts_like("minimax-m2", "minimax-m2", 2, 6, 2, 24, dense=0, shared=False, qk="full", rope__dimension_count=12,
                        expert_gating_func=2)


def mimo2():
    windows = [0, 1, 1, 0]
    return experts_like("mimo2", "mimo2", 4, [4, 6, 6, 4], [2, 3, 3, 1], 24, 16, qk=None, shared=False, sinks=lambda l: windows[l],
                        rope__dimension_count=8, rope__freq_base=5e6, rope__freq_base_swa=1e4, attention__sliding_window=12,
                        attention__sliding_window_pattern=("i32", windows), attention__value_scale=0.612)


def mimo2_flags():
    b = mimo2()
    b.key(attention__sliding_window_pattern=("bool", [False, True, True, False]), attention__value_scale=0.0)
    return b


def exaone_moe():
    return experts_like("exaone-moe", "exaone-moe", 4, 4, 1, attention__sliding_window=16, expert_gating_func=2, expert_weights_scale=2.5,
                        expert_weights_norm=True, rope__freq_base=1e6)


def afmoe():
    return experts_like("afmoe", "afmoe", 5, 4, 2, norms=SANDWICH, gates="values", attention__sliding_window=16, expert_gating_func=2,
                        expert_weights_scale=2.826, expert_weights_norm=True)


def bailingmoe2():
    return experts_like("bailingmoe2", "bailingmoe2", 3, fused_qkv=True, rope__dimension_count=8, expert_gating_func=2, expert_group_count=4,
                        expert_group_used_count=2, expert_weights_scale=2.5, expert_weights_norm=True)


YARN = dict(rope__scaling__type="yarn", rope__scaling__factor=8.0, rope__scaling__original_context_length=32)


def laguna():
    return experts_like("laguna", "laguna", 4, [4, 6, 6, 6], 2, gates="heads", attention__sliding_window=12, rope__freq_base=5e5,
                        rope__dimension_count=8, rope__freq_base_swa=1e4, rope__dimension_count_swa=16, expert_weights_scale=2.5,
                        expert_weights_norm=True, **YARN)


def laguna_values():
    return experts_like("laguna-values", "laguna", 2, gates="values", expert_weights_norm=False, expert_weights_scale=1.5)


def mellum():
    return experts_like("mellum", "mellum", 4, dense=0, shared=False, prob_bias=False, attention__sliding_window=16, rope__freq_base=5e5, **YARN)


def hy_v3():
    b = experts_like("hy-v3", "hy_v3", 2, expert_weights_norm=True, expert_weights_scale=2.0, fused=True)
    b.t["blk.1.exp_probs_b"] = b.t.pop("blk.1.exp_probs_b.bias")
    return b


def cohere2moe():
    return experts_like("cohere2moe", "cohere2moe", 5, dense=1, prob_bias=False, norms=("attn_norm",), qk=None, eps=LN, tied=True,
                        attention__sliding_window=16, logit_scale=0.5, expert_weights_norm=True)


def cohere2moe_rms():
    return experts_like("cohere2moe-rms", "cohere2moe", 4, dense=0, prob_bias=False, norms=("attn_norm",), qk=None, shared=False,
                        attention__sliding_window=16, logit_scale=0.25,
                        attention__sliding_window_pattern=("bool", [True, False, True, True]))


def step35():
    b = experts_like("step35", "step35", 4, [4, 6, 6, 4], 2, 32, gates="heads", fused=True, attention__sliding_window=16,
                     attention__sliding_window_pattern=("bool", [False, True, True, False]), rope__freq_base=5e6, rope__freq_base_swa=1e4,
                     expert_weights_norm=True, expert_weights_scale=3.0, swiglu_clamp_exp=("f32", [0.0, 0.0, 0.5, 0.75]),
                     swiglu_clamp_shexp=("f32", [0.0, 0.5, 0.0, 0.75]))
    b.put("rope_freqs.weight", np.linspace(1, 4, 16))
    return b


def step35_split():
    b = step35()
    for name in [n for n in b.t if "ffn_gate_up_exps" in n]:
        gate, up = np.split(b.t.pop(name), 2, 1)
        b.t[name.replace("gate_up", "gate")], b.t[name.replace("gate_up", "up")] = gate, up
    return b


def mistral4():
    b = make_models.MODELS["deepseek2-v3"]()
    b.kv = {k.replace("deepseek2.", "mistral4."): v for k, v in b.kv.items()}
    b.kv["general.architecture"] = b.arch = "mistral4"
    b.key(attention__temperature_scale=0.3, **YARN)
    b.key(rope__scaling__original_context_length=16)
    return b


def deepseek2_temperature():
    b = make_models.MODELS["deepseek2-lite"]()
    b.key(attention__temperature_scale=0.2, attention__temperature_length=10)
    return b


def falcon_h1():
    b = make_models.MODELS["granitehybrid"]()
    made = B("falcon-h1", "falcon-h1", 3, **{RMS: 1e-5}, **heads(4, 2, 16, rot=16), feed_forward_length=96)
    made.key(**{k.split(".", 1)[1].replace(".", "__"): v for k, v in b.kv.items() if ".ssm." in k})
    made.embed(True)
    state = next(n for n in b.t if n.endswith("ssm_in.weight")).rsplit(".", 2)[0] + "."
    for l in range(3):
        made.norms(l, "attn_norm"), made.attn(l, 4, 2, 16, "qkvo"), made.ffn(l, 96)
        made.norm(f"blk.{l}.ffn_norm")
        made.t[f"blk.{l}.ffn_norm"] = made.t.pop(f"blk.{l}.ffn_norm.weight")
        for name, values in b.t.items():
            if name.startswith(state + "ssm_"):
                noise = 1 + 0.1 * made.rng.standard_normal(values.shape)
                made.put(name.replace(state, f"blk.{l}."), values * noise)
    return made


def falcon_h1_plain():
    b = falcon_h1()
    for name in [n for n in b.t if n.endswith(("ssm_norm.weight", "ssm_conv1d.bias"))]:
        del b.t[name]
    return b


def jamba():
    m = make_models.MODELS["mamba"]()
    b = B("jamba", "jamba", 4, **{RMS: 1e-6}, **heads(4, ("i32", [0, 0, 2, 0]), 16), feed_forward_length=96, expert_count=4, expert_used_count=2)
    b.key(**{k.split(".", 1)[1].replace(".", "__"): v for k, v in m.kv.items() if ".ssm." in k})
    sizes = [m.kv["mamba.ssm." + k] for k in ("time_step_rank", "state_size", "state_size")]
    b.embed(False)
    for l in range(4):
        b.norms(l, *PRE)
        if l == 2:
            b.attn(l, 4, 2, 16)
        else:
            for name, values in m.t.items():
                if name.startswith("blk.0.ssm_"):
                    b.put(name.replace("blk.0.", f"blk.{l}."), values * (1 + 0.1 * b.rng.standard_normal(values.shape)))
            for name, n in zip(("ssm_dt_norm", "ssm_b_norm", "ssm_c_norm"), sizes):
                b.norm(f"blk.{l}.{name}", n)
        if l % 2:
            b.moe(l, 4, 96)
        else:
            b.ffn(l, 96)
    return b


def internlm2():
    return llama_like("internlm2", "internlm2", H=4, K=1, tied=False)


MODELS = (qwen3vlmoe, minimax_m2, mimo2, mimo2_flags, exaone_moe, afmoe, bailingmoe2, laguna, laguna_values, mellum, hy_v3, cohere2moe,
          cohere2moe_rms, step35, step35_split, mistral4, deepseek2_temperature, falcon_h1, falcon_h1_plain, jamba, internlm2)


# ---- forward pass

def sigmoid_moe(m, norm=False):
    return moe(m, gating(m, "sigmoid"), m.get("expert_weights_norm", norm))


def window(m):
    return m.get("attention.sliding_window", 0)


def pattern(m, usual):
    by_key = m.get("attention.sliding_window_pattern", usual)
    return (lambda l: bool(by_key[l])) if isinstance(by_key, list) else by_key


def plain_rope(m):
    return dict(swa_rope(m, yarn=False), keep_attn=False)


def cohere2moe_traits(m):
    windowed, dense = pattern(m, every(4, True)), m.get("leading_dense_block_count")
    return Traits(norm="rms" if m.get("attention.layer_norm_rms_epsilon") else "ln", order="parallel", rope=NORM, window=window(m),
                  window_layers=windowed, rope_layers=lambda l: l < dense or windowed(l), moe=sigmoid_moe(m), logit_scale=f(m, "logit_scale", 1.0))


TRAITS = {
    "qwen3vlmoe": lambda m: Traits(moe=moe(m)),
    "minimax-m2": lambda m: Traits(qk_norm="full", moe=sigmoid_moe(m, True)),
    "mimo2": lambda m: Traits(window=window(m), window_layers=pattern(m, None), swa_rope=swa_rope(m, 1e4, False), moe=sigmoid_moe(m, True)),
    "exaone-moe": lambda m: Traits(window=window(m), window_layers=every(4), rope_layers=every(4), moe=sigmoid_moe(m)),
    "afmoe": lambda m: Traits(post_norm=True, embd_scale=np.sqrt(m.n_embd), window=window(m), window_layers=every(4), rope_layers=every(4),
                              moe=sigmoid_moe(m)),
    "bailingmoe2": lambda m: Traits(moe=sigmoid_moe(m)),
    "laguna": lambda m: Traits(window=window(m), window_layers=every(4, True), swa_rope=plain_rope(m), moe=sigmoid_moe(m)),
    "mellum": lambda m: Traits(window=window(m), window_layers=every(4), swa_rope=plain_rope(m), moe=moe(m)),
    "hy_v3": lambda m: Traits(moe=sigmoid_moe(m)),
    "cohere2moe": cohere2moe_traits,
    "step35": lambda m: Traits(window=window(m), window_layers=pattern(m, None), swa_rope=swa_rope(m, 1e4, False), moe=dict(sigmoid_moe(m), act="oai")),
    "falcon-h1": lambda m: Traits(),
    "jamba": lambda m: Traits(rope=None, moe=moe(m, norm=False, scale=False)),
    "internlm2": lambda m: Traits(rope=NORM),
}


class Now:
    """Current state of the forward pass, for functions that the shared one has no parameters for."""
    model = x = layer = limit = None


@contextlib.contextmanager
def replaced(where, key, value):
    had = where.get(key)
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value
    yield
    if had is not None:
        where[key] = had


def attention(m, x, l, n_ctx, cache=None, of=ref64.attention):
    Now.model, Now.x, Now.layer = m, x, l
    out = of(m, x, l, n_ctx, cache)
    return out * (m.get("attention.value_scale", 0.0) or 1.0)


def mla(m, x, l, n_ctx, of=ref64.mla):
    Now.model, Now.x, Now.layer = m, x, l
    return of(m, x, l, n_ctx)


def attend(q, k, v, *args, of=ref64.attend):
    m, n = Now.model, len(q)
    scale = m.get("attention.temperature_scale", 0.0)
    if scale and m.arch == "deepseek2":
        floor = m.get("attention.temperature_length", m.get("rope.scaling.original_context_length"))
        q = q * (1 + scale * np.log(np.floor(np.arange(n) / floor) + 1))[:, None, None]
    out = of(q, k, v, *args)
    if m.arch in ("afmoe", "laguna", "step35"):
        gate = m.linear(Now.x, "attn_gate", Now.layer)
        gate = ref64.softplus(gate) if m.arch == "laguna" else ref64.sigmoid(gate)
        out = (out.reshape(n, q.shape[1], -1) * gate.reshape(n, q.shape[1], -1)).reshape(n, -1)
    return out


def rope_table(m, l, pos, swa, n_ctx, of=ref64.rope_table):
    if m.arch != "step35":
        return of(m, l, pos, swa, n_ctx)
    if swa:
        with replaced(m.t, "rope_freqs.weight", None):
            return of(m, l, pos, swa, n_ctx)
    with replaced(m.kv, "step35.rope.dimension_count", m.get("rope.dimension_count", 32) // 2):
        return of(m, l, pos, swa, n_ctx)


def swiglu(g, u, oai=ref64.swiglu_oai):
    if Now.limit is None:
        return oai(g, u)
    limit = Now.limit or np.inf
    return np.minimum(ref64.silu(g), limit) * np.clip(u, -limit, limit)


def experts(m, x, l, logits=None, of=ref64.experts):
    Now.limit = m.get("swiglu_clamp_exp")[l] if m.arch == "step35" else None
    return of(m, x, l, logits)


def feed_forward(m, x, l, suffix="", of=ref64.feed_forward):
    if m.arch != "step35" or not suffix:
        return of(m, x, l, suffix)
    Now.limit = m.get("swiglu_clamp_shexp")[l]
    return m.linear(swiglu(m.linear(x, "ffn_gate" + suffix, l), m.linear(x, "ffn_up" + suffix, l)), "ffn_down" + suffix, l)


def any_ffn(m, x, l, of=ref64.any_ffn):
    out = of(m, x, l)
    return out * 0.5 if m.arch == "cohere2moe" and m.w("ffn_up_shexp", l) is not None else out


def mamba2(m, x, l, of=ref64.mamba2):
    if m.w("ssm_norm", l) is not None:
        return of(m, x, l)
    with replaced(vars(ref64), "rms", lambda y, w, eps: y):
        return of(m, x, l)


def mixer(m, x, l, n_ctx, cache, of=ref64.mixer):
    if m.arch == "falcon-h1":
        return attention(m, x, l, n_ctx) + mamba2(m, x, l)
    return of(m, x, l, n_ctx, cache)


def forward_pass(path):
    """Returns a model of ref64 with all of these architectures."""
    m = ref64.Model(path)
    for name in [n for n in m.t if n.endswith(".ffn_norm")]:
        m.t[name + ".weight"] = m.t[name]
    for name in [n for n in m.t if n.endswith(".exp_probs_b")]:
        m.t[name + ".bias"] = m.t[name]
    if m.arch == "mistral4":  # deepseek2 under another name
        m.kv, m.arch = {k.replace("mistral4.", "deepseek2."): v for k, v in m.kv.items()}, "deepseek2"
    return m


ref64.TRAITS.update(TRAITS)
ref64.TRAITS["mistral4"] = ref64.TRAITS["deepseek2"]
for step in (attention, mla, attend, rope_table, experts, feed_forward, any_ffn, mamba2, mixer):
    setattr(ref64, step.__name__, step)
ref64.swiglu_oai = swiglu
