#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts a train.cpp checkpoint and a tokenizer.py vocabulary into a GGUF file (stdlib only).

usage: convert.py --model model.bin --vocab tokenizer.json --out tiny-stories-f32.gguf [--type f32|f16]
"""
import argparse
import array
import pathlib
import struct
import sys

from tokenizer import Tokenizer

MAGIC = 0x314D5447                      # "GTM1", as train.cpp writes it
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5       # GGUF value types
TENSOR_F32, TENSOR_F16 = 0, 1                               # ggml tensor types
ALIGNMENT = 32
TEMPLATE = pathlib.Path(__file__).resolve().parent / 'chat.jinja'
EPSILON, ROPE_BASE = 1e-5, 10000.0      # fixed in train.cpp


def read_checkpoint(path):
    """Returns (shape dict, list of (GGUF name, [inner .. outer] sizes, float array)), in file order."""
    with open(path, 'rb') as file:
        keys = ('magic', 'vocab', 'dim', 'layers', 'heads', 'kv_heads', 'head_dim', 'ffn', 'ctx')
        shape = dict(zip(keys, struct.unpack('<9i', file.read(36))))
        if shape['magic'] != MAGIC:
            sys.exit('not a checkpoint of train.cpp: ' + path)
        dim, ffn = shape['dim'], shape['ffn']
        q, kv = shape['heads'] * shape['head_dim'], shape['kv_heads'] * shape['head_dim']
        plan = [('token_embd', [dim, shape['vocab']])]
        for layer in range(shape['layers']):
            plan += [('blk.%d.%s' % (layer, name), size) for name, size in (
                ('attn_norm', [dim]), ('attn_q', [dim, q]), ('attn_k', [dim, kv]),
                ('attn_v', [dim, kv]), ('attn_output', [q, dim]), ('ffn_norm', [dim]),
                ('ffn_gate', [dim, ffn]), ('ffn_up', [dim, ffn]), ('ffn_down', [ffn, dim]))]
        plan.append(('output_norm', [dim]))
        tensors = []
        for name, size in plan:
            count = size[0] * (size[1] if len(size) > 1 else 1)
            values = array.array('f')
            values.fromfile(file, count)
            if sys.byteorder == 'big':
                values.byteswap()
            tensors.append((name + '.weight', size, values))
        if file.read(1):
            sys.exit('the checkpoint is longer than its shape says')
    return shape, tensors


def text(value):
    data = value.encode('utf-8')
    return struct.pack('<Q', len(data)) + data


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: '<I', F32: '<f', BOOL: '<?', I32: '<i'}[kind], value)


def entry(key, kind, value):
    return text(key) + struct.pack('<I', kind) + scalar(kind, value)


def list_entry(key, kind, values):
    head = text(key) + struct.pack('<IIQ', ARRAY, kind, len(values))
    return head + b''.join(scalar(kind, v) for v in values)


def metadata(shape, table, file_type):
    arch = 'llama.'
    return [
        entry('general.architecture', STRING, 'llama'),
        entry('general.type', STRING, 'model'),
        entry('general.name', STRING, 'ggufx tiny stories'),
        entry('general.size_label', STRING, '3.4M'),
        entry('general.license', STRING, 'CC0-1.0'),
        entry('general.description', STRING, 'Demo model of libggufx: short English stories for children, '
              'trained from scratch on text from a hand-written grammar'),
        list_entry('general.languages', STRING, ['en']),
        entry('general.file_type', U32, file_type),
        entry('general.quantization_version', U32, 2),
        entry(arch + 'vocab_size', U32, shape['vocab']),
        entry(arch + 'context_length', U32, shape['ctx']),
        entry(arch + 'embedding_length', U32, shape['dim']),
        entry(arch + 'block_count', U32, shape['layers']),
        entry(arch + 'feed_forward_length', U32, shape['ffn']),
        entry(arch + 'attention.head_count', U32, shape['heads']),
        entry(arch + 'attention.head_count_kv', U32, shape['kv_heads']),
        entry(arch + 'attention.key_length', U32, shape['head_dim']),
        entry(arch + 'attention.value_length', U32, shape['head_dim']),
        entry(arch + 'attention.layer_norm_rms_epsilon', F32, EPSILON),
        entry(arch + 'rope.dimension_count', U32, shape['head_dim']),
        entry(arch + 'rope.freq_base', F32, ROPE_BASE),
        entry('tokenizer.ggml.model', STRING, 'llama'),
        entry('tokenizer.ggml.pre', STRING, 'default'),
        list_entry('tokenizer.ggml.tokens', STRING, [row[0] for row in table]),
        list_entry('tokenizer.ggml.scores', F32, [row[1] for row in table]),
        list_entry('tokenizer.ggml.token_type', I32, [row[2] for row in table]),
        entry('tokenizer.ggml.bos_token_id', U32, 1),
        entry('tokenizer.ggml.eos_token_id', U32, 2),
        entry('tokenizer.ggml.unknown_token_id', U32, 0),
        entry('tokenizer.ggml.add_bos_token', BOOL, True),
        entry('tokenizer.ggml.add_eos_token', BOOL, False),
        entry('tokenizer.ggml.add_space_prefix', BOOL, True),
        entry('tokenizer.chat_template', STRING, TEMPLATE.read_text(encoding='utf-8')),
    ]


def pad(size):
    return -size % ALIGNMENT


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--model', required=True)
    ap.add_argument('--vocab', required=True)
    ap.add_argument('--out', required=True)
    ap.add_argument('--type', choices=('f32', 'f16'), default='f32')
    args = ap.parse_args()
    shape, tensors = read_checkpoint(args.model)
    table = Tokenizer.load(args.vocab).table()
    if len(table) != shape['vocab']:
        sys.exit('vocabulary and model differ in size')

    infos, blobs, offset = [], [], 0
    for name, size, values in tensors:
        # Vectors (the norms) stay in F32, as every GGUF reader expects.
        half = args.type == 'f16' and len(size) > 1
        blob = struct.pack('<%d%s' % (len(values), 'e' if half else 'f'), *values)
        infos.append(text(name) + struct.pack('<I%dQIQ' % len(size), len(size), *size,
                                              TENSOR_F16 if half else TENSOR_F32, offset))
        blobs.append(blob + bytes(pad(len(blob))))
        offset += len(blobs[-1])
    entries = metadata(shape, table, 1 if args.type == 'f16' else 0)
    head = b'GGUF' + struct.pack('<IQQ', 3, len(infos), len(entries)) + b''.join(entries + infos)
    with open(args.out, 'wb') as file:
        file.write(head + bytes(pad(len(head))))
        file.writelines(blobs)
    print('%s: %d tensors, %d bytes' % (args.out, len(infos), len(head) + pad(len(head)) + offset))


if __name__ == '__main__':
    main()
