# A minimal GGUF v3 writer and reader for the tiny models: F16, F32 and Q8_0 tensors. CC0-1.0.
import struct
import numpy as np

U32, I32, F32, BOOL, STR, ARR = 4, 5, 6, 7, 8, 9
ALIGN = 32


def _str(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack('<Q', len(b)) + b


def _value(v):
    if isinstance(v, bool):
        return BOOL, struct.pack('<B', v)
    if isinstance(v, int):
        return (U32, struct.pack('<I', v)) if v >= 0 else (I32, struct.pack('<i', v))
    if isinstance(v, float):
        return F32, struct.pack('<f', v)
    if isinstance(v, (str, bytes)):
        return STR, _str(v)
    kind, items = v  # ('u8' | 'u32' | 'i32' | 'f32' | 'bool' | 'str', list)
    t, f = {'u8': (0, '<B'), 'u32': (U32, '<I'), 'i32': (I32, '<i'), 'f32': (F32, '<f'), 'bool': (BOOL, '<B'), 'str': (STR, None)}[kind]
    body = b''.join(_str(i) if f is None else struct.pack(f, i) for i in items)
    return ARR, struct.pack('<IQ', t, len(items)) + body


def write(path, kv, tensors, f32=False):
    """Writes tensors: name -> numpy array, C order, last axis = ne0. One-dimensional ones stay F32."""
    out = bytearray(b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(kv)))
    for k, v in kv.items():
        t, b = _value(v)
        out += _str(k) + struct.pack('<I', t) + b
    offset, blobs = 0, []
    for name, a in tensors.items():
        half = a.ndim > 1 and not f32 and not keep_f32(name)
        blob = a.astype(np.float16 if half else np.float32).tobytes()
        out += _str(name) + struct.pack('<I', a.ndim)
        out += b''.join(struct.pack('<Q', n) for n in reversed(a.shape))
        out += struct.pack('<IQ', 1 if half else 0, offset)
        blobs.append(blob)
        offset += (len(blob) + ALIGN - 1) // ALIGN * ALIGN
    out += b'\0' * (-len(out) % ALIGN)
    for blob in blobs:
        out += blob + b'\0' * (-len(blob) % ALIGN)
    with open(path, 'wb') as f:
        f.write(out)


def keep_f32(name):
    """Returns whether real converters keep the two-dimensional tensor in F32."""
    return any(s in name for s in ('ssm_conv1d', 'ssm_a', 'ssm_d', 'ssm_norm', 'shortconv.conv', 'ffn_gate_inp',
                                   'token_types', 'position_embd', '_exps.bias', 'altup_', 'per_layer_proj_norm'))


def read(path):
    d = open(path, 'rb').read()
    p = 8

    def take(f):
        nonlocal p
        v = struct.unpack_from('<' + f, d, p)
        p += struct.calcsize('<' + f)
        return v[0]

    def text():
        nonlocal p
        n = take('Q')
        p += n
        return d[p - n:p]

    def value(t):
        if t == STR:
            return text()
        if t == ARR:
            e, n = take('I'), take('Q')
            return [value(e) for _ in range(n)]
        return take({0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: 'B', 10: 'Q', 11: 'q', 12: 'd'}[t])

    n_t, n_kv = take('Q'), take('Q')
    kv = {}
    for _ in range(n_kv):
        k = text().decode()
        kv[k] = value(take('I'))
    infos = []
    for _ in range(n_t):
        name, nd = text().decode(), take('I')
        ne = [take('Q') for _ in range(nd)]
        infos.append((name, ne, take('I'), take('Q')))
    base = (p + ALIGN - 1) // ALIGN * ALIGN
    out = {}
    for name, ne, t, off in infos:
        n = int(np.prod(ne)) if ne else 1
        if t == 8:  # Q8_0: blocks of an f16 scale and 32 signed codes
            blocks = np.frombuffer(d, np.dtype([('scale', '<f2'), ('codes', 'i1', 32)]), n // 32, base + off)
            a = blocks['scale'].astype(np.float64)[:, None] * blocks['codes']
        else:
            a = np.frombuffer(d, {0: '<f4', 1: '<f2'}[t], n, base + off)
        out[name] = a.astype(np.float64).reshape(list(reversed(ne)))
    return kv, out
