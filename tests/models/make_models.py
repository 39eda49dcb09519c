# Tiny random models of every architecture, with fixed seeds. CC0-1.0.
#   make_models.py FOLDER [--f32] [NAME ...]    FOLDER/tiny-NAME-f16.gguf
# --f32 writes the same values, rounded to F16, as F32. The vocabularies are the first 320 tokens of the demo model's
# and a byte-level BPE with 61 merges.
import functools, os, sys, zlib
import numpy as np
import gguf_io

V = 320  # tokens
TOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data', 'tiny-stories-Q8_0.gguf')


@functools.lru_cache
def demo_keys():
    return gguf_io.read(TOK)[0]


def spm_vocab():
    kv = demo_keys()
    p = 'tokenizer.ggml.'
    return {p + 'model': 'llama', p + 'pre': 'default', p + 'tokens': ('str', kv[p + 'tokens'][:V]), p + 'scores': ('f32', kv[p + 'scores'][:V]),
            p + 'token_type': ('i32', kv[p + 'token_type'][:V]), p + 'bos_token_id': 1, p + 'eos_token_id': 2, p + 'unknown_token_id': 0,
            p + 'add_bos_token': True, p + 'add_eos_token': False, p + 'add_space_prefix': True}


def bpe_vocab(pre):
    """Returns 256 bytes in GPT-2's characters, merges of frequent pairs of letters, and three control tokens."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    text = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}
    pairs = 't he,i n,r e,o n,e r,a t,\u0120 t,\u0120 a,o u,\u0120 the,e n,\u0120 w,\u0120 s,i s,o r,e d,l l,i t,\u0120 b,in g'.split(',')
    merges, known = ['h e'], {*text.values(), 'he'}
    for pair in pairs:
        a, b = pair.split(' ')
        if a in known and b in known and a + b not in known:
            merges.append(pair), known.add(a + b)
    controls = ['<|endoftext|>', '<|first|>', '<|second|>']  # one ends a generation
    ordered = [text[b] for b in sorted(text, key=lambda b: text[b])] + [m.replace(' ', '') for m in merges]
    unused = [f'[PAD{i}]' for i in range(len(ordered), V - len(controls))]  # as converters fill a vocabulary
    toks, p = ordered + unused + controls, 'tokenizer.ggml.'
    assert len(set(toks)) == V
    return {p + 'model': 'gpt2', p + 'pre': pre, p + 'tokens': ('str', toks),
            p + 'token_type': ('i32', [3 if t in controls else 5 if t in unused else 1 for t in toks]), p + 'merges': ('str', merges),
            p + 'bos_token_id': V - 3, p + 'eos_token_id': V - 3, p + 'add_bos_token': False}


def wpm_vocab():
    base = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    letters = 'abcdefghijklmnopqrstuvwxyz0123456789.,!?\'"-()'
    words = 'the and was she he it to of in day girl boy play ball red big dog cat saw said mom lily once upon time there a little very happy'.split()
    tail = [a + b for a in 'eiosrntlaud' for b in 'nrstdlgmceyo']
    toks = base + ['\u2581' + c for c in letters] + list(letters) + ['\u2581' + w for w in words if len(w) > 1] + tail
    toks = (toks + [f'[unused{i}]' for i in range(V)])[:V]
    assert len(set(toks)) == V
    p = 'tokenizer.ggml.'
    types = [3 if i in (0, 2, 3, 4) else 2 if i == 1 else 5 if t.startswith('[unused') else 1 for i, t in enumerate(toks)]
    return {p + 'model': 'bert', p + 'pre': 'default', p + 'tokens': ('str', toks), p + 'token_type': ('i32', types), p + 'token_type_count': 2,
            p + 'unknown_token_id': 1, p + 'cls_token_id': 2, p + 'bos_token_id': 2, p + 'seperator_token_id': 3, p + 'eos_token_id': 3,
            p + 'padding_token_id': 0, p + 'mask_token_id': 4}


class B:
    """One model under construction."""
    def __init__(self, name, arch, L, E=64, vocab=spm_vocab, **keys):
        self.name, self.arch, self.L, self.E, self.t = name, arch, L, E, {}
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.kv = {'general.architecture': arch, 'general.name': 'tiny ' + name.replace('phi3', 'p3'), 'general.file_type': 1, 'general.license': 'cc0-1.0'}
        self.key(context_length=512, embedding_length=E, block_count=L, vocab_size=V)
        self.key(**keys)
        self.vocab = vocab

    def key(self, **keys):
        for k, v in keys.items():
            self.kv[f'{self.arch}.' + k.replace('__', '.')] = v

    def put(self, name, a):
        self.t[name] = a.astype(np.float16).astype(np.float32) if a.ndim > 1 and not gguf_io.keep_f32(name) else a.astype(np.float32)

    def mat(self, name, rows, cols, gain=1.0, bias=False, n=0):
        shape = (n, rows, cols) if n else (rows, cols)
        self.put(name + '.weight', self.rng.standard_normal(shape) * gain / np.sqrt(cols))
        if bias:
            self.put(name + '.bias', self.rng.standard_normal((n, rows) if n else (rows,)) * 0.2)

    def vec(self, name, n, mean=1.0, spread=0.2):
        self.put(name, mean + spread * self.rng.standard_normal(n))

    def norm(self, name, n=None, bias=False):
        self.vec(name + '.weight', n or self.E)
        if bias:
            self.vec(name + '.bias', n or self.E, 0.0)

    def embed(self, tied=True, out_bias=False, norm_bias=False, norm_name='output_norm', norm=True):
        scale = self.kv.get(f'{self.arch}.embedding_scale', 8.0 if self.arch.startswith('gemma') else 1.0)
        self.put('token_embd.weight', self.rng.standard_normal((V, self.E)) * (0.5 if tied else 1.0) / scale)
        if norm:
            self.norm(norm_name, bias=norm_bias)
        if not tied:
            self.mat('output', V, self.E, 1.5, out_bias)

    def attn(self, l, H, K, hd, bias='', hv=None, fused=False, qk=None, qk_bias=False, out=None, sinks=False, q2=False):
        p, hv = f'blk.{l}.', hv or hd
        if fused:
            self.mat(p + 'attn_qkv', H * hd + K * hd + K * hv, self.E, 1.4, 'qkv' in bias)
        else:
            self.mat(p + 'attn_q', H * hd * (2 if q2 else 1), self.E, 1.6, 'q' in bias)
            self.mat(p + 'attn_k', K * hd, self.E, 1.6, 'k' in bias)
            self.mat(p + 'attn_v', K * hv, self.E, 1.0, 'v' in bias)
        if qk == 'head':
            self.norm(p + 'attn_q_norm', hd), self.norm(p + 'attn_k_norm', hd)
        elif qk == 'full':
            self.norm(p + 'attn_q_norm', H * hd, qk_bias), self.norm(p + 'attn_k_norm', K * hd, qk_bias)
        elif qk == 'heads':
            self.put(p + 'attn_q_norm.weight', 1 + 0.2 * self.rng.standard_normal((H, hd)))
            self.put(p + 'attn_k_norm.weight', 1 + 0.2 * self.rng.standard_normal((K, hd)))
        self.mat(p + 'attn_output', self.E, H * hv, 1.0, 'o' in bias)
        if sinks:
            self.vec(p + 'attn_sinks.weight', H, 0.5, 1.0)

    def ffn(self, l, F, gate=True, bias='', suffix='', fused=False):
        p = f'blk.{l}.'
        if gate and not fused:
            self.mat(p + 'ffn_gate' + suffix, F, self.E, 1.3, 'g' in bias)
        self.mat(p + 'ffn_up' + suffix, 2 * F if fused else F, self.E, 1.3, 'u' in bias)
        self.mat(p + 'ffn_down' + suffix, self.E, F, 1.0, 'd' in bias)

    def moe(self, l, n, F, bias=False, gate=True, prob_bias=False, fused=False, E=None):
        p, E = f'blk.{l}.', E or self.E
        self.mat(p + 'ffn_gate_inp', n, self.E, 2.0, bias)
        if prob_bias:
            self.vec(p + 'exp_probs_b.bias', n, 0.0, 0.3)
        if fused:
            self.mat(p + 'ffn_gate_up_exps', 2 * F, E, 1.3, False, n)
        else:
            if gate:
                self.mat(p + 'ffn_gate_exps', F, E, 1.3, bias, n)
            self.mat(p + 'ffn_up_exps', F, E, 1.3, bias, n)
        self.mat(p + 'ffn_down_exps', E, F, 1.3, bias, n)

    def norms(self, l, *names, bias=False):
        for n in names:
            self.norm(f'blk.{l}.{n}', bias=bias)

    def save(self, path, f32):
        kv = dict(self.kv)
        kv.update(self.vocab())
        gguf_io.write(path, kv, self.t, f32)


RMS = 'attention__layer_norm_rms_epsilon'
LN = 'attention__layer_norm_epsilon'
MODELS = {}


def model(f):
    MODELS[f.__name__.replace('_', '-')] = f
    return f


def heads(H, K, hd=None, hv=None, rot=None):
    d = dict(attention__head_count=H, attention__head_count_kv=K)
    if hd:
        d.update(attention__key_length=hd, attention__value_length=hv or hd)
    if rot:
        d.update(rope__dimension_count=rot)
    return d


def llama_like(name, arch, L=2, H=4, K=2, hd=16, F=64, tied=False, bias='', extra_norms=('attn_norm', 'ffn_norm'), eps=RMS, qk=None, fused_qkv=False,
               gate=True, fused_up=False, fbias='', ln=False, rot=None, out_bias=False, norm=True, vocab=spm_vocab, **keys):
    b = B(name, arch, L, **{eps: 1e-5}, **heads(H, K, hd if hd * H != 64 or arch == 'glm4' else None, rot=rot or hd), feed_forward_length=F, vocab=vocab, **keys)
    b.embed(tied, out_bias, ln, norm=norm)
    for l in range(L):
        b.norms(l, *extra_norms, bias=ln)
        b.attn(l, H, K, hd, bias, qk=qk, fused=fused_qkv)
        if F:
            b.ffn(l, F, gate, fbias, fused=fused_up)
    return b


SANDWICH = ('attn_norm', 'post_attention_norm', 'ffn_norm', 'post_ffw_norm')


# ---- llama family and its scalings
@model
def llama_yarn():
    return llama_like('llama-yarn', 'llama', rope__freq_base=10000.0, rope__scaling__type='yarn', rope__scaling__factor=4.0,
                      rope__scaling__original_context_length=32, rope__scaling__yarn_beta_fast=32.0)


@model
def llama_linear():
    return llama_like('llama-linear', 'llama', rope__scaling__type='linear', rope__scaling__factor=2.5, tied=True)


@model
def llama3():
    b = llama_like('llama3', 'llama', hd=32, rope__freq_base=5e5, vocab=functools.partial(bpe_vocab, 'llama-bpe'))
    b.put('rope_freqs.weight', np.repeat([1.0, 1.8, 4.5, 8.0], [8, 2, 2, 4]))
    return b


@model
def mixtral():
    b = llama_like('mixtral', 'llama', F=0, rope__freq_base=1e6)
    b.key(feed_forward_length=64, expert_count=4, expert_used_count=2)
    for l in range(b.L):
        b.moe(l, 4, 64)
    return b


@model
def llama_bias():
    return llama_like('llama-bias', 'llama', bias='qkvo', fbias='gud', hd=32)


@model
def mistral3():
    return llama_like('mistral3', 'mistral3', hd=32, rope__freq_base=1e6, rope__scaling__type='yarn', rope__scaling__factor=16.0,
                      rope__scaling__original_context_length=32, rope__scaling__yarn_beta_fast=32.0, rope__scaling__yarn_beta_slow=1.0,
                      rope__scaling__yarn_log_multiplier=1.0, attention__temperature_scale=0.1)


@model
def llama4():
    b = B('llama4', 'llama4', 4, **{RMS: 1e-5}, **heads(4, 2, rot=16), feed_forward_length=64, expert_feed_forward_length=32, expert_count=4,
          expert_used_count=1, interleave_moe_layer_step=2, rope__freq_base=5e5)
    b.embed()
    for l in range(4):
        b.norms(l, 'attn_norm', 'ffn_norm')
        b.attn(l, 4, 2, 16)
        if l % 2:
            b.moe(l, 4, 32), b.ffn(l, 32, suffix='_shexp')
        else:
            b.ffn(l, 64)
    return b


@model
def smollm3():
    return llama_like('smollm3', 'smollm3', 4, tied=True, rope__freq_base=5e6)


@model
def ernie4_5():
    return llama_like('ernie4-5', 'ernie4_5', hd=32, tied=True, rope__freq_base=5e5)


@model
def ernie4_5_moe():
    b = B('ernie4-5-moe', 'ernie4_5-moe', 2, **{RMS: 1e-5}, **heads(4, 2, 32, rot=32), feed_forward_length=64, expert_feed_forward_length=32, expert_count=4,
          expert_used_count=3, expert_shared_feed_forward_length=64, interleave_moe_layer_step=1, leading_dense_block_count=1, rope__freq_base=5e5)
    b.embed(True)
    for l in range(b.L):
        b.norms(l, 'attn_norm', 'ffn_norm')
        b.attn(l, 4, 2, 32)
        if l:
            b.moe(l, 4, 32, prob_bias=True), b.ffn(l, 64, suffix='_shexp')
        else:
            b.ffn(l, 64)
    return b


# ---- qwen
@model
def qwen2():
    return llama_like('qwen2', 'qwen2', bias='qkv', tied=True, rope__freq_base=1e6, vocab=functools.partial(bpe_vocab, 'qwen2'))


@model
def qwen3():
    return llama_like('qwen3', 'qwen3', hd=32, qk='head', tied=True, rope__freq_base=1e6, vocab=functools.partial(bpe_vocab, 'qwen2'))


@model
def qwen2moe():
    b = B('qwen2moe', 'qwen2moe', 2, **{RMS: 1e-6}, **heads(4, 2, rot=16), feed_forward_length=64, expert_feed_forward_length=32,
          expert_shared_feed_forward_length=64, expert_count=4, expert_used_count=2, rope__freq_base=1e6)
    b.embed(False)
    for l in range(b.L):
        b.norms(l, 'attn_norm', 'ffn_norm')
        b.attn(l, 4, 2, 16, 'qkv')
        b.moe(l, 4, 32), b.ffn(l, 64, suffix='_shexp')
        b.vec(f'blk.{l}.ffn_gate_inp_shexp.weight', 64, 0.0, 0.2)
    return b


@model
def qwen3moe():
    b = B('qwen3moe', 'qwen3moe', 2, **{RMS: 1e-6}, **heads(4, 2, 32, rot=32), feed_forward_length=64, expert_feed_forward_length=32, expert_count=8,
          expert_used_count=3, rope__freq_base=1e6)
    b.embed()
    for l in range(b.L):
        b.norms(l, 'attn_norm', 'ffn_norm')
        b.attn(l, 4, 2, 32, qk='head'), b.moe(l, 8, 32)
    return b


@model
def qwen3vl():
    return llama_like('qwen3vl', 'qwen3vl', hd=32, qk='head', tied=True, rope__freq_base=5e6, rope__dimension_sections=('i32', [6, 5, 5, 0]), n_deepstack_layers=3)


@model
def qwen2vl():
    return llama_like('qwen2vl', 'qwen2vl', bias='qkv', tied=True, rope__freq_base=1e6, rope__dimension_sections=('i32', [2, 3, 3, 0]))


def delta(b, l, S, Hk, Hv, ba):
    p = f'blk.{l}.'
    b.mat(p + 'attn_qkv', 2 * Hk * S + Hv * S, b.E, 1.5), b.mat(p + 'attn_gate', Hv * S, b.E, 1.5)
    b.put(p + 'ssm_conv1d.weight', b.rng.standard_normal((2 * Hk * S + Hv * S, 4)) * 0.6)
    if ba:
        b.mat(p + 'ssm_ba', 2 * Hv, b.E, 1.5)
    else:
        b.mat(p + 'ssm_beta', Hv, b.E, 1.5), b.mat(p + 'ssm_alpha', Hv, b.E, 1.5)
    b.vec(p + 'ssm_dt.bias', Hv, 0.0, 0.7)
    b.put(p + 'ssm_a', -np.exp(b.rng.standard_normal(Hv) * 0.7 - 1.5))
    b.norm(p + 'ssm_norm', S)
    b.mat(p + 'ssm_out', b.E, Hv * S)


def hybrid_qwen(name, arch, experts, ba, sections=None):
    b = B(name, arch, 2, **{RMS: 1e-6}, **heads(4, 2, 32, rot=16), feed_forward_length=64, rope__freq_base=1e7, full_attention_interval=2,
          ssm__conv_kernel=4, ssm__inner_size=64, ssm__state_size=16, ssm__time_step_rank=4, ssm__group_count=2)
    if experts:
        b.key(expert_count=4, expert_used_count=2, expert_feed_forward_length=32, expert_shared_feed_forward_length=32)
    if sections:
        b.key(rope__dimension_sections=('i32', sections))
    b.embed()
    for l in range(b.L):
        b.norms(l, 'attn_norm', 'post_attention_norm')
        if l == 1:
            b.attn(l, 4, 2, 32, qk='head', q2=True)
        else:
            delta(b, l, 16, 2, 4, ba)
        if experts:
            b.moe(l, 4, 32, fused=arch == 'qwen35moe'), b.ffn(l, 32, suffix='_shexp')
            b.vec(f'blk.{l}.ffn_gate_inp_shexp.weight', 64, 0.0, 0.2)
        else:
            b.ffn(l, 64)
    return b


@model
def qwen3next():
    return hybrid_qwen('qwen3next', 'qwen3next', True, True)


@model
def qwen35():
    return hybrid_qwen('qwen35', 'qwen35', False, False, [3, 3, 2, 0])


@model
def qwen35moe():
    return hybrid_qwen('qwen35moe', 'qwen35moe', True, False, [3, 3, 2, 0])


# ---- gemma
@model
def gemma():
    return llama_like('gemma', 'gemma', K=1, hd=32, tied=True, eps=RMS)


@model
def gemma2():
    return llama_like('gemma2', 'gemma2', 4, hd=32, tied=True, extra_norms=SANDWICH, rope__freq_base=10000.0, attention__sliding_window=16, attn_logit_softcapping=50.0,
                      final_logit_softcapping=30.0)


@model
def gemma3():
    return llama_like('gemma3', 'gemma3', 7, K=1, hd=32, tied=True, extra_norms=SANDWICH, qk='head', rope__freq_base=1e6, attention__sliding_window=16)


def gemma4_base(name, L, kv, pattern, **keys):
    b = B(name, 'gemma4', L, **{RMS: 1e-6}, attention__head_count=4, attention__head_count_kv=('i32', kv), attention__key_length=32,
          attention__value_length=32, attention__key_length_swa=16, attention__value_length_swa=16, rope__dimension_count=32, rope__dimension_count_swa=16,
          rope__freq_base=1e6, rope__freq_base_swa=1e4, attention__sliding_window=16,
          attention__sliding_window_pattern=('bool', pattern), final_logit_softcapping=4.0, **keys)
    b.embed(True)
    b.put('rope_freqs.weight', np.array([1.0] * 4 + [1e30] * 12))
    return b


def gemma4_layer(b, l, swa, F, v=True, kv=True):
    b.norms(l, *SANDWICH)
    hd, K = (16, 2) if swa else (32, 1)
    b.attn(l, 4, K, hd, qk='head')
    drop = [] if kv else ['attn_k.weight', 'attn_v.weight', 'attn_k_norm.weight']
    for n in drop + ([] if v else ['attn_v.weight']):
        b.t.pop(f'blk.{l}.{n}', None)
    b.ffn(l, F)
    b.vec(f'blk.{l}.layer_output_scale.weight', 1, 0.9, 0.1)


@model
def gemma4():
    b = gemma4_base('gemma4', 6, [2, 2, 2, 1, 2, 1], [True, True, True, False, True, False], feed_forward_length=('i32', [64, 64, 64, 64, 96, 96]), embedding_length_per_layer_input=16, attention__shared_kv_layers=2)
    b.put('per_layer_token_embd.weight', b.rng.standard_normal((V, 16 * 6)) * 0.5)
    b.mat('per_layer_model_proj', 16 * 6, 64, 4.0), b.norm('per_layer_proj_norm', 16)
    for l in range(6):
        gemma4_layer(b, l, l not in (3, 5), 64 if l < 4 else 96, kv=l < 4)
        b.mat(f'blk.{l}.inp_gate', 16, 64), b.mat(f'blk.{l}.proj', 64, 16), b.norm(f'blk.{l}.post_norm')
    return b


@model
def gemma4_moe():
    b = gemma4_base('gemma4-moe', 3, [2, 2, 1], [True, True, False], feed_forward_length=64, embedding_length_per_layer_input=0, expert_count=4, expert_used_count=2, expert_feed_forward_length=32)
    for l in range(3):
        gemma4_layer(b, l, l != 2, 64, v=l != 2)
        b.norms(l, 'pre_ffw_norm_2', 'post_ffw_norm_1', 'post_ffw_norm_2')
        b.moe(l, 4, 32, fused=True)
        b.vec(f'blk.{l}.ffn_gate_inp.scale', 64, 6.0, 1.0), b.vec(f'blk.{l}.ffn_down_exps.scale', 4)
    return b


# ---- phi
@model
def phi2():
    return llama_like('phi2', 'phi2', K=4, eps=LN, ln=True, bias='qkvo', fbias='ud', gate=False, rot=8, out_bias=True, extra_norms=('attn_norm',))


@model
def phi3():
    return llama_like('phi3', 'phi3', K=4, fused_qkv=True, fused_up=True, rope__freq_base=10000.0, rope__scaling__original_context_length=512)


@model
def phi3_longrope():
    b = llama_like('phi3-longrope', 'phi3', K=2, fused_qkv=True, fused_up=True, rot=12, rope__scaling__type='longrope', rope__scaling__attn_factor=1.19,
                   rope__scaling__original_context_length=256, tied=True)
    b.put('rope_factors_short.weight', np.linspace(1.0, 1.3, 6)), b.put('rope_factors_long.weight', np.linspace(1.0, 20.0, 6))
    return b


# ---- gpt-oss
@model
def gpt_oss():
    b = B('gpt-oss', 'gpt-oss', 2, **{RMS: 1e-5}, **heads(4, 2, 32, rot=32), feed_forward_length=32, expert_feed_forward_length=32, expert_count=4,
          expert_used_count=2, attention__sliding_window=16, rope__freq_base=150000.0, rope__scaling__type='yarn', rope__scaling__factor=8.0,
          rope__scaling__original_context_length=32)
    b.embed(False)
    for l in range(2):
        b.norms(l, 'attn_norm', 'post_attention_norm')
        b.attn(l, 4, 2, 32, 'qkvo', sinks=True), b.moe(l, 4, 32, True)
        b.t[f'blk.{l}.ffn_gate_exps.weight'] *= 4
        b.put(f'blk.{l}.ffn_gate_exps.weight', b.t[f'blk.{l}.ffn_gate_exps.weight'])
    return b


# ---- granite
def granite_keys():
    return dict(embedding_scale=12.0, residual_scale=0.22, attention__scale=0.09, logit_scale=0.25)


@model
def granite():
    b = llama_like('granite', 'granite', tied=True, **granite_keys())
    return b


@model
def granitemoe():
    b = llama_like('granitemoe', 'granitemoe', F=0, tied=True, **granite_keys())
    b.key(feed_forward_length=32, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=32)
    for l in range(b.L):
        b.moe(l, 4, 32), b.ffn(l, 32, suffix='_shexp')
    return b


def mamba2_layer(b, l, D, S, H, G):
    p, W = f'blk.{l}.', D + 2 * G * S
    b.mat(p + 'ssm_in', D + W + H, b.E, 1.5)
    b.put(p + 'ssm_conv1d.weight', b.rng.standard_normal((W, 4)) * 0.6), b.vec(p + 'ssm_conv1d.bias', W, 0.0)
    b.vec(p + 'ssm_dt.bias', H, 0.0, 0.7)
    b.put(p + 'ssm_a', -np.exp(b.rng.standard_normal((H, 1)) * 0.7 - 1.0)), b.put(p + 'ssm_d', 1 + 0.3 * b.rng.standard_normal((H, 1)))
    b.put(p + 'ssm_norm.weight', 1 + 0.2 * b.rng.standard_normal((G, D // G)))
    b.mat(p + 'ssm_out', b.E, D)


SSM = dict(ssm__conv_kernel=4, ssm__inner_size=128, ssm__state_size=16, ssm__time_step_rank=8, ssm__group_count=2)


@model
def granitehybrid():
    b = B('granitehybrid', 'granitehybrid', 3, **{RMS: 1e-5}, attention__head_count=4, attention__head_count_kv=('i32', [0, 2, 0]), feed_forward_length=32,
          rope__dimension_count=16, rope__scaling__finetuned=False, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=32, **SSM, **granite_keys())
    b.embed(True)
    for l in range(3):
        b.norms(l, 'attn_norm', 'ffn_norm')
        b.attn(l, 4, 2, 16) if l == 1 else mamba2_layer(b, l, 128, 16, 8, 2)
        b.moe(l, 4, 32), b.ffn(l, 32, suffix='_shexp')
    return b


# ---- olmo
@model
def olmo2():
    return llama_like('olmo2', 'olmo2', extra_norms=('post_attention_norm', 'post_ffw_norm'), qk='full', rope__freq_base=5e5)


@model
def olmo3():
    return llama_like('olmo3', 'olmo2', 4, extra_norms=('post_attention_norm', 'post_ffw_norm'), qk='full', rope__freq_base=5e5, attention__sliding_window=16,
                      rope__scaling__type='yarn', rope__scaling__factor=8.0, rope__scaling__original_context_length=32)


@model
def olmoe():
    b = llama_like('olmoe', 'olmoe', F=0, K=4, qk='full')
    b.key(feed_forward_length=32, expert_count=8, expert_used_count=3)
    for l in range(b.L):
        b.moe(l, 8, 32)
    return b


# ---- deepseek
def deepseek(name, split, q_lora, lead=1, shared=2, **keys):
    H, R, rope, nope, hv = 4, 32, 16, 24, 20
    d = heads(H, 1, R + rope, R) if split else heads(H, H, nope + rope, hv)
    if split:
        d.update(attention__key_length_mla=nope + rope, attention__value_length_mla=hv)
    b = B(name, 'deepseek2', 2, **{RMS: 1e-6}, **d, rope__dimension_count=rope, feed_forward_length=64, expert_feed_forward_length=32, expert_shared_count=shared,
          leading_dense_block_count=lead, attention__kv_lora_rank=R, attention__q_lora_rank=q_lora, **keys)
    b.embed()
    for l in range(b.L):
        p = f'blk.{l}.'
        b.norms(l, 'attn_norm', 'ffn_norm')
        if q_lora:
            b.mat(p + 'attn_q_a', q_lora, 64), b.norm(p + 'attn_q_a_norm', q_lora), b.mat(p + 'attn_q_b', H * (nope + rope), q_lora, 1.6)
        else:
            b.mat(p + 'attn_q', H * (nope + rope), 64, 1.6)
        b.mat(p + 'attn_kv_a_mqa', R + rope, 64, 1.6), b.norm(p + 'attn_kv_a_norm', R)
        if split:
            b.mat(p + 'attn_k_b', R, nope, 1.0, False, H), b.mat(p + 'attn_v_b', hv, R, 1.0, False, H)
        else:
            b.mat(p + 'attn_kv_b', H * (nope + hv), R)
        b.mat(p + 'attn_output', 64, H * hv)
        if l < lead:
            b.ffn(l, 64)
        else:
            n = keys['expert_count']
            b.moe(l, n, 32, prob_bias=keys.get('expert_gating_func') == 2), b.ffn(l, 32 * shared, suffix='_shexp')
    return b


def ds_yarn(mul):
    return dict(rope__scaling__type='yarn', rope__scaling__factor=8.0, rope__scaling__original_context_length=32, rope__scaling__yarn_log_multiplier=mul)


@model
def deepseek2_lite():
    return deepseek('deepseek2-lite', True, 0, expert_count=4, expert_used_count=2, expert_gating_func=1, expert_weights_scale=1.5, expert_weights_norm=False, **ds_yarn(0.0707))


@model
def deepseek2_v3():
    return deepseek('deepseek2-v3', True, 24, shared=1, expert_count=8, expert_used_count=3, expert_gating_func=2, expert_weights_scale=2.5, expert_weights_norm=True,
                    expert_group_count=4, expert_group_used_count=2, **ds_yarn(0.1))


@model
def deepseek2_legacy():
    return deepseek('deepseek2-legacy', False, 24, expert_count=4, expert_used_count=2, expert_weights_scale=1.0)


# ---- glm
@model
def glm4():
    return llama_like('glm4', 'glm4', bias='qkv', fused_up=True, extra_norms=SANDWICH, rot=8)


@model
def glm4moe():
    b = B('glm4moe', 'glm4moe', 3, **{RMS: 1e-5}, **heads(4, 2, 32, rot=16), feed_forward_length=64, expert_feed_forward_length=32, expert_count=4, expert_used_count=2,
          expert_shared_count=1, leading_dense_block_count=1, expert_gating_func=2, expert_weights_scale=1.5, expert_weights_norm=True, nextn_predict_layers=1)
    b.embed()
    for l in range(b.L):
        b.norms(l, 'attn_norm', 'post_attention_norm')
        b.attn(l, 4, 2, 32, 'qkv', qk='head')
        if l:
            b.moe(l, 4, 32, prob_bias=True), b.ffn(l, 32, suffix='_shexp')
        else:
            b.ffn(l, 64)
    b.mat('blk.2.nextn.eh_proj', 64, 128), b.norm('blk.2.nextn.enorm'), b.norm('blk.2.nextn.hnorm')
    b.mat('blk.2.nextn.shared_head_head', V, 64), b.norm('blk.2.nextn.shared_head_norm'), b.mat('blk.2.nextn.embed_tokens', V, 64)
    return b


# ---- lfm2
def lfm(name, arch, lead, experts):
    kv = [0, 2, 0, 2]
    b = B(name, arch, 4, **{RMS: 1e-5}, attention__head_count=4, attention__head_count_kv=('i32', kv), feed_forward_length=64, shortconv__l_cache=3,
          rope__dimension_count=16, rope__freq_base=1e6)
    if experts:
        b.key(expert_count=4, expert_used_count=2, expert_feed_forward_length=32, expert_gating_func=2, leading_dense_block_count=lead)
    b.embed(True, norm_name='token_embd_norm')
    for l in range(4):
        b.norms(l, 'attn_norm', 'ffn_norm')
        p = f'blk.{l}.shortconv.'
        if kv[l]:
            b.attn(l, 4, 2, 16, qk='head')
        else:
            b.put(p + 'conv.weight', b.rng.standard_normal((64, 3)) * 0.7), b.mat(p + 'in_proj', 192, 64, 1.3), b.mat(p + 'out_proj', 64, 64)
        if experts and l >= lead:
            b.moe(l, 4, 32, prob_bias=True)
        else:
            b.ffn(l, 64)
    return b


@model
def lfm2():
    return lfm('lfm2', 'lfm2', 4, False)


@model
def lfm2moe():
    return lfm('lfm2moe', 'lfm2moe', 2, True)


# ---- others
@model
def starcoder2():
    return llama_like('starcoder2', 'starcoder2', eps=LN, ln=True, bias='qkvo', fbias='ud', gate=False, tied=True)


@model
def gpt2():
    b = llama_like('gpt2', 'gpt2', K=4, eps=LN, ln=True, bias='qkvo', fbias='ud', gate=False, fused_qkv=True, tied=True)
    b.put('position_embd.weight', b.rng.standard_normal((512, 64)) * 0.2)
    return b


@model
def falcon():
    b = llama_like('falcon', 'falcon', K=2, eps=LN, ln=True, gate=False, fused_qkv=True, extra_norms=('attn_norm', 'attn_norm_2'))
    return b


@model
def stablelm():
    return llama_like('stablelm', 'stablelm', eps=LN, ln=True, bias='qkv', rot=8)


@model
def command_r():
    return llama_like('command-r', 'command-r', eps=LN, tied=True, extra_norms=('attn_norm',), logit_scale=0.25, rope__freq_base=8e6)


@model
def cohere2():
    return llama_like('cohere2', 'cohere2', 4, eps=LN, tied=True, extra_norms=('attn_norm',), logit_scale=0.25, attention__sliding_window=16)


@model
def nemotron():
    return llama_like('nemotron', 'nemotron', eps=LN, ln=True, gate=False, rot=8)


def nemotron_hybrid(name, arch, experts):
    kv, ff = [0, 0, 2, 0], [0, 64, 0, 64]
    b = B(name, arch, 4, **{RMS: 1e-5}, attention__head_count=4, attention__head_count_kv=('i32', kv), feed_forward_length=('i32', ff), **SSM)
    b.key(attention__key_length=16, attention__value_length=16)
    if experts:
        b.key(expert_count=4, expert_used_count=2, expert_feed_forward_length=32, expert_shared_feed_forward_length=64, expert_shared_count=1, expert_weights_norm=True,
              expert_weights_scale=2.5, moe_latent_size=32)
    b.embed()
    for l in range(4):
        b.norms(l, 'attn_norm')
        if kv[l]:
            b.attn(l, 4, 2, 16)
        elif not ff[l]:
            mamba2_layer(b, l, 128, 16, 8, 2)
        elif experts:
            b.moe(l, 4, 32, gate=False, prob_bias=True, E=32), b.ffn(l, 64, False, suffix='_shexp')
            b.mat(f'blk.{l}.ffn_latent_down', 32, 64), b.mat(f'blk.{l}.ffn_latent_up', 64, 32)
        else:
            b.ffn(l, 64, False)
    return b


@model
def nemotron_h():
    return nemotron_hybrid('nemotron-h', 'nemotron_h', False)


@model
def nemotron_h_moe():
    return nemotron_hybrid('nemotron-h-moe', 'nemotron_h_moe', True)


@model
def mamba():
    b = B('mamba', 'mamba', 2, **{RMS: 1e-5}, attention__head_count=0, feed_forward_length=0, ssm__conv_kernel=4, ssm__inner_size=128, ssm__state_size=16, ssm__time_step_rank=4)
    b.embed(True)
    for l in range(b.L):
        p = f'blk.{l}.'
        b.norms(l, 'attn_norm')
        b.mat(p + 'ssm_in', 256, 64, 1.5), b.put(p + 'ssm_conv1d.weight', b.rng.standard_normal((128, 4)) * 0.6), b.vec(p + 'ssm_conv1d.bias', 128, 0.0)
        b.mat(p + 'ssm_x', 4 + 32, 128, 1.5), b.mat(p + 'ssm_dt', 128, 4, 1.0, True)
        b.put(p + 'ssm_a', -np.exp(b.rng.standard_normal((128, 16)) * 0.7)), b.put(p + 'ssm_d', 1 + 0.3 * b.rng.standard_normal(128))
        b.mat(p + 'ssm_out', 64, 128)
    return b


@model
def mamba2():
    b = B('mamba2', 'mamba2', 2, **{RMS: 1e-5}, attention__head_count=0, feed_forward_length=0, **SSM)
    b.embed(True)
    for l in range(b.L):
        b.norms(l, 'attn_norm')
        mamba2_layer(b, l, 128, 16, 8, 2)
    return b


@model
def seed_oss():
    return llama_like('seed-oss', 'seed_oss', hd=32, bias='qkv', extra_norms=('attn_norm', 'post_attention_norm'), rope__freq_base=1e7)


@model
def exaone4():
    return llama_like('exaone4', 'exaone4', extra_norms=('post_attention_norm', 'post_ffw_norm'), qk='head', tied=True, rope__freq_base=1e6)


@model
def hunyuan_dense():
    return llama_like('hunyuan-dense', 'hunyuan-dense', hd=32, qk='head', tied=True)


@model
def hunyuan_moe():
    b = llama_like('hunyuan-moe', 'hunyuan-moe', hd=32, F=0, qk='head', tied=True)
    b.key(feed_forward_length=32, expert_feed_forward_length=32, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=64)
    for l in range(b.L):
        b.moe(l, 4, 32), b.ffn(l, 64, suffix='_shexp')
    return b


# ---- embeddings
def bert_like(name, arch, pool, bias, gate, fbias, fused=False, L=2, qk=None, pos=False, types=True, moe_every=0):
    b = B(name, arch, L, vocab=wpm_vocab, **{LN: 1e-12}, attention__head_count=4, feed_forward_length=64, attention__causal=False, pooling_type=pool)
    b.embed(True, norm=False)
    b.norm('token_embd_norm', bias=True)
    if types:
        b.put('token_types.weight', b.rng.standard_normal((2, 64)) * 0.2)
    if pos:
        b.put('position_embd.weight', b.rng.standard_normal((512, 64)) * 0.2)
    for l in range(L):
        b.attn(l, 4, 4, 16, bias, fused=fused, qk=qk, qk_bias=True)
        b.norms(l, 'attn_output_norm', 'layer_output_norm', bias=True)
        if moe_every and l % moe_every == 1:
            b.moe(l, 4, 64, gate=False)
        else:
            b.ffn(l, 64, gate, fbias)
    return b


@model
def bert():
    return bert_like('bert', 'bert', 2, 'qkvo', False, 'ud', pos=True)


@model
def nomic_bert():
    b = bert_like('nomic-bert', 'nomic-bert', 1, '', True, '', fused=True)
    b.key(rope__freq_base=1000.0)
    return b


@model
def nomic_bert_moe():
    b = bert_like('nomic-bert-moe', 'nomic-bert-moe', 1, 'qkvo', False, 'ud', fused=True, moe_every=2)
    b.key(rope__freq_base=10000.0, moe_every_n_layers=2, expert_count=4, expert_used_count=2)
    return b


@model
def jina_bert_v2():
    return bert_like('jina-bert-v2', 'jina-bert-v2', 1, 'qkvo', True, 'd', qk='full')


@model
def modern_bert():
    b = B('modern-bert', 'modern-bert', 4, vocab=wpm_vocab, **{LN: 1e-5}, attention__head_count=4, feed_forward_length=64, attention__causal=False, pooling_type=1,
          attention__sliding_window=16, attention__sliding_window_pattern=3, rope__freq_base=160000.0, rope__freq_base_swa=10000.0)
    b.embed(True)
    b.norm('token_embd_norm')
    for l in range(4):
        b.norms(l, *(['ffn_norm'] if l == 0 else ['attn_norm', 'ffn_norm']))
        b.attn(l, 4, 4, 16, fused=True), b.ffn(l, 64, fused=True)
    return b


@model
def gemma_embedding():
    b = llama_like('gemma-embedding', 'gemma-embedding', 3, K=1, hd=32, tied=True, extra_norms=SANDWICH, qk='head', F=32, pooling_type=1, attention__sliding_window=16,
                   attention__sliding_window_pattern=3, attention__causal=False, rope__freq_base=1e6, dense_2_feat_in=64, dense_2_feat_out=96, dense_3_feat_in=96, dense_3_feat_out=64)
    b.mat('dense_2', 96, 64), b.mat('dense_3', 64, 96)
    return b


@model
def qwen3_embedding():
    return llama_like('qwen3-embedding', 'qwen3', hd=32, qk='head', tied=True, pooling_type=3, rope__freq_base=1e6)


EMBEDDINGS = {'bert', 'nomic-bert', 'nomic-bert-moe', 'jina-bert-v2', 'modern-bert', 'gemma-embedding', 'qwen3-embedding'}

if __name__ == '__main__':
    args = [a for a in sys.argv[1:] if a != '--f32']
    for name in args[1:] or MODELS:
        MODELS[name]().save(os.path.join(args[0], f'tiny-{name}-{"f32" if "--f32" in sys.argv else "f16"}.gguf'), '--f32' in sys.argv)
