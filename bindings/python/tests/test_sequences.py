"""Many conversations in one session.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import io
from typing import Any

import numpy as np

import ggufx
from ggufx import (
    DecodeFlags, TensorType, MatmulFlags, Model, Session, Status)

from .common import Case, Floats, item

SAME = MatmulFlags.BATCH_INVARIANT
A, B = [1, 300, 301, 302, 303], [1, 400, 401]


class ManySequences(Case):
    def session(self, **named: Any) -> Session:
        asked: dict[str, Any] = dict(n_context=128, n_sequences=3, matmul_flags=SAME)
        return Session(Model(self.rt, self.demo()), **{**asked, **named})

    def alone(self, ids: list[int]) -> Floats:
        """Logits of each token in a separate session."""
        return self.session(n_sequences=1).decode([item(0, ids, DecodeFlags.ALL_LOGITS)])

    def test_sequences_have_the_bits_of_sessions_of_their_own(self) -> None:
        a, b, session = self.alone(A), self.alone(B), self.session()
        self.assertFalse(np.array_equal(a[-1], b[-1]))
        first = [item(2, B[:2], 0), item(0, A[:3], DecodeFlags.ALL_LOGITS)]
        self.same(session.decode(first), a[:3])
        out = np.empty((2, 1024), np.float32)
        rest = [item(0, np.array(A[3:], np.int32)), item(2, B[2:])]
        self.assertIs(session.decode(rest, logits=out), out)
        self.same(out, [a[-1], b[-1]])
        self.assertEqual([session.length(i) for i in range(4)], [5, 0, 3, 0])
        self.assertEqual((len(session), session.info.n_tokens), (5, 8))

    def test_sequences_are_copied_and_cut(self) -> None:
        session, a = self.session(), self.alone(A)
        prompt = [1, *range(300, 370)]
        long = self.alone([*prompt, 9])
        session.decode([item(0, prompt, DecodeFlags.CHECKPOINT)])
        before = session.info
        self.assertEqual((before.n_tokens, before.n_shared_pages), (71, 0))
        session.copy(0, 1, len(prompt))
        after = session.info
        self.assertEqual(after.n_tokens, 142)
        self.assertGreater(after.n_shared_pages, 0)
        self.assertGreaterEqual(after.cache_bytes, before.n_pages)
        self.same(session.decode([item(i, [9]) for i in (1, 0)]), [long[-1]] * 2)
        session.truncate(1, 0)
        self.assertEqual([session.length(i) for i in (0, 1)], [72, 0])
        session.decode([item(1, A, 0)])
        session.truncate(1, 3)
        self.same(session.decode([item(1, A[3:])]), a[-1:])
        self.fails(Status.STATE, session.copy, 0, 1, 2)
        self.fails(Status.ARGUMENT, session.copy, 0, 3, 2)
        self.fails(Status.ARGUMENT, session.copy, 0, 2, 73)
        self.fails(Status.ARGUMENT, session.truncate, 1, 6)
        self.fails(Status.ARGUMENT, session.truncate, 2**32, 0)

    def test_sequences_are_saved_and_loaded(self) -> None:
        session, data = self.session(), io.BytesIO()
        session.decode([item(1, A[:4], 0), item(0, B)])
        session.save(1, data.write)
        session.save_file(1, self.folder / "one")
        whole = data.getvalue()
        self.assertEqual((self.folder / "one").read_bytes(), whole)
        other, want = self.session(), self.alone(A)[-1:]
        other.load(2, io.BytesIO(whole).read)
        self.same(other.decode([item(2, A[4:])]), want)
        other.load_file(0, self.folder / "one")
        self.same(other.decode([item(0, A[4:])]), want)
        lengths = [5, 0, 5]
        with self.assertRaises(EOFError):
            other.load(2, io.BytesIO(whole[:-1]).read)
        self.fails(Status.MAGIC, other.load, 2, io.BytesIO(bytes(4096)).read)
        changed = bytes([*whole[:-1], whole[-1] ^ 1])
        self.fails(Status.CHECKSUM, other.load, 2, io.BytesIO(changed).read)
        self.fails(Status.ARGUMENT, other.load, 3, io.BytesIO(whole).read)
        self.assertEqual(self.fails(Status.IO, other.load_file, 0, self.folder / "none").system_error, 2)
        self.fails(Status.MISMATCH, self.session(type_k=TensorType.F32).load, 0, io.BytesIO(whole).read)
        self.assertEqual([other.length(i) for i in range(3)], lengths)

        class Broken(io.BytesIO):
            def read(self, n: int | None = -1, /) -> bytes:
                raise OSError(5, "broken")

            def write(self, data: Any, /) -> int:
                raise OSError(28, "full")
        with self.assertRaisesRegex(OSError, "broken"):
            other.load(0, Broken().read)
        with self.assertRaisesRegex(OSError, "full"):
            session.save(1, Broken().write)
        self.fails(Status.ARGUMENT, session.save, 3, io.BytesIO().write)

    def test_a_closed_session_says_so(self) -> None:
        session = self.session()

        def close(done: int, total: int) -> None:
            session.close()
        self.assertEqual(session.decode([item(1, A)], progress=close).shape, (1, 1024))
        for call in (lambda: session.decode([item(1, A)]),
                     lambda: session.length(1), lambda: session.info,
                     lambda: session.truncate(1, 0),
                     lambda: session.copy(1, 0, 1), lambda: session.save(0, io.BytesIO().write),
                     lambda: session.load(0, io.BytesIO().read)):
            self.assertRaises(ggufx.ClosedError, call)
