# LoRA adapters of every shape that trainers write. Valid ones give the logits of a model with merged weights; others
# are refused with a message.
# SPDX-License-Identifier: MIT
import struct

import tool
from reference_case import floats
from tool import MODEL, gguf, string

WIDTH, N_VOCAB = 256, 1024  # the demo model, whose output is token_embd
Q, EMBD = "blk.0.attn_q.weight", "token_embd.weight"
KEYS = {"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora"}


def values(n, seed):
    return [((i * 7919 + seed * 104729) % 2003 - 1001) / 2500 for i in range(n)]


def adapter(pairs, keys=None, alpha=None, f16=False, more=(), entries=()):
    """Returns an adapter file. pairs: {name: (dimensions of lora_a, of lora_b)}, either None if it is missing; more:
    (name, dimensions); keys: strings in place of KEYS; entries: (key, type, bytes) after them."""
    entries, tensors = [*((k, 8, string(v)) for k, v in {**KEYS, **(keys or {})}.items()), *entries], []
    if alpha is not None:
        entries.append(("adapter.lora.alpha", 6, struct.pack("<f", alpha)))
    for name, (a, b) in pairs.items():
        tensors += [(name + end, ne) for end, ne in ((".lora_a", a), (".lora_b", b)) if ne]
    directory, data = [], b""
    for name, ne in [*tensors, *more]:
        directory.append((name, ne, 1 if f16 else 0, len(data)))
        content = struct.pack("<%d%s" % (ne[0] * (ne[1] if len(ne) > 1 else 1), "e" if f16 else "f"),
                              *values(ne[0] * (ne[1] if len(ne) > 1 else 1), len(directory)))
        data += content + bytes(-len(content) % 32)
    return gguf(entries, directory, data)


def added(rank, n_rows, scale, a_of, b_of):
    """Returns scale * sum over k of a_of(row, column, k) * b_of(...), row after row."""
    return [scale * sum(a_of(row, column, k) * b_of(row, column, k) for k in range(rank))
            for row in range(n_rows) for column in range(WIDTH)]


class Shapes(tool.Case):
    def setUp(self):
        super().setUp()
        self.base = self.path("base.gguf")
        self.ok("quantize", MODEL, self.base, "-q", "--allow-requantize", "--type", "F32")

    def logits(self, model, *args):
        out = self.path("logits")
        self.ok("run", model, "--tokens", "1,5,9,200", "-n", 0, "--logits", out, "--force", *args)
        with open(out, "rb") as file:
            return floats(file.read())

    def changed(self, name, difference):
        """Writes the base model with a sum added to the weights of a tensor."""
        at = next(t["abs_offset"] for t in self.json("info", self.base, "--tensors")["tensors"] if t["name"] == name)
        with open(self.base, "rb") as file:
            data = bytearray(file.read())
        form = "<%df" % len(difference)
        weights = struct.unpack_from(form, data, at)
        struct.pack_into(form, data, at, *(w + d for w, d in zip(weights, difference, strict=True)))
        return self.path("changed.gguf", bytes(data))

    def check_fits(self, content, name, difference, scale=""):
        """Asserts that the adapter gives the logits of the changed base, far from those of the base."""
        lora = self.path("lora.gguf", content)
        got, plain = self.logits(self.base, "--lora", lora + scale), self.logits(self.base)
        want = self.logits(self.changed(name, difference))
        far = lambda x: max(abs(a - b) for a, b in zip(x, want, strict=True))
        self.assertGreater(far(plain), 0.05)
        self.assertLess(far(got), 1e-3 * far(plain) + 1e-4)

    def matrix(self, rank, scale, n_rows=WIDTH, first=1, rounded=lambda x: x):
        a, b = list(map(rounded, values(WIDTH * rank, first))), list(map(rounded, values(rank * n_rows, first + 1)))
        return added(rank, n_rows, scale, lambda _, column, k: a[k * WIDTH + column], lambda row, _, k: b[row * rank + k])

    def test_matrices_of_any_rank_with_and_without_alpha(self):
        for rank, alpha, given, scale in ((1, None, "", 1), (3, None, "", 1), (4, 16.0, "", 4), (4, 16.0, ":-0.5", -2),
                                          (4, 0.0, "", 1), (8, 4.0, "", 0.5)):
            pair = {Q: ((WIDTH, rank), (rank, WIDTH))}
            self.check_fits(adapter(pair, alpha=alpha), Q, self.matrix(rank, scale), given)

    def test_f16_adapters(self):
        half = lambda x: struct.unpack("<e", struct.pack("<e", x))[0]
        self.check_fits(adapter({Q: ((WIDTH, 4), (4, WIDTH))}, f16=True), Q, self.matrix(4, 1, rounded=half))

    def test_embeddings_in_both_layouts(self):
        rank = 2
        self.check_fits(adapter({EMBD: ((WIDTH, rank), (rank, N_VOCAB))}), EMBD, self.matrix(rank, 1, N_VOCAB))
        a, b = values(rank * N_VOCAB, 1), values(rank * WIDTH, 2)  # a row of lora_a per token
        difference = added(rank, N_VOCAB, 1, lambda row, _, k: a[row * rank + k], lambda _, column, k: b[column * rank + k])
        self.check_fits(adapter({EMBD: ((rank, N_VOCAB), (rank, WIDTH))}), EMBD, difference)

    def test_what_does_not_fit_is_refused_by_name(self):
        pair = {Q: ((WIDTH, 4), (4, WIDTH))}
        def no_matrix(name):
            return f'tensor "{name}" of the adapter is neither ".lora_a" nor ".lora_b" of a matrix: adapters with it are not supported'

        def unknown(name):
            return f'tensor "{name}.lora_a" of the adapter belongs to no tensor of the model'

        def unfit(name, a, b, ne):
            return f'tensors "{name}.lora_a" {[*a, 1]} and ".lora_b" {[*b, 1]} do not fit the model\'s, which is {[*ne, 1]}'

        def odd_pair(name, a, b, ne):
            return adapter({name: (a, b)}), unfit(name, a, b, ne)

        invoked = ("adapter.alora.invocation_tokens", 9, struct.pack("<IQ2I", 4, 2, 5, 6))
        cases = {
            4: [*((adapter(pair, more=[(name, ne)]), no_matrix(name)) for name, ne in (
                    ("rope_freqs.weight", (16,)), ("blk.0.attn_norm.weight", (WIDTH,)), ("blk.0.attn_q.bias", (WIDTH,)),
                    (Q + ".lora_magnitude", (WIDTH,)))),
                (adapter(pair, entries=[invoked]), "the adapter takes effect after certain tokens only "
                                                   "(key adapter.alora.invocation_tokens), which is not supported"),
                (adapter(pair, {"general.type": "model"}), 'key general.type of the adapter is "model", not "adapter"')],
            3: [(adapter({Q: ((WIDTH, 4), None)}), f'tensor "{Q}.lora_a" of the adapter has no "{Q}.lora_b" beside it'),
                (adapter({Q: (None, (4, WIDTH))}), f'tensor "{Q}.lora_b" of the adapter has no "{Q}.lora_a" beside it'),
                (adapter({}), 'the adapter has no tensors of name "NAME.lora_a"')],
            1: [(adapter({"output.weight": ((WIDTH, 4), (4, N_VOCAB))}), unknown("output.weight")),
                (adapter({"blk.9.attn_q.weight": pair[Q]}), unknown("blk.9.attn_q.weight")),
                (adapter(pair, {"general.architecture": "qwen3"}),
                 'key general.architecture of the adapter is "qwen3", not "llama"'),
                odd_pair(Q, (WIDTH, 4), (4, 128), (WIDTH, WIDTH)), odd_pair(Q, (WIDTH, 4), (8, WIDTH), (WIDTH, WIDTH)),
                odd_pair(EMBD, (N_VOCAB, 4), (4, WIDTH), (WIDTH, N_VOCAB))],
        }
        n = 0
        for code, refusals in cases.items():
            for content, text in refusals:
                self.assertEqual(self.fails(code, "run", MODEL, "-p", "a", "--lora", self.path("lora.gguf", content)),
                                 'ggufx: adapter "%s": %s\n' % (self.path("lora.gguf"), text))
                n += 1
        self.assertEqual(n, 15)


if __name__ == "__main__":
    tool.main()
