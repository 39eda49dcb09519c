"""Writes the plain part of Python's safe layer, and the classes of its errors.

SPDX-License-Identifier: MIT
"""
import re

from gen_python_calls import Calls
from gen_python_words import BASES, EXTENDED, SUPPORT, VIEWS, quoted, wrap

NOTE = "# Generated from include/ggufx by python3 bindings/raw.py --write; a test compares them.\n" \
       "# SPDX-License-Identifier: MIT\n"
# Exceptions with another name or base than Error, and what Python calls the same.
ERROR_NAMES = {"MEMORY": "OutOfMemory", "TYPE": "TensorType", "KEY": "FileKey", "VALUE": "FileValue",
               "OVERFLOW": "FileOverflow", "NAME": "FileName"}
FILE_ERRORS = {"TRUNCATED", "MAGIC", "VERSION", "ENDIAN", "MALFORMED", "CHECKSUM"}
MODEL_ERRORS = {"VOCAB", "HYPERPARAMETER", "MISSING"}
ALSO = {"ARGUMENT": "ValueError", "MEMORY": "MemoryError", "IO": "OSError", "TYPE": "ValueError",
        "UNSUPPORTED": "NotImplementedError", "NOT_FOUND": "KeyError", "STATE": "RuntimeError",
        "INTERNAL": "RuntimeError", "DEVICE": "RuntimeError"}


# The iterator of a class that gives events, and calls of a model that make such an object. {options}: those of the
# object as parameters; {given}: the same as arguments; {made}: the object.
STREAM = '''
    _current: object = None  # stands for the newest iterator: older ones end, and cancel nothing

    def prompt(self, prompt: Text | Prompt, *, progress: Progress | None = None) -> Iteration[Event, None, None]:
        """Sets a prompt, and gives its events; EventKind.END is the last one. A fault of this generator alone
        is raised. Closing the iterator after its first event cancels the output; a new prompt ends it.
        """
        self.set_prompt(prompt if isinstance(prompt, Prompt) else Prompt(text=prompt))
        self._current = mine = object()
        return self._events(progress, mine)

    def _events(self, progress: Progress | None, mine: object) -> Iteration[Event, None, None]:
        try:
            while self._current is mine:
                event = self.next(progress=progress)
                if event.end == End.ERROR:
                    raise class_of(event.status)(f"{event.status.name}: {event.text}")
                yield event
                if event.kind == EventKind.END:
                    return
        except GeneratorExit:
            if self._current is mine and not self.closed:
                self.cancel()
            raise
'''
OF_MODEL = '''
    def generate({options}) -> Iteration[Event, None, None]:
        """Generator.prompt in a new session; options as those of a generator."""
        session: Any = CLASSES["ggufx_session"]
        return {made}.prompt(prompt, progress=progress)

    async def agenerate({options}) -> AsyncIteration[Event, None]:
        """As generate, for asyncio: a thread computes each token. A cancelled task waits for the token under way."""
        events = await _ended(self.generate, {given})
        try:
            while (event := await _ended(next, events, None)) is not None:
                yield event
        finally:
            events.close()

    def complete({options}) -> str:
        """The answer that generate gives, as one text."""
        events = self.generate({given})
        return "".join(event.text for event in events if event.kind == EventKind.TEXT)
'''
# Awaits a thread's call to its end: an iterator that is still running cannot be closed.
ENDED = '''

async def _ended(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    import asyncio  # takes longer than the whole package

    task, cancelled = asyncio.ensure_future(asyncio.to_thread(call, *args, **options)), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # is seen
        raise cancelled
    return task.result()
'''


class Writer(Calls):
    """The module as a whole."""

    def cls(self, c):
        text = f"\n\nclass {self.class_name(c.c)}({BASES.get(c.c, 'Object')}):\n" + self.doc(c.doc, "    ", f"{c.words[0]}.")
        text += f'\n    _kind = "{c.c}"\n    _mutable = {c.mutable}\n'
        text += f'    _together = "{c.together}"\n' if c.together else ""
        for call in c.generated:
            text += "\n" + self.call(call)
        return text + self.lists(c) + (STREAM if c.is_stream else self.of_model() if c.c == "ggufx_model" else "")

    def lists(self, c):
        """Lists by number, whose length is among the facts of their object, as sequences."""
        facts = [f.name for call in c.calls if call.kind == "info" for f in self.surface.structs[call.outputs[0].struct].shown]
        find, text = next((", self.find" for call in c.calls if call.words == ["find"]), ""), ""
        for call in c.generated:
            name = re.sub("y$", "ie", call.words[0]) + "s"
            if call.words[1:] == ["at"] and f"n_{name}" in facts:
                text += f"\n    @property\n    def {name}(self) -> Listed[{self.type_out(call.outputs[0])}]:\n" + \
                    quoted(f"Those of {self.call_name(call)}, by number{' and by name' if find else ''}.", " " * 8) + \
                    f"        return Listed(lambda: self.info.n_{name}, self.{self.call_name(call)}{find})\n"
                find = ""  # names are those of the first list
        return text

    def of_model(self):
        """Calls of a model that generate text with a session of their own."""
        create = self.by_name["ggufx_generator_create"]
        more = [p for p in self.parameters(create)[1] if not p.startswith("sequence:")]
        given = ", ".join(f"{n}={n}" for n in [p.split(":")[0] for p in more])
        options = ", ".join(["self", "prompt: Text | Prompt", "*", *more, "progress: Progress | None = None"])
        text = ""
        for line in OF_MODEL.splitlines():
            line = line.format(options=options, given=f"prompt, {given}, progress=progress",
                               made=f"Generator(session(self), {given})")
            bare = line.lstrip()
            text += wrap(bare, line[: len(line) - len(bare)], "        " if bare.startswith(("def", "async")) else "    ")
        return text

    def safe(self):
        structs = "".join(self.struct(s) for s in self.structs)
        classes = "".join(self.cls(c) for c in self.surface.classes.values())
        functions = "".join("\n\n" + self.call(c) for c in self.surface.functions if not c.hand)
        thunks = "".join(f"{n} = callback({', '.join(key)})\n" for key, n in self.thunks.items())
        public = [self.struct_name(s) for s in self.structs] + \
            [self.class_name(c) for c in self.surface.classes if c not in EXTENDED] + \
            [self.call_name(c) for c in self.surface.functions if not c.hand]
        used = sorted(e for e in self.surface.enumerations if f"{e}." in str(VIEWS) or
                      re.search(rf"\b{e}\(|: {e}\b|\[{e}\b|-> {e}\b|, {e}\b|[|]= {e}\.", structs + classes + functions))
        body = thunks + structs + classes + functions
        every = "".join(f'    "{n}",\n' for n in sorted(public))
        support = {**SUPPORT, ".ids": used}
        imports = ""
        for module, names in support.items():
            here = sorted(n for n in names if re.search(rf"\b{n}\b", body))
            if here:
                imports += wrap(f"from {module} import ({', '.join(here)})", "")
        ctypes = sorted(n for n in ("POINTER", "byref", "cast", "sizeof", "string_at", "c_void_p", "c_size_t", "c_double",
                                    "c_float", "c_int32", "c_int64", "c_uint32", "c_uint64")
                        if re.search(rf"\b{n}\b", body))
        typing = sorted(n for n in ("Any", "Callable", "Generator as Iteration", "Mapping", "Sequence", "AsyncGenerator as AsyncIteration") if re.search(rf"\b{n.split()[-1]}\b", body + ENDED))
        pairs = "" if "_pairs(" not in body else (
            "\n\ndef _pairs(kind: Callable[[Any, Any], Any], of: Mapping[str, object] | None) -> list[Any] | None:\n"
            "    return None if of is None else [kind(key, written(value)) for key, value in of.items()]\n")
        if pairs:
            imports = imports.replace("from ._facts import (", "from ._facts import (written, ")
        return (NOTE + '"""The plain part of the package: see bindings/gen_python.py."""\n'
                "from __future__ import annotations\n\n" + wrap(f"from ctypes import ({', '.join(ctypes)})", "") +
                "from dataclasses import dataclass\n" + wrap(f"from typing import ({', '.join(typing)})", "") + "\nfrom . import _raw\n" +
                imports + f"\n__all__ = [\n{every}]\n\n" + body.split("\n\n@dataclass", 1)[0] + pairs + ENDED.rstrip("\n") + "\n" +
                "\n\n@dataclass" + body.split("\n\n@dataclass", 1)[1])


def error_name(code):
    return ERROR_NAMES.get(code, "".join(w.capitalize() for w in code.split("_"))) + "Error"


def errors(surface):
    """A class for each status, with the comment of the header."""
    text, names = "", []
    for member, c, value, doc in surface.enumerations["Status"].members:
        if value == 0:
            continue
        base = "ModelError" if member in MODEL_ERRORS else \
            "FileError" if member in FILE_ERRORS or value <= -32 else "Error"
        bases = ", ".join(filter(None, [base, ALSO.get(member)]))
        names.append(error_name(member))
        text += f"\n\nclass {names[-1]}({bases}):\n" + quoted(doc[:1].upper() + doc[1:] + ".", "    ") + \
            f"\n    code = Status.{member}\n"
    every = "".join(f'    "{n}",\n' for n in names)
    return (NOTE + "from ._error import Error, FileError, ModelError\nfrom .ids import Status\n\n"
            f"__all__ = [\n{every}]\n" + text)


def files(surface):
    return {"bindings/python/ggufx/_safe.py": lambda: Writer(surface).safe(),
            "bindings/python/ggufx/_codes.py": lambda: errors(surface)}
