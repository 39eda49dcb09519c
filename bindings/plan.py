"""The plan of a conformance story: its steps in order, each argument at its place in the arena.

SPDX-License-Identifier: MIT
"""
import struct

import roles
from arena import STRUCT_BYTES, Arena, Step, width

BUFFER = 65536  # elements of a two-call buffer whose capacity is not given
# Roles of arguments that a step must give, and of those that it cannot.
REQUIRED = ("object", "scalar", "text", "string", "array_in", "array_out", "arrays_out", "array_inout", "struct_in",
            "callback")
NOT_GIVEN = ("length", "needed", "user", "error", "new", "text_out")
# Roles of arguments that follow from others.
DERIVED = ("length", "capacity", "needed", "user")


class Planner(Arena):
    """Adds steps to a plan."""

    def check(self, f, given):
        """Refuses arguments that are missing or unknown."""
        known = {p.name: p for p in f.parameters}
        if unknown := given.keys() - known.keys():
            self.refuse(f"no parameter {min(unknown)}")
        for p in f.parameters:
            role, nullable = p.meaning["role"], p.meaning.get("nullable")
            if p.name in given and (role in NOT_GIVEN or role == "scalar_out" and given[p.name] is not None):
                self.refuse(f"{p.name}: is not given, its role is {role}")
            if p.name not in given and role in REQUIRED and not (role == "callback" and nullable):
                self.refuse(f"{p.name}: is missing" + (", null is allowed" if nullable else ""))

    def add(self, source):
        functions = {f.name: f for f in self.api.functions}
        self.step = Step(source["line"], source, functions.get(source.get("call")))
        f, given = self.step.function, source.get("with", {})
        if unknown := source.keys() - {"call", "with", "as", "gives", "line"}:
            self.refuse(f"unknown key {min(unknown)}")
        if f is None:
            self.refuse("no such function")
        self.check(f, given)
        self.step.result = self.room(8)
        self.derived = {}  # name of a length, capacity, needed or user -> text
        found = {p.name: self.argument(p, given) for p in f.parameters if p.meaning["role"] not in DERIVED}
        for p in f.parameters:
            if p.meaning["role"] in DERIVED:
                how = "place" if "*" in p.type else "number"
                absent = ("null", "") if how == "place" else ("number", "0")
                found[p.name] = (how, self.derived[p.name]) if p.name in self.derived else absent
        self.step.arguments = [(p, *found[p.name]) for p in f.parameters]
        self.results(f, source)
        self.plan.steps.append(self.step)

    def argument(self, d, given):
        """(how, text): how is place, object, new, number, hook or null."""
        role, base, value = d.meaning["role"], roles.base_of(d.type), given.get(d.name)
        if role == "error":
            self.error = self.room(STRUCT_BYTES)
            return "place", f"A + {self.error}"
        if role == "new":
            return self.new(base)
        if role == "scalar":
            return "number", hex(self.number(d.type, value, d.name))
        if role in ("struct_out", "struct_inout", "init") and not (d.name in given and value is None):
            return "place", f"A + {self.struct_out(d, base, value)}"
        if role == "buffer_out":
            return "place", f"A + {self.buffer(d, base, given)}"
        if role in ("scalar_out", "text_out") and d.name not in given:
            return "place", f"A + {self.value_out(d, role)}"
        if value is None:
            return "null", ""
        if role == "callback":
            hook = self.hook(self.step.function.name, d)
            self.derived[d.meaning["user"]] = f"A + {self.record([(d, value)], d.name)}"
            return "hook", hook
        if role == "array_inout":
            at, count, n = self.data(base, value, d.name)
            self.show(1, d.name, d.type, "many", f"A + {at}", count * n)
            return "place", f"A + {at}"
        place, self.derived[d.meaning.get("length")] = self.pointer(d, value, d.name)
        return "object" if role == "object" else "place", place

    def new(self, base):
        at, source = self.room(8), self.step.source
        if "error" not in source.get("gives", {}):
            self.objects[source.get("as")] = base, at
        self.show(0, "made", "object", "one", f"A + {at}", 8)
        return "new", f"A + {at}"

    def struct_out(self, d, base, value):
        at = self.room(STRUCT_BYTES)
        if d.meaning["role"] != "init":
            self.fill(base, value or {}, f"A + {at}", d.name)
        self.step.after.append(f'show_{base}(1, "{d.name}", A + {at})')
        self.show_struct(base, d.name)
        return at

    def value_out(self, d, role):
        at = self.room(16)
        if role == "scalar_out":
            self.show(1, d.name, d.type, "one", f"A + {at}", width(roles.base_of(d.type)))
        else:
            self.show(1, d.name, "char", "text", f"peek(A + {at}, 8)", f"peek(A + {at + 8}, 8)")
        return at

    def buffer(self, d, base, given):
        """A two-call buffer. It is shown as far as the call has filled it."""
        capacity = given.get(d.meaning["capacity"], BUFFER)
        n = struct.calcsize(self.struct_code(base)) if base in self.api.structs else width(base)
        at, needed, count = self.room(max(capacity, 1) * n), d.meaning.get("needed"), str(capacity)
        self.derived[d.meaning["capacity"]] = str(capacity)
        if needed:
            if needed not in self.derived:
                self.derived[needed] = f"A + {self.room(8)}"
                self.show(0, needed, "size_t", "one", self.derived[needed], 8)
            count = f"peek({self.derived[needed]}, 8)"
        how = "structs" if base in self.api.structs else "text" if base == "char" else "many"
        self.show(1, d.name, base, how, f"A + {at}", f"{count} * {n}")
        self.keep(d.name, at, count, n)
        return at

    def results(self, f, source):
        base, at, is_status = roles.base_of(f.result), f"A + {self.step.result}", f.result == "ggufx_status"
        self.step.after.insert(0, f"done({f'peek({at}, 4)' if is_status else 0})")
        if is_status:
            self.step.after.append(f'show_ggufx_error(2, "error", A + {self.error})')
            self.show_struct("ggufx_error", "error")
        elif f.result == "const char *":
            self.step.after.append(f'show_string(0, "result", "", peek({at}, 8))')
            self.kind("result", "char", "text")
        elif f.result != "void":
            self.show(0, "result", "object" if "*" in f.result else f.result, "one", at, width(f.result))
        if base in self.api.objects:
            self.objects[source.get("as")] = base, self.step.result


def make(api, story, root, variables):
    """The planner with the plan of a story. Raises a Fault with the line of a step that is wrong."""
    planner = Planner(api, root, variables)
    for source in story["steps"]:
        planner.add(source)
    return planner
