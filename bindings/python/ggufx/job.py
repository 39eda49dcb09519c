"""Quantizing whole models: recipes, plans, runs.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, byref, c_char_p, c_double, c_uint32, c_void_p, cast, sizeof
from dataclasses import dataclass
from typing import Callable, Iterator

from . import _callbacks, _raw
from ._buffers import U32, address, numbers
from ._callbacks import Following, Progress
from ._facts import Path, asked, made, path_bytes, terminated, text
from ._handle import Handle, JobHandle, Object, Turns
from ._library import lib
from .errors import check
from .file import File
from .ids import JOB_BY_RECIPE, JobFlags, JobReason, JobRunFlags, TensorType
from .imatrix import Imatrix
from .runtime import Runtime


@dataclass(frozen=True)
class FileType:
    """A recipe of types for the tensors of a model: a value of general.file_type."""

    name: str
    file_type: int
    type: TensorType
    """That most tensors get."""

    @staticmethod
    def all() -> list[FileType]:
        """All recipes, most bits first."""
        return [FileType._at(i) for i in range(lib.ggufx_file_type_count())]

    @staticmethod
    def _at(i: int) -> FileType:
        o = asked(_raw.ggufx_file_type_facts, lib.ggufx_file_type_at, i)
        return made(FileType, o, name=text(o.name), type=TensorType(o.type))

    @staticmethod
    def from_name(name: str) -> FileType:
        """Find a recipe by name, without regard to case; "Q4_K" is Q4_K_M."""
        o, e = c_uint32(), _raw.ggufx_error()
        check(lib.ggufx_file_type_from_name(byref(o), terminated(name), byref(e)), e)
        return next(t for t in FileType.all() if t.file_type == o.value)


@dataclass
class QuantizerOptions:
    """Options of a quantization; the default is the recipe alone."""

    flags: JobFlags = JobFlags(0)
    output_type: TensorType | None = None
    """Type of output.weight; None: the recipe's."""
    embedding_type: TensorType | None = None
    """Type of token_embd.weight; None: the recipe's."""
    imatrix: Imatrix | None = None
    imatrix_name: str | None = None
    """For the key quantize.imatrix.file."""
    reserve_bytes: int = 0
    """Room for later edits."""

    def _filled(self) -> tuple[_raw.ggufx_job_options, object]:
        """C struct, and the data that it points to."""
        o = _raw.ggufx_job_options(struct_size=sizeof(_raw.ggufx_job_options), flags=self.flags,
                                   reserve_bytes=self.reserve_bytes)
        if self.output_type is not None:
            o.flags |= JobFlags.OUTPUT_TYPE
            o.output_type = self.output_type
        if self.embedding_type is not None:
            o.flags |= JobFlags.EMBEDDING_TYPE
            o.embedding_type = self.embedding_type
        matrix: Handle | None = None if self.imatrix is None else self.imatrix._handle
        if matrix is not None:
            o.imatrix = matrix.value
        name = None if self.imatrix_name is None else c_char_p(terminated(self.imatrix_name))
        if name is not None:
            o.imatrix_name = cast(name, c_void_p).value
        return o, (matrix, name)


@dataclass(frozen=True)
class QuantizerInfo:
    """Facts of a plan."""

    n_tensors: int
    n_parts: int
    n_values: int
    bytes_in: int
    bytes_out: int
    file_bytes: int
    n_fallbacks: int
    n_missing: int


@dataclass(frozen=True)
class PlannedTensor:
    """Planned quantization of one tensor."""

    name: str
    ne: tuple[int, ...]
    from_: TensorType
    """In the file."""
    to: TensorType
    """That it gets."""
    wanted: TensorType
    """Before a fallback."""
    reason: JobReason
    imatrix: int
    """1: weighted by an imatrix entry; 0: none is needed; negative: the entry is missing."""
    part: int
    bytes_in: int
    bytes_out: int
    rmse: float | None
    """From a run with JobRunFlags.MEASURE."""
    seconds: float
    """Result of the last run."""


def _planned(o: _raw.ggufx_job_tensor) -> PlannedTensor:
    return made(PlannedTensor, o, name=text(o.name, o.name_length), ne=tuple(o.ne)[: o.n_dims],
                from_=TensorType(o.from_), to=TensorType(o.to),
                wanted=TensorType(o.wanted), reason=JobReason(o.reason),
                rmse=None if o.rmse < 0 else o.rmse)


class Quantizer(Object):
    """A quantization that is planned, runs, or has run; keeps its file. len(), [] and iteration are
    over its tensors, in the order they are written."""

    def __init__(self, rt: Runtime, file: File, recipe: FileType,
                 options: QuantizerOptions | None = None) -> None:
        o, kept = (options or QuantizerOptions())._filled()
        own, e = JobHandle(), _raw.ggufx_error()
        check(lib.ggufx_job_quantize(byref(own), rt._handle, file._handle, recipe.file_type,
                                     byref(o), byref(e)), e)
        del kept
        self._own, self._turns = own, Turns()

    @property
    def info(self) -> QuantizerInfo:
        """Facts of the plan."""
        with self._turns.reading:
            o = asked(_raw.ggufx_job_facts, lib.ggufx_job_info, self._handle)
        return made(QuantizerInfo, o)

    def __len__(self) -> int:
        return self.info.n_tensors

    def __getitem__(self, i: int) -> PlannedTensor:
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"tensor {i} of {n}")
        own = self._handle  # keeps the name, also beside a close
        with self._turns.reading:
            return _planned(asked(_raw.ggufx_job_tensor, lib.ggufx_job_tensor_at, own, i % n))

    def __iter__(self) -> Iterator[PlannedTensor]:
        return (self[i] for i in range(len(self)))

    def choose(self, rule: Callable[[PlannedTensor], TensorType | None]) -> None:
        """Set per-tensor overrides by a function; None leaves a tensor to the recipe. Replaces
        earlier overrides; after a failure the plan is as it was."""
        chosen = [rule(t) for t in self]
        types = numbers([JOB_BY_RECIPE if t is None else int(t) for t in chosen], U32, "types")
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_job_set_types(self._handle, address(types), types.size, byref(e)), e)

    def measure(self, i: int, type: int, max_values: int = 0,
                progress: Progress | None = None) -> float:
        """Quantization error of a type for tensor i: the RMS error of up to max_values values
        (0: all)."""
        o, e = c_double(), _raw.ggufx_error()
        with self._turns.reading, Following(progress) as call:
            call.end(lib.ggufx_job_measure(byref(o), self._handle, i, type, max_values,
                                           call.progress, byref(e)), e)
        return o.value

    def run(self, path: Path, flags: int = JobRunFlags(0), *, shard: int = 0, n_shards: int = 0,
            tensor_done: Callable[[int, PlannedTensor], object] | None = None,
            progress: Progress | None = None) -> None:
        """Write the file, whole or not at all; with JobRunFlags.KEEP a cancelled run leaves
        temporary files, from which a run with JobRunFlags.RESUME continues. shard: number of
        this run, from 1, of n_shards that finish() ends. tensor_done receives each tensor
        that is written."""
        def done(index: int, at: int) -> None:
            if tensor_done is not None:
                tensor_done(index, _planned(cast(at, POINTER(_raw.ggufx_job_tensor)).contents))

        o = _raw.ggufx_job_run_options(
            struct_size=sizeof(_raw.ggufx_job_run_options), flags=flags, shard=shard,
            n_shards=n_shards, tensor_done=_callbacks.TENSOR)
        e, name = _raw.ggufx_error(), path_bytes(path)
        with self._turns.changing, Following(progress, done) as call:
            o.progress, o.user = call.progress, call.user
            call.end(lib.ggufx_job_run(self._handle, name, byref(o), byref(e)), e)

    def finish(self, path: Path, progress: Progress | None = None) -> None:
        """End the work of shards: check them, write the metadata, rename."""
        e, name = _raw.ggufx_error(), path_bytes(path)
        with self._turns.changing, Following(progress) as call:
            call.end(lib.ggufx_job_finish(self._handle, name, call.progress, byref(e)), e)
