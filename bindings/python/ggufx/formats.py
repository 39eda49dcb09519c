"""Tensor and KV types by number and name.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_uint32, c_uint64
from dataclasses import dataclass

from . import _raw
from ._facts import asked, made, terminated, text
from ._library import lib
from .errors import check
from .ids import KvType, TensorType, TypeFlags


@dataclass(frozen=True)
class TypeInfo:
    """Facts of a tensor or KV type."""

    name: str
    id: int
    flags: TypeFlags
    block_values: int
    block_bytes: int


def type_info(type: int) -> TypeInfo:
    """Describe a tensor type."""
    o = asked(_raw.ggufx_type_facts, lib.ggufx_type_info, type)
    return made(TypeInfo, o, name=text(o.name), flags=TypeFlags(o.flags))


def kv_type_info(type: int) -> TypeInfo:
    """Describe a KV type."""
    o = asked(_raw.ggufx_kv_type_facts, lib.ggufx_kv_type_info, type)
    return made(TypeInfo, o, name=text(o.name), flags=TypeFlags(o.flags))


def tensor_type(name: str) -> TensorType:
    """Find a tensor type by name, without regard to case."""
    o, e = c_uint32(), _raw.ggufx_error()
    check(lib.ggufx_type_from_name(byref(o), terminated(name), byref(e)), e)
    return TensorType(o.value)


def kv_type(name: str) -> KvType:
    """Find a KV type by name, without regard to case."""
    o, e = c_uint32(), _raw.ggufx_error()
    check(lib.ggufx_kv_type_from_name(byref(o), terminated(name), byref(e)), e)
    return KvType(o.value)


def row_bytes(type: int, n: int) -> int:
    """Bytes of a row of n values."""
    o, e = c_uint64(), _raw.ggufx_error()
    check(lib.ggufx_row_bytes(byref(o), type, n, byref(e)), e)
    return o.value
