"""Objects that are lists: the entries of an importance matrix, the tensors of a quantization.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Callable, Iterator

from . import _safe
from ._safe import ImatrixEntry, JobTensor
from .errors import NotFoundError
from .ids import JOB_BY_RECIPE


def _index(i: int, n: int, what: str) -> int:
    if not -n <= i < n:
        raise IndexError(f"{what} {i} of {n}")
    return i % n


class Imatrix(_safe.Imatrix):
    """Entries in the order of their file, by number and by name."""

    def __len__(self) -> int:
        return self.info.n_entries

    def __iter__(self) -> Iterator[ImatrixEntry]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find(name) >= 0
        except NotFoundError:
            return False

    def __getitem__(self, which: int | str) -> ImatrixEntry:
        """An entry; its sums and values are [n_matrices][n_columns], one row after the other."""
        return self.at(self.find(which) if isinstance(which, str) else _index(which, len(self), "entry"))


class Quantizer(_safe.Quantizer):
    """A quantization that is planned, runs, or has run; keeps its file. len(), [] and iteration are
    over its tensors, in the order they are written."""

    def __len__(self) -> int:
        return self.info.n_tensors

    def __getitem__(self, i: int) -> JobTensor:
        return self.tensor_at(_index(i, len(self), "tensor"))

    def __iter__(self) -> Iterator[JobTensor]:
        return (self[i] for i in range(len(self)))

    def choose(self, rule: Callable[[JobTensor], int | None]) -> None:
        """Set per-tensor overrides by a function; None leaves a tensor to the recipe. Replaces
        earlier overrides; after a failure the plan is as it was."""
        chosen = [rule(tensor) for tensor in self]
        self.set_types([JOB_BY_RECIPE if type is None else int(type) for type in chosen])
