# The reference: a forward pass of every architecture of the tiny models in binary64 with NumPy, written from the
# published formulas and independent of the library. Plain rather than fast. CC0-1.0.
#   ref64.py MODEL.gguf id,id,...        prints the largest logits of the last position
import sys
import numpy as np
import gguf_io

NORM, NEOX = 'norm', 'neox'


# ---- small functions -----------------------------------------------------------------------------------------------
def rms(x, w, eps):
    y = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    return y if w is None else y * w


def layer_norm(x, w, b, eps):
    d = x - x.mean(-1, keepdims=True)
    y = d / np.sqrt(np.mean(d * d, -1, keepdims=True) + eps)
    y = y if w is None else y * w
    return y if b is None else y + b


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x)))


def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softcap(x, cap):
    return cap * np.tanh(x / cap) if cap else x


# ---- a model file --------------------------------------------------------------------------------------------------
class Model:
    def __init__(self, path):
        self.kv, self.t = gguf_io.read(path)
        self.arch = self.kv['general.architecture'].decode()
        self.n_layer = self.get('block_count') - self.get('nextn_predict_layers', 0)
        self.n_embd = self.get('embedding_length')
        self.eps = self.get('attention.layer_norm_rms_epsilon', self.get('attention.layer_norm_epsilon', 1e-5))
        self.eps = float(np.float32(self.eps))
        self.tr = TRAITS[self.arch](self)

    def get(self, key, default=None):
        return self.kv.get(f'{self.arch}.{key}', default)

    def per_layer(self, key, l, default=None):
        v = self.get(key, default)
        return v[l] if isinstance(v, list) else v

    def w(self, name, l=None, kind='weight'):
        n = f'{name}.{kind}' if l is None else f'blk.{l}.{name}.{kind}'
        return self.t.get(n)

    def linear(self, x, name, l=None):
        w, b = self.w(name, l), self.w(name, l, 'bias')
        y = x @ w.T
        return y if b is None else y + b


class Traits:
    """Architecture config; everything else comes from keys and from the presence of tensors."""
    norm = 'rms'          # 'rms' | 'ln'
    order = 'pre'         # 'pre' | 'post' | 'parallel' | 'bert' | 'single'
    rope = NEOX           # NORM | NEOX | None
    post_norm = False     # post_attention_norm / post_ffw_norm after the sublayers
    ffn_norm = 'ffn_norm' # name of the norm before the feed-forward network
    act = 'silu'  # activation of the gated (or, without ffn_gate, plain) feed-forward network
    qk_norm = 'head'  # 'head' | 'full' | 'head_ln' (weights per head); used if the tensors exist
    qk_norm_after_rope = False
    causal = True
    embd_scale = 1.0
    rope_layers = None    # callable layer -> bool; None: all
    window = 0            # positions; 0: none
    window_kind = 'standard'
    window_layers = None  # callable layer -> bool
    attn_cap = 0.0
    final_cap = 0.0
    attn_scale = None     # None: 1 / sqrt(head dim)
    residual_scale = 1.0
    logit_scale = 1.0
    swa_rope = None  # dict(base=, scale=, yarn=) for window layers; None: as the others
    moe = None  # dict(gate=, norm=, scale=, act=) if the file has experts
    shared_gate = False   # sigmoid(ffn_gate_inp_shexp . x) on the shared expert
    temp = None           # (scale, floor, offset): queries times log(floor((pos+offset)/floor)+1)*scale+1
    temp_layers = None
    output_norm = 'output_norm'
    alibi = 0.0
    l2_qk = False  # llama4: RMS norm without weights after RoPE

    def __init__(self, **k):
        for a, b in k.items():
            assert hasattr(self, a), a
            setattr(self, a, b)


# ---- RoPE
# --------------------------------------------------------------------------------------------------------------
def yarn_range(n_dims, n_orig, base, fast, slow):
    dim = lambda beta: n_dims * np.log(n_orig / (beta * 2 * np.pi)) / (2 * np.log(base))
    return max(0.0, np.floor(dim(fast))), min(n_dims - 1.0, np.ceil(dim(slow)))


def rope_table(m, l, pos, swa, n_ctx):
    """Returns cos, sin [n][pairs], multiplied by the attention factor."""
    tr = m.tr
    hd = m.per_layer('attention.key_length', l, None) or m.n_embd // max(1, m.per_layer('attention.head_count', l))
    n_rot = m.get('rope.dimension_count', hd)
    if swa:
        n_rot = m.get('rope.dimension_count_swa', n_rot)
    base = float(np.float32(m.get('rope.freq_base', 10000.0)))
    kind = m.get('rope.scaling.type', b'linear').decode()
    factor = m.get('rope.scaling.factor', m.get('rope.scale_linear', 0.0))
    scale = 1.0 if not factor or kind == 'none' else 1.0 / float(np.float32(factor))
    yarn = kind == 'yarn'
    attn = float(np.float32(m.get('rope.scaling.attn_factor', 1.0)))
    if swa and tr.swa_rope:
        base, scale, yarn = tr.swa_rope['base'], tr.swa_rope['scale'], tr.swa_rope.get('yarn', yarn)
        if not tr.swa_rope.get('keep_attn', True):
            attn = 1.0
    factors = m.w('rope_freqs')
    n_orig = m.get('rope.scaling.original_context_length', m.get('context_length'))
    if factors is None and m.w('rope_factors_long') is not None:
        factors = m.w('rope_factors_long' if n_ctx > n_orig else 'rope_factors_short')
    if m.arch == 'gemma4' and swa:
        factors = None
    i = np.arange(n_rot // 2)
    extra = base ** (-2.0 * i / n_rot)
    if factors is not None:
        extra = extra / factors[:n_rot // 2]
    freq = extra * scale
    if yarn:
        low, high = yarn_range(n_rot, n_orig, base, m.get('rope.scaling.yarn_beta_fast', 32.0),
                               m.get('rope.scaling.yarn_beta_slow', 1.0))
        mix = 1 - np.clip((i - low) / max(0.001, high - low), 0, 1)
        freq = freq * (1 - mix) + extra * mix
        attn *= yarn_mscale(m, 1.0 / scale)
    a = np.outer(pos, freq)
    return np.cos(a) * attn, np.sin(a) * attn, n_rot


def yarn_log_mul(m):
    v = m.get('rope.scaling.yarn_log_multiplier', 0.0)
    return v / 0.1 if m.arch == 'deepseek2' else v


def yarn_mscale(m, factor):
    """Returns the factor of cos and sin under YaRN (before rope.scaling.attn_factor)."""
    ms = lambda mul: 1.0 if factor <= 1 else 0.1 * mul * np.log(factor) + 1.0
    mul = yarn_log_mul(m)
    if mul == 0:
        return ms(1.0)
    one = mul if m.arch == 'deepseek2' and mul != 1.0 else 1.0
    return ms(one) / ms(mul)


def rotate(x, cos, sin, n_rot, kind):
    """Rotates x [n][heads][dim]."""
    y = x.copy()
    c, s = cos[:, None, :], sin[:, None, :]
    if kind == NORM:
        a, b = x[..., 0:n_rot:2], x[..., 1:n_rot:2]
        y[..., 0:n_rot:2], y[..., 1:n_rot:2] = a * c - b * s, a * s + b * c
    else:
        h = n_rot // 2
        a, b = x[..., :h], x[..., h:n_rot]
        y[..., :h], y[..., h:n_rot] = a * c - b * s, a * s + b * c
    return y


# ---- attention -----------------------------------------------------------------------------------------------------
def visible(m, n, swa):
    q, k = np.arange(n)[:, None], np.arange(n)[None, :]
    ok = k <= q if m.tr.causal else np.ones((n, n), bool)
    if swa:
        w = m.tr.window
        if m.tr.window_kind == 'standard':
            ok &= q - k < w
        elif m.tr.window_kind == 'symmetric':
            ok &= abs(q - k) <= w // 2
        else:  # chunked
            ok &= k >= q // w * w
    return ok


def attend(q, k, v, scale, ok, cap=0.0, sinks=None, slopes=None):
    """Attends q [n][H][d], k [n][K][d], v [n][K][dv] -> [n][H * dv]."""
    n, H = q.shape[:2]
    group = H // k.shape[1]
    out = np.empty((n, H, v.shape[2]))
    for h in range(H):
        s = softcap((q[:, h] @ k[:, h // group].T) * scale, cap)
        if slopes is not None:
            s = s - slopes[h] * abs(np.arange(n)[:, None] - np.arange(n)[None, :])
        s = np.where(ok, s, -np.inf)
        if sinks is not None:
            s = np.concatenate([s, np.full((n, 1), sinks[h])], 1)
        p = softmax(s)[:, :n]
        out[:, h] = p @ v[:, h // group]
    return out.reshape(n, -1)


def alibi_slopes(n_heads, max_bias):
    p = 1 << int(np.floor(np.log2(n_heads)))
    m0, m1 = 2.0 ** (-max_bias / p), 2.0 ** (-max_bias / 2 / p)
    return [m0 ** (h + 1) if h < p else m1 ** (2 * (h - p) + 1) for h in range(n_heads)]


def norm_qk(m, x, l, name):
    w, b, tr = m.w(name, l), m.w(name, l, 'bias'), m.tr
    if w is None:
        return x
    n = x.shape[0]
    if tr.qk_norm == 'full':
        flat = x.reshape(n, -1)
        flat = layer_norm(flat, w, b, m.eps) if tr.norm == 'ln' else rms(flat, w, m.eps)
        return flat.reshape(x.shape)
    if tr.qk_norm == 'head_ln':
        return layer_norm(x, w, None, m.eps)
    return rms(x, w, m.eps)


def is_swa(m, l):
    return bool(m.tr.window and (m.tr.window_layers is None or m.tr.window_layers(l)))


def attention(m, x, l, n_ctx, cache=None):
    tr, n = m.tr, x.shape[0]
    H, K = m.per_layer('attention.head_count', l), m.per_layer('attention.head_count_kv', l)
    K = H if K is None else K
    swa = is_swa(m, l)
    hd = m.get('attention.key_length', m.n_embd // H)
    hv = m.get('attention.value_length', m.n_embd // H)
    if swa:
        hd, hv = m.get('attention.key_length_swa', hd), m.get('attention.value_length_swa', hv)
    if m.w('attn_qkv', l) is not None:
        qkv = m.linear(x, 'attn_qkv', l)
        q, k, v = np.split(qkv, [H * hd, H * hd + K * hd], 1)
    else:
        q = m.linear(x, 'attn_q', l)
        k = m.linear(x, 'attn_k', l) if m.w('attn_k', l) is not None else None
        v = m.linear(x, 'attn_v', l) if m.w('attn_v', l) is not None else k
    gate = None
    if m.arch in ('qwen3next', 'qwen35', 'qwen35moe'):  # per head: hd of query, hd of gate
        q, gate = np.split(q.reshape(n, H, 2 * hd), 2, 2)
        gate = gate.reshape(n, -1)
    clamp = m.get('attention.clamp_kqv', 0.0)
    if clamp:
        q, k, v = (np.clip(t, -clamp, clamp) for t in (q, k, v))
    q = q.reshape(n, H, hd)
    if k is not None:
        k, v = k.reshape(n, K, hd), v.reshape(n, K, hv)
    if m.arch == 'gemma4' and v is not None:
        v = rms(v, None, m.eps)
    use_rope = tr.rope and (tr.rope_layers is None or tr.rope_layers(l))
    if not tr.qk_norm_after_rope:
        q, k = norm_qk(m, q, l, 'attn_q_norm'), k if k is None else norm_qk(m, k, l, 'attn_k_norm')
    pos = np.arange(n)
    if use_rope:
        cos, sin, n_rot = rope_table(m, l, pos, swa, n_ctx)
        q = rotate(q, cos, sin, n_rot, tr.rope)
        k = k if k is None else rotate(k, cos, sin, n_rot, tr.rope)
        if tr.l2_qk:
            q, k = rms(q, None, m.eps), rms(k, None, m.eps)
    if tr.qk_norm_after_rope:
        q, k = norm_qk(m, q, l, 'attn_q_norm'), norm_qk(m, k, l, 'attn_k_norm')
    if tr.temp and (tr.temp_layers is None or tr.temp_layers(l)):
        s, floor, offset = tr.temp
        q = q * (np.log(np.floor((pos + offset) / floor) + 1) * s + 1)[:, None, None]
    if cache is not None:  # gemma4: the last layers use the keys and values of an earlier one
        own = m.n_layer - m.get('attention.shared_kv_layers', 0)
        if l < own:
            cache[l] = (k, v)
        else:
            k, v = cache[own - (2 if swa else 1)]
    scale = tr.attn_scale if tr.attn_scale is not None else 1 / np.sqrt(hd)
    slopes = alibi_slopes(H, tr.alibi) if tr.alibi else None
    o = attend(q, k, v, scale, visible(m, n, swa), tr.attn_cap, m.w('attn_sinks', l), slopes)
    if gate is not None:
        o = o * sigmoid(gate)
    return m.linear(o, 'attn_output', l)


def mla(m, x, l, n_ctx):
    """deepseek2 (MLA): keys and values come from one compressed vector and one vector with RoPE per token."""
    n, H, R, rope = x.shape[0], m.get('attention.head_count'), m.get('attention.kv_lora_rank'), m.get('rope.dimension_count')
    absorbed = m.w('attn_k_b', l) is not None
    hk = m.get('attention.key_length_mla') if absorbed else m.get('attention.key_length')
    hv = m.get('attention.value_length_mla') if absorbed else m.get('attention.value_length')
    if m.w('attn_q_a', l) is not None:
        q = m.linear(rms(m.linear(x, 'attn_q_a', l), m.w('attn_q_a_norm', l), m.eps), 'attn_q_b', l)
    else:
        q = m.linear(x, 'attn_q', l)
    q_nope, q_pe = np.split(q.reshape(n, H, hk), [hk - rope], 2)
    c, k_pe = np.split(m.linear(x, 'attn_kv_a_mqa', l), [R], 1)
    c = rms(c, m.w('attn_kv_a_norm', l), m.eps)
    cos, sin, n_rot = rope_table(m, l, np.arange(n), False, n_ctx)
    q_pe, k_pe = rotate(q_pe, cos, sin, n_rot, NORM), rotate(k_pe[:, None], cos, sin, n_rot, NORM)
    factor = m.get('rope.scaling.factor', 0.0) or 1.0
    mscale = 1.0
    if m.get('rope.scaling.type', b'').decode() == 'yarn':
        mscale = yarn_mscale(m, factor) * (1 + 0.1 * yarn_log_mul(m) * np.log(factor))
    scale = mscale * mscale / np.sqrt(hk)
    ok = visible(m, n, False)
    if absorbed:
        qa = np.einsum('nhd,hrd->nhr', q_nope, m.w('attn_k_b', l))
        q, k = np.concatenate([qa, q_pe], 2), np.concatenate([c[:, None], k_pe], 2)
        o = attend(q, k, c[:, None], scale, ok).reshape(n, H, R)
        o = np.einsum('nhr,hvr->nhv', o, m.w('attn_v_b', l)).reshape(n, -1)
    else:
        kv = m.linear(c, 'attn_kv_b', l).reshape(n, H, hk - rope + hv)
        k = np.concatenate([kv[..., :hk - rope], np.repeat(k_pe, H, 1)], 2)
        o = attend(np.concatenate([q_nope, q_pe], 2), k, kv[..., hk - rope:], scale, ok)
    return m.linear(o, 'attn_output', l)


# ---- recurrent mixers ----------------------------------------------------------------------------------------------
def causal_conv(x, w, b=None):
    """x [n][c], w [c][k]: y[t] = sum_j w[j] x[t - k + 1 + j]"""
    k = w.shape[1]
    p = np.concatenate([np.zeros((k - 1, x.shape[1])), x])
    y = sum(p[j:j + x.shape[0]] * w[:, j] for j in range(k))
    return y if b is None else y + b


def short_conv(m, x, l):
    b, c, u = np.split(m.linear(x, 'shortconv.in_proj', l), 3, 1)
    return m.linear(c * causal_conv(b * u, m.w('shortconv.conv', l)), 'shortconv.out_proj', l)


def delta_net(m, x, l):
    n, S, Hk, Hv = x.shape[0], m.get('ssm.state_size'), m.get('ssm.group_count'), m.get('ssm.time_step_rank')
    per = Hv // Hk
    if m.w('attn_qkv', l) is not None:
        qkv, z = m.linear(x, 'attn_qkv', l), m.linear(x, 'attn_gate', l)
    else:  # legacy: per key head: q, k, v and z of its value heads
        t = m.linear(x, 'ssm_in', l).reshape(n, Hk, -1)
        q, k, v, z = np.split(t, [S, 2 * S, 2 * S + S * per], 2)
        qkv, z = np.concatenate([a.reshape(n, -1) for a in (q, k, v)], 1), z.reshape(n, -1)
    if m.w('ssm_ba', l) is not None:  # per key head: beta and alpha of its value heads
        b, a = np.split(m.linear(x, 'ssm_ba', l).reshape(n, Hk, 2 * per), 2, 2)
        b, a = b.reshape(n, Hv), a.reshape(n, Hv)
    else:
        b, a = x @ m.w('ssm_beta', l).T, x @ m.w('ssm_alpha', l).T
    beta = sigmoid(b)
    g = softplus(a + m.w('ssm_dt', l, 'bias')) * m.t[f'blk.{l}.ssm_a'].reshape(-1)
    qkv = silu(causal_conv(qkv, m.w('ssm_conv1d', l)))
    q, k, v = np.split(qkv, [Hk * S, 2 * Hk * S], 1)
    unit = lambda t: t / np.maximum(np.sqrt((t * t).sum(-1, keepdims=True)), m.eps)
    q, k, v = unit(q.reshape(n, Hk, S)), unit(k.reshape(n, Hk, S)), v.reshape(n, Hv, S)
    o = np.empty((n, Hv, S))
    for h in range(Hv):
        hk = h // per if m.arch == 'qwen3next' else h % Hk
        M = np.zeros((S, S))  # [value][key]
        for t in range(n):
            M = M * np.exp(g[t, h])
            M = M + np.outer((v[t, h] - M @ k[t, hk]) * beta[t, h], k[t, hk])
            o[t, h] = M @ q[t, hk] / np.sqrt(S)
    o = rms(o, m.w('ssm_norm', l), m.eps) * silu(z.reshape(n, Hv, S))
    return m.linear(o.reshape(n, -1), 'ssm_out', l)


def mamba2(m, x, l):
    n, D, S, H, G = x.shape[0], m.get('ssm.inner_size'), m.get('ssm.state_size'), m.get('ssm.time_step_rank'), m.get('ssm.group_count')
    P = D // H
    z, xbc, dt = np.split(m.linear(x, 'ssm_in', l), [D, 2 * D + 2 * G * S], 1)
    xbc = silu(causal_conv(xbc, m.w('ssm_conv1d', l), m.w('ssm_conv1d', l, 'bias')))
    u, B, C = np.split(xbc, [D, D + G * S], 1)
    dt = softplus(dt + m.w('ssm_dt', l, 'bias'))
    A, Dw = m.t[f'blk.{l}.ssm_a'].reshape(-1), m.t[f'blk.{l}.ssm_d'].reshape(-1)
    u, B, C = u.reshape(n, H, P), B.reshape(n, G, S), C.reshape(n, G, S)
    y = np.empty((n, H, P))
    for h in range(H):
        g, M = h // (H // G), np.zeros((P, S))
        for t in range(n):
            M = M * np.exp(dt[t, h] * A[h]) + np.outer(u[t, h] * dt[t, h], B[t, g])
            y[t, h] = M @ C[t, g] + u[t, h] * Dw[h]
    y = silu(z) * y.reshape(n, D)
    y = rms(y.reshape(n, G, D // G), m.w('ssm_norm', l), m.eps).reshape(n, D)
    return m.linear(y, 'ssm_out', l)


def mamba1(m, x, l):
    n, D, S, R = x.shape[0], m.get('ssm.inner_size'), m.get('ssm.state_size'), m.get('ssm.time_step_rank')
    u, z = np.split(m.linear(x, 'ssm_in', l), 2, 1)
    u = silu(causal_conv(u, m.w('ssm_conv1d', l), m.w('ssm_conv1d', l, 'bias')))
    dt, B, C = np.split(m.linear(u, 'ssm_x', l), [R, R + S], 1)
    dt = softplus(m.linear(dt, 'ssm_dt', l))
    A, Dw = m.t[f'blk.{l}.ssm_a'], m.t[f'blk.{l}.ssm_d'].reshape(-1)
    M, y = np.zeros((D, S)), np.empty((n, D))
    for t in range(n):
        M = M * np.exp(dt[t][:, None] * A) + np.outer(u[t] * dt[t], B[t])
        y[t] = M @ C[t] + u[t] * Dw
    return m.linear(silu(z) * y, 'ssm_out', l)


# ---- feed-forward --------------------------------------------------------------------------------------------------
ACT = {'silu': silu, 'gelu': gelu_tanh, 'relu2': lambda x: np.maximum(x, 0) ** 2, 'relu': lambda x: np.maximum(x, 0)}


def swiglu_oai(g, u):
    g, u = np.minimum(g, 7.0), np.clip(u, -7.0, 7.0)
    return g * sigmoid(1.702 * g) * (u + 1)


def feed_forward(m, x, l, suffix=''):
    act = ACT[m.tr.act]
    up = m.linear(x, 'ffn_up' + suffix, l)
    if m.w('ffn_gate' + suffix, l) is not None:
        h = act(m.linear(x, 'ffn_gate' + suffix, l)) * up
    elif m.w('ffn_down' + suffix, l).shape[1] * 2 == up.shape[1]:  # one matrix: gate, then up
        g, u = np.split(up, 2, 1)
        h = act(g) * u
    else:
        h = act(up)
    return m.linear(h, 'ffn_down' + suffix, l)


def experts(m, x, l, logits=None):
    c = m.tr.moe
    n, E, used = x.shape[0], m.get('expert_count'), m.get('expert_used_count')
    if logits is None:
        logits = m.linear(x, 'ffn_gate_inp', l)
    probs = {'softmax': softmax, 'sigmoid': sigmoid, 'softmax_weight': lambda t: t}[c['gate']](logits)
    choice = probs
    bias = m.w('exp_probs_b', l, 'bias')
    if bias is not None:
        choice = probs + bias
    if m.arch == 'llama4':
        choice = logits
    groups = m.get('expert_group_count', 0)
    if groups > 1:  # the groups whose two best experts have the largest sum
        g = choice.reshape(n, groups, -1)
        score = np.sort(g, 2)[:, :, -2:].sum(2)
        best = np.argsort(-score, 1, kind='stable')[:, :m.get('expert_group_used_count')]
        mask = np.full(g.shape, -np.inf)
        for t in range(n):
            mask[t, best[t]] = 0
        choice = (g + mask).reshape(n, E)
    top = np.argsort(-choice, 1, kind='stable')[:, :used]
    w = np.take_along_axis(probs, top, 1)
    if c['gate'] == 'softmax_weight':
        w = softmax(w)
    if c.get('norm'):
        w = w / np.maximum(w.sum(1, keepdims=True), 6.103515625e-5)
    w = w * (c.get('scale') or 1.0)
    fused, gate, up, down = (m.w(k, l) for k in ('ffn_gate_up_exps', 'ffn_gate_exps', 'ffn_up_exps', 'ffn_down_exps'))
    gb, ub, db = (m.w(k, l, 'bias') for k in ('ffn_gate_exps', 'ffn_up_exps', 'ffn_down_exps'))
    dscale = m.w('ffn_down_exps', l, 'scale')
    out = np.zeros((n, down.shape[1]))
    for t in range(n):
        for j, e in enumerate(top[t]):
            xt = x[t] * w[t, j] if m.arch == 'llama4' else x[t]
            if fused is not None:
                g, u = np.split(fused[e] @ xt, 2)
            else:
                u = up[e] @ xt + (0 if ub is None else ub[e])
                g = None if gate is None else gate[e] @ xt + (0 if gb is None else gb[e])
            h = ACT[c['act']](u) if g is None else swiglu_oai(g, u) if c['act'] == 'oai' else ACT[c['act']](g) * u
            y = down[e] @ h + (0 if db is None else db[e])
            if dscale is not None:
                y = y * dscale[e]
            out[t] += y if m.arch == 'llama4' else y * w[t, j]
    return out


def any_ffn(m, x, l):
    if m.w('ffn_gate_inp', l) is None:
        return feed_forward(m, x, l)
    if m.w('ffn_latent_down', l) is not None:
        out = experts(m, x @ m.w('ffn_latent_down', l).T, l, m.linear(x, 'ffn_gate_inp', l)) @ m.w('ffn_latent_up', l).T
    else:
        out = experts(m, x, l)
    if m.w('ffn_up_shexp', l) is not None:
        shared = feed_forward(m, x, l, '_shexp')
        if m.tr.shared_gate:
            shared = shared * sigmoid(x @ m.w('ffn_gate_inp_shexp', l).reshape(-1))[:, None]
        out = out + shared
    return out


def gemma4_ffn(m, x, l):
    """x: the residual stream after attention. A dense network, and parallel experts with norms of their own."""
    dense = feed_forward(m, rms(x, m.w('ffn_norm', l), m.eps), l)
    if m.w('ffn_gate_inp', l) is None:
        return dense
    dense = rms(dense, m.w('post_ffw_norm_1', l), m.eps)
    r = rms(x, None, m.eps) / np.sqrt(m.n_embd) * m.w('ffn_gate_inp', l, 'scale')
    e = experts(m, rms(x, m.w('pre_ffw_norm_2', l), m.eps), l, r @ m.w('ffn_gate_inp', l).T)
    return dense + rms(e, m.w('post_ffw_norm_2', l), m.eps)


# ---- layers --------------------------------------------------------------------------------------------------------
def norm(m, x, name, l=None):
    w = m.w(name, l)
    if m.tr.norm == 'ln':
        return layer_norm(x, w, m.w(name, l, 'bias'), m.eps)
    return rms(x, w, m.eps)


def mixer(m, x, l, n_ctx, cache):
    if m.w('shortconv.conv', l) is not None:
        return short_conv(m, x, l)
    if m.w('ssm_norm', l) is not None and m.arch in ('qwen3next', 'qwen35', 'qwen35moe'):
        return delta_net(m, x, l)
    if m.w('ssm_x', l) is not None:
        return mamba1(m, x, l)
    if m.w('ssm_in', l) is not None:
        return mamba2(m, x, l)
    if m.w('attn_kv_a_mqa', l) is not None:
        return mla(m, x, l, n_ctx)
    return attention(m, x, l, n_ctx, cache)


def layer(m, x, l, n_ctx, cache, extra):
    tr, r = m.tr, m.tr.residual_scale
    if tr.order == 'single':  # one mixer or one feed-forward network per layer
        h = norm(m, x, 'attn_norm', l)
        is_ffn = m.w('ffn_up', l) is not None or m.w('ffn_up_exps', l) is not None
        return x + (any_ffn(m, h, l) if is_ffn else mixer(m, h, l, n_ctx, cache))
    if tr.order == 'parallel':
        h = norm(m, x, 'attn_norm', l)
        a = norm(m, x, 'attn_norm_2', l) if m.w('attn_norm_2', l) is not None else h
        f = norm(m, x, 'ffn_norm', l) if m.w('ffn_norm', l) is not None else h
        return x + mixer(m, a, l, n_ctx, cache) + any_ffn(m, f, l)
    if tr.order == 'bert':
        x = norm(m, x + mixer(m, x, l, n_ctx, cache), 'attn_output_norm', l)
        return norm(m, x + any_ffn(m, x, l), 'layer_output_norm', l)
    if tr.order == 'post':
        x = x + norm(m, mixer(m, x, l, n_ctx, cache), 'post_attention_norm', l)
        return x + norm(m, any_ffn(m, x, l), 'post_ffw_norm', l)
    h = norm(m, x, 'attn_norm', l) if m.w('attn_norm', l) is not None else x
    a = mixer(m, h, l, n_ctx, cache)
    if tr.post_norm:
        a = norm(m, a, 'post_attention_norm', l)
    x = x + r * a
    f = gemma4_ffn(m, x, l) if m.arch == 'gemma4' else any_ffn(m, norm(m, x, tr.ffn_norm, l), l)
    if tr.post_norm:
        f = norm(m, f, 'post_ffw_norm', l)
    x = x + r * f
    if extra is not None:
        e = gelu_tanh(m.linear(x, 'inp_gate', l)) * extra[:, l]
        x = x + rms(m.linear(e, 'proj', l), m.w('post_norm', l), m.eps)
    s = m.w('layer_output_scale', l)
    return x if s is None else x * s


def hidden(m, ids, n_ctx=512):
    """Returns the states after the last norm, [n][n_embd]."""
    tr, n = m.tr, len(ids)
    x = m.w('token_embd')[ids] * tr.embd_scale
    if m.w('token_types') is not None:
        x = x + m.w('token_types')[0]
    if m.w('position_embd') is not None:
        x = x + m.w('position_embd')[:n]
    if m.w('token_embd_norm') is not None and not m.arch.startswith('lfm2'):
        x = norm(m, x, 'token_embd_norm')
    extra = None
    if m.w('per_layer_token_embd') is not None:  # an additional embedding per layer
        d = m.get('embedding_length_per_layer_input')
        e = m.w('per_layer_token_embd')[ids].reshape(n, m.n_layer, d) * np.float64(np.float32(np.sqrt(d)))
        p = (x @ m.w('per_layer_model_proj').T / np.sqrt(m.n_embd)).reshape(n, m.n_layer, d)
        extra = (rms(p, m.w('per_layer_proj_norm'), m.eps) + e) / np.sqrt(2.0)
    cache = {} if m.arch == 'gemma4' else None
    for l in range(m.n_layer):
        x = layer(m, x, l, n_ctx, cache, extra)
    return norm(m, x, tr.output_norm) if m.w(tr.output_norm) is not None else x


def logits(m, ids, n_ctx=512):
    h = hidden(m, ids, n_ctx)
    w = m.w('output')
    y = h @ (m.w('token_embd') if w is None else w).T
    b = m.w('output', None, 'bias')
    y = (y if b is None else y + b) * m.tr.logit_scale
    return softcap(y, m.tr.final_cap)


# ---- the architectures ---------------------------------------------------------------------------------------------
def every(n, dense_first=False):
    """Returns the window layers in a pattern of n: all but the last (or the first) of each group."""
    return (lambda l: l % n != 0) if dense_first else (lambda l: l % n < n - 1)


def swa_rope(m, default_base=None, yarn=None):
    base = m.get('rope.freq_base_swa', m.get('rope.freq_base', 10000.0) if default_base is None else default_base)
    return dict(base=float(np.float32(base)), scale=1.0, yarn=m.get('rope.scaling.type', b'') == b'yarn' if yarn is None else yarn)


def moe(m, gate='softmax', norm=True, act='silu', scale=True):
    if not m.get('expert_count'):
        return None
    return dict(gate=gate, norm=norm, act=act, scale=m.get('expert_weights_scale', 0.0) if scale else None)


def gating(m, default):
    return {0: default, 1: 'softmax', 2: 'sigmoid', 3: 'softmax_weight'}[m.get('expert_gating_func', 0)]


def f(m, key, default):
    return float(np.float32(m.get(key, default)))


def llama(m, **k):
    return Traits(rope=NORM, moe=moe(m), attn_scale=m.get('attention.scale') or None, **k)


def granite(m, **k):
    rope = NORM if m.get('rope.scaling.finetuned', True) else None
    return Traits(rope=rope, moe=moe(m), attn_scale=m.get('attention.scale') or None, embd_scale=m.get('embedding_scale', 0) or 1.0,
                  residual_scale=m.get('residual_scale', 0) or 1.0, logit_scale=1.0 / (m.get('logit_scale', 0) or 1.0), **k)


def gemma(m, **k):
    return Traits(act='gelu', embd_scale=float(np.float32(np.sqrt(np.float32(m.n_embd)))), **k)


def gemma2(m):
    return gemma(m, post_norm=True, window=m.get('attention.sliding_window', 4096), window_layers=every(2),
                 attn_cap=f(m, 'attn_logit_softcapping', 50.0), final_cap=f(m, 'final_logit_softcapping', 30.0))


def gemma3(m, **k):
    w = m.get('attention.sliding_window', 0)
    return gemma(m, post_norm=True, window=w, window_layers=every(m.get('attention.sliding_window_pattern', 6)),
                 swa_rope=swa_rope(m, 10000.0), final_cap=f(m, 'final_logit_softcapping', 0.0), **k)


def gemma4(m):
    pattern = m.get('attention.sliding_window_pattern')
    return gemma(m, post_norm=True, window=m.get('attention.sliding_window'), window_layers=lambda l: bool(pattern[l]),
                 swa_rope=swa_rope(m, 10000.0), attn_scale=1.0, moe=moe(m, act='gelu', scale=False),
                 final_cap=f(m, 'final_logit_softcapping', 30.0))


def olmo2(m):
    w = m.get('attention.sliding_window', 0)
    r = dict(base=float(np.float32(m.get('rope.freq_base', 10000.0))), scale=1.0, yarn=False, keep_attn=False)
    return Traits(order='post', qk_norm='full', window=w, window_layers=every(4), swa_rope=r)


def mistral3(m):
    s = m.get('attention.temperature_scale', 0.0)
    return llama(m, temp=(s, m.get('rope.scaling.original_context_length'), 0.0) if s else None)


def llama4(m):
    chunk = m.get('attention.sliding_window', 8192) != 0
    kq = m.get('expert_count', 0) != 128
    return Traits(rope=NORM, rope_layers=lambda l: (l + 1) % 4 != 0, window=8192 if chunk else 0, window_kind='chunked',
                  window_layers=every(4), l2_qk=kq, moe=moe(m, 'sigmoid', False), temp=(0.1, 8192, 1.0),
                  temp_layers=lambda l: (l + 1) % 4 == 0)


def exaone4(m):
    swa = m.n_layer == 64
    return Traits(order='post', window=m.get('attention.sliding_window', 4096) if swa else 0, window_layers=every(4))


TRAITS = {
    'llama': llama, 'mistral3': mistral3, 'llama4': llama4,
    'qwen2': lambda m: Traits(), 'qwen3': lambda m: Traits(),
    'qwen2vl': lambda m: Traits(), 'qwen3vl': lambda m: Traits(),  # text: all positions are equal
    'qwen2moe': lambda m: Traits(moe=moe(m, norm=False), shared_gate=True),
    'qwen3moe': lambda m: Traits(moe=moe(m)),
    'qwen3next': lambda m: Traits(moe=moe(m), shared_gate=True, ffn_norm='post_attention_norm'),
    'qwen35': lambda m: Traits(ffn_norm='post_attention_norm'),
    'qwen35moe': lambda m: Traits(moe=moe(m), shared_gate=True, ffn_norm='post_attention_norm'),
    'gemma': gemma, 'gemma2': gemma2, 'gemma3': gemma3, 'gemma4': gemma4,
    'gemma-embedding': lambda m: gemma3(m, causal=False, window_kind='symmetric'),
    'phi2': lambda m: Traits(norm='ln', order='parallel', act='gelu'),
    'phi3': lambda m: Traits(moe=moe(m)),
    'phimoe': lambda m: Traits(moe=moe(m)),
    'gpt-oss': lambda m: Traits(ffn_norm='post_attention_norm', window=m.get('attention.sliding_window'), window_layers=every(2),
                                swa_rope=None, moe=moe(m, 'softmax_weight', False, 'oai')),
    'smollm3': lambda m: Traits(rope=NORM, rope_layers=lambda l: (l + 1) % 4 != 0),
    'granite': granite, 'granitemoe': granite, 'granitehybrid': granite,
    'olmo2': olmo2,
    'olmoe': lambda m: Traits(qk_norm='full', moe=moe(m, norm=False)),
    'olmo': lambda m: Traits(norm='ln', rope=NORM),
    'deepseek2': lambda m: Traits(rope=NORM, moe=moe(m, gating(m, 'softmax'), m.get('expert_weights_norm', False))),
    'glm4': lambda m: Traits(rope=NORM, post_norm=True),
    'glm4moe': lambda m: Traits(ffn_norm='post_attention_norm', moe=moe(m, gating(m, 'sigmoid'), m.get('expert_weights_norm', False))),
    'lfm2': lambda m: Traits(output_norm='token_embd_norm'),
    'lfm2moe': lambda m: Traits(output_norm='token_embd_norm', moe=moe(m, gating(m, 'sigmoid'))),
    'starcoder2': lambda m: Traits(norm='ln', act='gelu'),
    'gpt2': lambda m: Traits(norm='ln', act='gelu', rope=None),
    'falcon': lambda m: Traits(norm='ln', act='gelu', order='parallel'),
    'stablelm': lambda m: Traits(norm='ln', qk_norm='head_ln', order='pre' if m.w('ffn_norm', 0) is not None else 'parallel'),
    'command-r': lambda m: Traits(norm='ln', rope=NORM, order='parallel', qk_norm='head_ln', logit_scale=f(m, 'logit_scale', 1.0)),
    'cohere2': lambda m: Traits(norm='ln', rope=NORM, order='parallel', logit_scale=f(m, 'logit_scale', 1.0), window=m.get('attention.sliding_window'),
                                window_layers=every(4), rope_layers=every(4)),
    'nemotron': lambda m: Traits(norm='ln', act='relu2'),
    'nemotron_h': lambda m: Traits(order='single', rope=None, act='relu2'),
    'nemotron_h_moe': lambda m: Traits(order='single', rope=None, act='relu2', moe=moe(m, 'sigmoid', m.get('expert_weights_norm', False), 'relu2')),
    'seed_oss': lambda m: Traits(ffn_norm='post_attention_norm'),
    'exaone4': exaone4,
    'hunyuan-dense': lambda m: Traits(qk_norm_after_rope=True),
    'hunyuan-moe': lambda m: Traits(qk_norm_after_rope=True, moe=moe(m)),
    'ernie4_5': lambda m: Traits(rope=NORM), 'ernie4_5-moe': lambda m: Traits(rope=NORM, moe=moe(m)),
    'mamba': lambda m: Traits(order='single', rope=None), 'mamba2': lambda m: Traits(order='single', rope=None),
    'bert': lambda m: Traits(norm='ln', order='bert', act='gelu', rope=None, causal=False, qk_norm='full'),
    'nomic-bert': lambda m: Traits(norm='ln', order='bert', causal=False),
    'nomic-bert-moe': lambda m: Traits(norm='ln', order='bert', act='gelu', causal=False, moe=moe(m, norm=False, act='gelu')),
    'jina-bert-v2': lambda m: Traits(norm='ln', order='bert', act='gelu', rope=None, causal=False, qk_norm='full', alibi=8.0),
    'modern-bert': lambda m: Traits(norm='ln', act='gelu', causal=False, window=m.get('attention.sliding_window', 0), window_kind='symmetric',
                                    window_layers=every(m.get('attention.sliding_window_pattern', 3), True), swa_rope=swa_rope(m, 10000.0, False)),
}


def pooled(m, ids, n_ctx=512):
    """Returns the embedding of a text, not normalized: pooling_type 1 mean, 2 first token, 3 last token."""
    h = hidden(m, ids, n_ctx)
    kind = m.get('pooling_type', 0)
    e = h.mean(0) if kind == 1 else h[0] if kind == 2 else h[-1]
    for name in ('dense_2', 'dense_3'):
        if m.w(name) is not None:
            e = m.linear(e, name)
    return e


if __name__ == '__main__':
    y = logits(Model(sys.argv[1]), [int(i) for i in sys.argv[2].split(',')])[-1]
    for i in np.argsort(-y)[:10]:
        print(i, y[i])
