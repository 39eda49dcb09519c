"""Editing the keys and names of a file where it stands.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_int32, sizeof
from dataclasses import dataclass

from . import _raw
from ._callbacks import Following, Progress
from ._facts import Path, asked, made, path_bytes
from ._handle import Object, Turns
from ._library import lib
from .errors import check
from .file import File
from .ids import EditFlags
from .runtime import Runtime


@dataclass(frozen=True)
class EditInfo:
    """Result of an edit."""

    in_place: bool
    """Tensor data stay where they are, unread and unwritten."""
    n_bytes: int
    reserve_bytes: int
    n_written: int


class Editing(Object):
    """Edits of an existing file by a writer."""

    _turns: Turns

    def plan_edit(self, file: File, flags: int = EditFlags(0)) -> EditInfo:
        """Describes the effect of edit: the writer holds the new content."""
        o = _raw.ggufx_edit_options(struct_size=sizeof(_raw.ggufx_edit_options), flags=flags)
        with self._turns.reading:
            facts = asked(_raw.ggufx_edit_facts, lib.ggufx_edit_info, self._handle, file._handle,
                          byref(o))
        return made(EditInfo, facts, in_place=facts.in_place != 0)

    def edit(self, file: File, path: Path, flags: int = EditFlags(0),
             progress: Progress | None = None) -> EditInfo:
        """Make the edit to the file at the path, from which `file` was opened: in place if the
        keys fit, else as a new file."""
        o = _raw.ggufx_edit_options(struct_size=sizeof(_raw.ggufx_edit_options), flags=flags)
        facts = _raw.ggufx_edit_facts(struct_size=sizeof(_raw.ggufx_edit_facts))
        e, name = _raw.ggufx_error(), path_bytes(path)
        with self._turns.changing, Following(progress) as call:
            o.progress = call.progress
            call.end(lib.ggufx_edit_write(byref(facts), self._handle, file._handle, name, byref(o),
                                          byref(e)), e)
        return made(EditInfo, facts, in_place=facts.in_place != 0)


def recover_edit(rt: Runtime, path: Path) -> bool:
    """Finish an in-place edit interrupted by a crash; False: there was none."""
    o, e = c_int32(), _raw.ggufx_error()
    check(lib.ggufx_edit_recover(byref(o), rt._handle, path_bytes(path), byref(e)), e)
    return o.value != 0
