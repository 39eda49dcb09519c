"""Keys and values of a file.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Any, Iterator, Mapping

from . import _safe
from .ids import ValueType

_SIGNED = (ValueType.I8, ValueType.I16, ValueType.I32, ValueType.I64)
_FLOATS = (ValueType.F32, ValueType.F64)


class Metas(Mapping[str, Any]):
    """The keys of a file in its order, and their values as Python has them: an int, float, bool or str; of an
    array of numbers a NumPy array, of others a list. File.meta_at(File.meta_find(key)) tells its type."""

    def __init__(self, file: _safe.File) -> None:
        self._file = file

    def __len__(self) -> int:
        return self._file.meta_count()

    def __iter__(self) -> Iterator[str]:
        return (self._file.meta_at(i).key or "" for i in range(len(self)))

    def __getitem__(self, key: str) -> Any:
        return self._value(self._file.meta_find(key))

    def _value(self, index: int) -> Any:
        facts, file = self._file.meta_at(index), self._file
        if facts.type == ValueType.STRING:
            return file.meta_string(index)
        if facts.type == ValueType.BOOL:
            return file.meta_bool(index)
        if facts.type != ValueType.ARRAY:
            return (file.meta_f64 if facts.type in _FLOATS else
                    file.meta_i64 if facts.type in _SIGNED else file.meta_u64)(index)
        if facts.element_type == ValueType.STRING:
            return [file.meta_array_string(index, i) for i in range(facts.count)]
        if facts.element_type == ValueType.ARRAY:
            return [self._value(file.meta_array_nested(index, i)) for i in range(facts.count)]
        numbers = (file.meta_array_f64 if facts.element_type in _FLOATS else
                   file.meta_array_i64 if facts.element_type in _SIGNED else file.meta_array_u64)(index, 0, facts.count)
        return numbers.astype(bool) if facts.element_type == ValueType.BOOL else numbers
