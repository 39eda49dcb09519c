"""LoRA adapters and control vectors, made here with the writer.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import numpy as np

import ggufx
from ggufx import (
    ALL_SEQUENCES, Adapter, AdapterKind, AdapterUse, File, MatmulFlags, Model, Session,
    Status, Tensor, Writer)

from .common import Case, Floats, item

IDS, TARGET = [1, 300, 301, 302], "blk.0.attn_q.weight"


class Adapters(Case):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.demo()
        self.model = Model(self.rt, self.file)
        self.width = self.model.info.n_embedding
        rng = np.random.default_rng(1)
        self.a = rng.standard_normal((2, self.width)).astype(np.float32) / 16
        self.b = rng.standard_normal((self.width, 2)).astype(np.float32)

    def made(self, keys: dict[str, str], tensors: dict[str, Floats]) -> File:
        writer = Writer(self.rt)
        for key, value in keys.items():
            writer.set(key, value)
        for name, values in tensors.items():
            writer.add_tensor(Tensor.of(self.rt, values), name=name)
        path = self.folder / "adapter.gguf"
        writer.write(path)
        return File.open(self.rt, path)

    def lora(self) -> File:
        return self.made({"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora"},
                         {TARGET + ".lora_a": self.a, TARGET + ".lora_b": self.b})

    def control(self) -> File:
        return self.made({"general.architecture": "controlvector"},
                         {"direction.1": self.a[0] * 4, "direction.2": self.a[1] * 4})

    def logits(self, session: Session, sequence: int) -> Floats:
        return session.decode([item(sequence, IDS)])

    def test_sequences_have_their_own(self) -> None:
        lora, control = Adapter(self.model, self.lora()), Adapter(self.model, self.control(), last_layer=1)
        self.assertEqual((lora.info.kind, lora.info.n_targets, lora.info.rank), (AdapterKind.LORA, 1, 2))
        self.assertEqual((control.info.kind, control.info.n_targets), (AdapterKind.CONTROL, 1))
        session = Session(self.model, n_context=16, n_sequences=4, matmul_flags=MatmulFlags.BATCH_INVARIANT)
        session.set_adapters(1, [AdapterUse(lora, 1)])
        session.set_adapters(2, [AdapterUse(lora, 0.5), AdapterUse(control, 1)])
        rows = session.decode([item(i, IDS) for i in range(3)])
        self.assertEqual(len({row.tobytes() for row in rows}), 3)
        self.fails(Status.STATE, session.set_adapters, 1, [])
        self.fails(Status.STATE, session.set_adapters, ALL_SEQUENCES, [])
        self.fails(Status.MISMATCH, session.copy, 1, 3, 2)
        session.set_adapters(3, [AdapterUse(lora, 1)])
        session.copy(1, 3, 4)
        lora.close()
        session.truncate(1, 0)
        self.assertEqual(self.logits(session, 1).tobytes(), rows[1].tobytes())
        self.assertRaises(ggufx.ClosedError, lambda: lora.info)

    def test_rows_are_merged(self) -> None:
        lora = Adapter(self.model, self.lora())
        number = self.file.tensors.find(TARGET)
        self.assertTrue(lora.has_tensor(number))
        self.assertFalse(lora.has_tensor(number + 1))
        rows = np.ones((3, self.width), np.float32)
        lora.add_rows(rows, number, 5, 0.5)
        self.near(rows, 1 + 0.5 * self.b[5:8] @ self.a, 1e-5)
        self.fails(Status.ARGUMENT, lora.add_rows, rows, number, self.width - 2, 1)
        self.fails(Status.ARGUMENT, lora.add_rows, rows[0], number, 0, 1)
