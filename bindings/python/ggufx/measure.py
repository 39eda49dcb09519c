"""How well a model predicts a text, and how far it is from another one.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from contextlib import ExitStack
from ctypes import POINTER, byref, c_char_p, c_void_p, cast, sizeof
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Union

from . import _callbacks, _raw
from ._buffers import I32, Ints, address, numbers
from ._callbacks import Following, Progress
from ._facts import Path, made, path_bytes
from ._handle import Object, Turns
from ._library import lib
from .file import _whole
from .ids import MeasureFlags


@dataclass(frozen=True)
class Measure:
    """Perplexity of a text and KL divergence from saved logits; the members of the latter are 0
    without saved logits. Members that end in error are standard errors: ggufx/measure.h."""

    flags: MeasureFlags
    perplexity: float
    standard_error: float
    n_chunks: int
    n_tokens: int
    n_scored: int
    base_perplexity: float
    base_error: float
    log_ratio: float
    log_ratio_error: float
    kl: float
    kl_error: float
    kl_median: float
    kl_median_error: float
    kl_99: float
    kl_99_error: float
    kl_max: float
    same_top: float
    same_top_error: float
    rms_dp: float
    rms_dp_error: float


def _measure(o: _raw.ggufx_measure_facts) -> Measure:
    return made(Measure, o, flags=MeasureFlags(o.flags))


class Measures(Object):
    """Measurements of a session."""

    _turns: Turns

    def measure(self, tokens: Ints, n_context: int, bos: int = -1, *, stride: int = 0,
                save: Union[Path, BinaryIO, None] = None,
                base: Union[Path, BinaryIO, None] = None,
                report: Callable[[Measure], bool | None] | None = None,
                progress: Progress | None = None) -> Measure:
        """Score tokens in chunks of n_context, bos (unless -1) first in each. The logits of all
        predictions go to `save`; those of `base`, saved the same way, are compared. report
        receives the running result, and returns False to stop."""
        of, kept = numbers(tokens, I32, "tokens"), []
        o = _raw.ggufx_measure_options(
            struct_size=sizeof(_raw.ggufx_measure_options), stride=stride)

        def path(name: Path) -> int | None:
            kept.append(c_char_p(path_bytes(name)))
            return cast(kept[-1], c_void_p).value

        def write(part: int, data: bytes) -> None:
            save.write(data)  # type: ignore[union-attr]

        def read(to: int, n: int) -> None:
            _callbacks.fill(to, n, _whole(base, n), "the stream")  # type: ignore[arg-type]

        def one(at: int) -> bool | None:
            running = cast(at, POINTER(_raw.ggufx_measure_facts)).contents
            return report(_measure(running)) if report is not None else None

        own: tuple[Callable[..., Any], ...] = (write, read, one)
        out, e = _raw.ggufx_measure_facts(struct_size=sizeof(_raw.ggufx_measure_facts)), \
            _raw.ggufx_error()
        with ExitStack() as stack:
            stack.enter_context(self._turns.changing)
            calls = [stack.enter_context(Following(on=on)) for on in own]
            calls.append(stack.enter_context(Following(progress)))
            if hasattr(save, "write"):
                o.write, o.write_user = _callbacks.WRITE, calls[0].user
            elif save is not None:
                o.save_path = path(save)
            if hasattr(base, "read"):
                o.read, o.read_user = _callbacks.READ, calls[1].user
            elif base is not None:
                o.base_path = path(base)
            if report is not None:
                o.report, o.report_user = _callbacks.POINTER, calls[2].user
            o.progress = calls[3].progress
            status = lib.ggufx_measure(byref(out), self._handle, address(of), of.size, n_context,
                                       bos, byref(o), byref(e))
            for call in calls:
                if call.caught is not None:
                    call.end(status, e)
            calls[3].end(status, e)
        return _measure(out)
