# A model of one layer that generates a given text greedily, for any prompt. Each piece of the text is a token of its
# own, whose embedding selects the next one. For tests of the processing of model output.
# SPDX-License-Identifier: MIT
import array
import struct
import sys

from tool import gguf, string

NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
BOS, EOS = 1, 2


def floats(values):
    out = array.array("f", values)
    if sys.byteorder == "big":
        out.byteswap()
    return out.tobytes()


def strings(texts):
    return struct.pack("<IQ", 8, len(texts)) + b"".join(map(string, texts))


def numbers(kind, code, values):
    return struct.pack("<IQ", kind, len(values)) + struct.pack("<%d%s" % (len(values), code), *values)


def pieces(text, size=4):
    """Splits a text into pieces for a model."""
    return [text[i:i + size] for i in range(0, len(text), size)]


def scripted_model(script, template=None, control=(), user=(), ends=True, context=8192, other=(), keys=()):
    """Returns the bytes of a model that generates the pieces of `script`, then EOS if it ends. Pieces named in
    `control` or `user` are such tokens; `other` are control tokens that the model never generates. A repeated piece
    gets a second token."""
    n, width = len(script), 32 * (len(script) // 32 + 1)
    tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    ids = []

    def add(text, kind):
        tokens.append(text.encode().replace(b" ", "\u2581".encode()) if kind == NORMAL else text.encode())
        kinds.append(kind)
        return len(tokens) - 1

    for text in script:
        ids.append({"<s>": BOS, "</s>": EOS}.get(text) or
                   add(text, CONTROL if text in control else USER if text in user else NORMAL))
    for text in other:
        add(text, CONTROL)
    vocab = len(tokens)
    embeddings, output = array.array("f", bytes(4 * vocab * width)), array.array("f", bytes(4 * vocab * width))
    for token in range(vocab):
        embeddings[token * width] = 1  # after any other token the script starts
    for step, token in enumerate(ids):
        embeddings[token * width] = 0
        embeddings[token * width + step + 1] = 1
        output[token * width + step] = 1
    if ends:
        output[EOS * width + n] = 1
    u32, f32 = (lambda value: (4, struct.pack("<I", value))), (lambda value: (6, struct.pack("<f", value)))
    text = lambda value: (8, string(value))
    of = {"general.architecture": text("llama"), "general.name": text("script"), "llama.context_length": u32(context),
          "llama.embedding_length": u32(width), "llama.block_count": u32(1), "llama.feed_forward_length": u32(width),
          "llama.attention.head_count": u32(1), "llama.attention.head_count_kv": u32(1),
          "llama.attention.layer_norm_rms_epsilon": f32(1e-6), "llama.rope.dimension_count": u32(width),
          "llama.vocab_size": u32(vocab), "tokenizer.ggml.model": text("llama"), "tokenizer.ggml.pre": text("default"),
          "tokenizer.ggml.tokens": (9, strings(tokens)), "tokenizer.ggml.scores": (9, numbers(6, "f", [-1e6] * vocab)),
          "tokenizer.ggml.token_type": (9, numbers(5, "i", kinds)), "tokenizer.ggml.bos_token_id": u32(BOS),
          "tokenizer.ggml.eos_token_id": u32(EOS), "tokenizer.ggml.unknown_token_id": u32(0),
          "tokenizer.ggml.add_bos_token": (7, b"\0"), "tokenizer.ggml.add_space_prefix": (7, b"\0")}
    if template is not None:
        of["tokenizer.chat_template"] = text(template)
    of.update(keys)
    square, ones = bytes(4 * width * width), floats([1.0] * width)
    content = [("token_embd.weight", (width, vocab), floats(embeddings)), ("output_norm.weight", (width,), ones),
               ("output.weight", (width, vocab), floats(output)), ("blk.0.attn_norm.weight", (width,), ones),
               ("blk.0.ffn_norm.weight", (width,), ones)]
    content += [("blk.0.%s.weight" % name, (width, width), square)
                for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")]
    tensors, data = [], b""
    for name, shape, values in content:
        tensors.append((name, shape, 0, len(data)))
        data += values + bytes(-len(values) % 32)
    return gguf([(key, *value) for key, value in of.items()], tensors, data)
