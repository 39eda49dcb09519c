"""Writes struct_sizes.h from the public headers. Every function that takes a struct with a struct_size gets a
wrapper. It calls the function with sizes, flags and reserved fields that must be refused, then with
the original arguments. New structs and functions are included automatically.

usage: struct_sizes.py INCLUDE OUTPUT
SPDX-License-Identifier: MIT
"""
import re
import sys

import public

include, output = sys.argv[1:]
API = public.interface.load(include)
structs = API.structs
sized = [name for name, s in structs.items() if s.members[0].name == "struct_size"]
ENDS = ("destroy", "close")  # refused calls would destroy the object several times


def struct_of(d):
    """The struct with a size that a parameter or member points to, or None."""
    match = re.match(r"(?:const )?(ggufx_\w+) \*$", d.type) if d.parameters is None else None
    return match.group(1) if match and match.group(1) in sized else None


def count_of(struct, name):
    """The member with the length of a list, or None."""
    return next((m.meaning.get("length") for m in structs[struct].members if m.name == name), None)


def nested(struct):
    """Returns members that point to further structs with a size."""
    return [(struct_of(m), m.name) for m in structs[struct].members if struct_of(m)]


def quiet(struct, variable, lines):
    names = [m.name for m in structs[struct].members]
    lines += [f"    {variable}.{end} = NULL;" for end in ENDS if end in names]


def refusals(function, struct, call, get):
    """Returns lines that test all refusals of one struct; `get` is its original value; `call` passes `odd`."""
    lines = ["    for (size_t i = 0; i < n_odd_sizes; i++) {",
             f"        {struct} *odd = prepare_odd({get}, sizeof *odd);",
             "        odd->struct_size = odd_sizes[i];",
             f"        refused(\"{function}\", \"{struct}\", \"struct_size\", {call});", "    }",
             "    for (size_t i = 0; i < 40; i++) {",
             f"        {struct} *odd = prepare_odd({get}, sizeof *odd);",
             "        odd->struct_size = sizeof *odd + 40;",
             "        memset(odd + 1, 0, 40);",
             "        ((uint8_t *)(odd + 1))[i] = 1;",
             f"        refused_with(GGUFX_E_VERSION, \"{function}\", \"{struct}\", \"sets byte\", {call});",
             "    }",
             "    {",
             f"        {struct} *odd = prepare_odd({get}, sizeof *odd);",
             "        odd->flags |= 0x80000000u;",
             f"        refused(\"{function}\", \"{struct}\", \"flags\", {call});"]
    if any(m.name == "reserved" for m in structs[struct].members):
        lines += [f"        odd = prepare_odd({get}, sizeof *odd);",
                  "        odd->reserved = 5;",
                  f"        refused(\"{function}\", \"{struct}\", \"reserved must be 0 (it is 5)\", {call});"]
    return lines + ["    }"]


def wrapper(prototype):
    parameters = prototype.parameters
    names = [p.name for p in parameters]
    function = prototype.name
    lines, ends = [], []
    out = None
    arguments = ["&odd_error" if n == "error" else "NULL" if n in ENDS else n for n in names]
    for p in parameters:
        if struct_of(p) and not p.type.startswith("const"):
            out = (struct_of(p), p.name)
    if out:  # output of the library while other structs are tested
        ends += [f"    {out[0]} own = {{0}};", f"    own.struct_size = sizeof own;"]
        arguments[names.index(out[1])] = "&own"
    for i, p in enumerate(parameters):
        struct, name = struct_of(p), p.name
        if not struct:
            continue
        call = f"{function}({', '.join([*arguments[:i], 'odd', *arguments[i + 1:]])})"
        if not p.type.startswith("const"):
            lines += ["    for (size_t i = 0; i < n_odd_sizes; i++) {",
                      f"        {struct} *odd = prepare_odd(NULL, sizeof *odd);",
                      "        odd->struct_size = odd_sizes[i];",
                      f"        refused(\"{function}\", \"{struct}\", \"struct_size\", {call});",
                      f"        unwritten(\"{function}\", odd_sizes[i]);",
                      "    }"]
            continue
        ends += [f"    {struct} own_{name} = {{.struct_size = sizeof(own_{name})}};",
                 f"    if ({name}) own_{name} = *{name};"]
        quiet(struct, f"own_{name}", ends)
        arguments[i] = f"&own_{name}"
        lines += refusals(function, struct, call, f"&own_{name}")
        for inner, f in nested(struct):
            ends += [f"    {inner} own_{f} = {{.struct_size = sizeof(own_{f})}};",
                     f"    if (own_{name}.{f}) own_{f} = *own_{name}.{f};"]
            quiet(inner, f"own_{f}", ends)
            with_inner = f"(own_{name}.{f} = odd, {function}({', '.join(arguments)}))"
            for deep, g in nested(inner):
                ends += [f"    {deep} own_{f}_{g} = {{.struct_size = sizeof(own_{f}_{g})}};",
                         f"    if (own_{f}.{g}) own_{f}_{g} = *own_{f}.{g};"]
                quiet(deep, f"own_{f}_{g}", ends)
                ends += [f"    if (own_{name}.{f}) own_{f}.{g} = &own_{f}_{g}, own_{name}.{f} = &own_{f};"]
                with_deep = (f"(own_{f}.{g} = odd, own_{name}.{f} = &own_{f}, "
                             f"{function}({', '.join(arguments)}))")
                n_deep = count_of(inner, g)
                lines += [f"    if (own_{f}.{n_deep}) {{"] if n_deep else []
                lines += refusals(function, deep, with_deep, f"&own_{f}_{g}")
                lines += ["    }"] if n_deep else []
                lines += [f"    own_{f}.{g} = &own_{f}_{g};"]
            guard = count_of(struct, f)  # an empty list is not read
            lines += [f"    if (own_{name}.{guard}) {{"] if guard else []
            lines += refusals(function, inner, with_inner, f"&own_{f}")
            lines += ["    }"] if guard else []
            lines += [f"    own_{name}.{f} = {name} ? {name}->{f} : NULL;"]
            closes = any(m.name in ENDS for m in structs[inner].members)
            lines += [f"    if (own_{name}.{f}) own_{name}.{f} = &own_{f};"] if closes or nested(inner) else []
    real = ", ".join(names)
    if out:  # as a newer caller passes it
        real = ", ".join("odd" if n == out[1] else n for n in names)
        lines += [f"    if (!{out[1]}) return {function}({', '.join(names)});",
                  f"    {out[0]} *odd = prepare_odd(NULL, sizeof *odd);",
                  "    odd->struct_size = sizeof *odd + 40;",
                  f"    const ggufx_status status = {function}({real});",
                  f"    if (status == GGUFX_OK) zeroed(\"{function}\", sizeof *odd, 40);",
                  f"    if (status == GGUFX_OK) *{out[1]} = *odd, {out[1]}->struct_size = sizeof *odd;",
                  "    return status;"]
    else:
        lines += [f"    return {function}({real});"]
    return [f"static ggufx_status sized_{function}({prototype.signature}) {{"] + ends + lines + ["}", ""]


taken = [f for f in API.functions if f.result == "ggufx_status" and any(map(struct_of, f.parameters))]
with open(output, "w", encoding="utf-8") as out_file:
    text = ["/* Written by struct_sizes.py. SPDX-License-Identifier: MIT */"]
    for prototype in taken:
        text += wrapper(prototype)
    text += ["static void wrap_all(ggufx_functions *api) {"]
    text += [f"    api->{p.name.removeprefix('ggufx_')} = sized_{p.name};" for p in taken]
    text += ["}", "", f"enum {{ n_wrapped = {len(taken)} }};"]
    out_file.write("\n".join(text) + "\n")
reached = {struct_of(p) for f in taken for p in f.parameters} - {None}
for _ in range(2):
    reached |= {inner for s in list(reached) for inner, _ in nested(s)}
callbacks = {struct_of(q) for f in API.functions for p in f.parameters for q in p.parameters or ()}
public.finish("structs with a size", [f"{s} is taken by no function" for s in sized
                                      if s not in reached | callbacks], len(sized))
