"""What all generated classes have in common.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ast
import ctypes
import dataclasses
import pathlib
from typing import Any

import numpy as np

import ggufx
from ggufx import Adapter, File, Model, Session, Tokenizer, _raw, _safe
from ggufx._callbacks import Following
from ggufx._handle import CLASSES, KINDS, borrowed

from .common import Case, old_imatrix

# Members of structs in C that a field's value stands for, and those that are always 0.
DERIVED = ("n_", "user", "struct_size", "next", "reserved")
HELD = {"ggufx_kv_tokens": {"type"}, "ggufx_device_options": {"cache_load", "cache_store"},
        "ggufx_decode_options": {"logits", "n_logits", "hidden", "n_hidden", "attention"},
        "ggufx_model_options": {"group"}, "ggufx_chat_prompt_options": {"grammars"}}


class Generated(Case):
    def objects(self) -> dict[str, Any]:
        file = self.demo()
        model, tokenizer = Model(self.rt, file), Tokenizer(file)
        session, chat = Session(model), ggufx.ChatTemplate(self.rt, format="chatml")
        request = ggufx.ChatRequest(messages_json="[]")
        return {"File": file, "Model": model, "Tokenizer": tokenizer, "Session": session,
                "Generator": ggufx.Generator(session), "Grammar": ggufx.Grammar(self.rt, tokenizer, text='root ::= "a"'),
                "Imatrix": ggufx.Imatrix.open_memory(self.rt, old_imatrix()), "ChatTemplate": chat,
                "ChatPrompt": ggufx.ChatPrompt(chat=chat, tokenizer=tokenizer, request=request),
                "Sampler": ggufx.Sampler(self.rt, 8, 0), "Moments": ggufx.Moments(self.rt, 32),
                "Device": borrowed("ggufx_device", 4096, file._handle, file)}  # is never looked at

    def value(self, kind: str, objects: dict[str, Any]) -> Any:
        """Something for a field of this annotation."""
        kind = kind.removesuffix(" | None")
        simple: dict[str, Any] = {
            "int": 1, "float": 1.5, "bool": True, "Text": "text", "Path": "path", "Any": [1], "Ints": [1, 1],
            "Buffer": np.ones(2, np.float32), "Progress": lambda done, total: None, "Mapping[str, object]": {"a": 1}}
        if kind in simple:
            return simple[kind]
        if kind in objects:
            return objects[kind]
        if kind.startswith("Callable"):
            return lambda *arguments: None
        if kind.startswith("Sequence["):
            return [self.value(kind[len("Sequence["):-1], objects)] * 2
        named = getattr(_safe, kind)
        return self.made(named, objects) if dataclasses.is_dataclass(named) else named(1)

    def made(self, kind: Any, objects: dict[str, Any]) -> Any:
        values = {f.name: self.value(str(f.type), objects) for f in dataclasses.fields(kind)}
        if kind is _safe.KvOptions:
            values["rope_frequencies"] = np.ones(2)
        if kind is _safe.KvTokens:
            values.update(n_tokens=2, type=0)
        if kind is _safe.KvQueries:
            values["n_queries"] = 2
        if kind is _safe.MomentsInputs:
            values["n"] = 2
        if kind is _safe.EstimateOptions:
            values["n_ranks"] = 2
        return kind(**values)

    def test_every_field_of_a_user_goes_into_its_struct(self) -> None:
        objects, seen = self.objects(), 0
        for kind in vars(_safe).values():
            if not hasattr(kind, "_fill") or kind.__name__ in ("DeviceOptions", "AdapterUse"):
                continue
            name = kind._fill.__annotations__["o"].removeprefix("_raw.")
            with self.subTest(name), Following() as call:
                value = self.made(kind, objects)
                o = call.made(getattr(_raw, name), value)
                names = {f.name for f in dataclasses.fields(value)}
                if hasattr(o, "struct_size"):
                    self.assertEqual(o.struct_size, ctypes.sizeof(o))
                for member, _ in o._fields_:
                    if member in HELD.get(name, ()):
                        continue
                    if member in names:
                        self.assertTrue(getattr(o, member), member)
                    elif not member.startswith(DERIVED) and not member.endswith(("_length", "_user", "_size")):
                        self.assertEqual((member, getattr(o, member)), ("flags", 0))  # none is defined
                    elif member.endswith("_length") or (member.startswith("n_") and member not in names):
                        self.assertTrue(getattr(o, member), member)
                seen += 1
        self.assertGreater(seen, 25)

    def test_every_call_has_the_parameters_of_c(self) -> None:
        tree = ast.parse(pathlib.Path(_safe.__file__).read_text(encoding="utf-8"))
        names = set()
        for call in ast.walk(tree):
            function = call.func if isinstance(call, ast.Call) else None
            if isinstance(call, ast.Call) and isinstance(function, ast.Attribute) and \
                    isinstance(function.value, ast.Name) and function.value.id == "lib":
                names.add(function.attr)
                self.assertEqual(len(call.args), len(_raw.PROTOTYPES[function.attr][1]), function.attr)
        self.assertGreater(len(names), 150)
        self.assertLessEqual(names, set(_raw.PROTOTYPES))

    def test_each_class_is_that_of_its_object(self) -> None:
        for name, kind in CLASSES.items():
            if name:
                self.assertIs(getattr(ggufx, kind.__name__), kind)
                self.assertEqual(KINDS[name].destroy, f"{name}_destroy")
        self.assertIs(CLASSES["ggufx_adapter"], Adapter)
        self.assertIs(CLASSES["ggufx_file"], File)
