"""Writes struct_sizes.h from the public headers. Every function that takes a struct with a struct_size gets a
wrapper. It calls the function with sizes, flags, extensions and reserved fields that must be refused, then with
the original arguments. New structs and functions are included automatically.

usage: struct_sizes.py INCLUDE OUTPUT
SPDX-License-Identifier: MIT
"""
import re
import sys

import public

include, output = sys.argv[1:]
structs = {name: [f.strip() for f in body.split(";") if f.strip()]
           for name, body in public.structs(include).items()}
sized = [n for n, fields in structs.items() if fields[0] == "uint32_t struct_size"]
POINTER = re.compile(r"(const )?(ggufx_\w+) \*(\w+)$")
ENDS = ("destroy", "close")  # refused calls would destroy the object several times


def split(parameters):
    """Splits parameters at the outermost commas."""
    parts, depth = [""], 0
    for c in parameters:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def name_of(parameter):
    match = re.search(r"\(\*(\w+)\)\(", parameter) or re.search(r"(\w+)$", parameter)
    return match.group(1)


def nested(struct):
    """Returns fields that point to further structs with a size."""
    found = (POINTER.match(f) for f in structs[struct])
    return [(m.group(2), m.group(3)) for m in found if m and m.group(2) in sized]


def field(struct, name):
    return next((f for f in structs[struct] if re.search(r"\b%s\b" % name, f)), None)


def quiet(struct, variable, lines):
    lines += [f"    {variable}.{end} = NULL;" for end in ENDS if field(struct, f"(\\*{end})")
              or any(f"(*{end})" in f for f in structs[struct])]


def reserved(struct):
    """Yields expressions of all reserved numbers."""
    for f in structs[struct]:
        match = re.match(r"uint\d+_t (reserved\d*)(?:\[(\d+)\])?$", f)
        if match:
            count = int(match.group(2) or 0)
            yield from [f"{match.group(1)}[{i}]" for i in range(count)] or [match.group(1)]


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
             f"        refused(\"{function}\", \"{struct}\", \"flags\", {call});",
             f"        odd = prepare_odd({get}, sizeof *odd);",
             "        odd->next = &extension;",
             f"        refused_with(GGUFX_E_UNSUPPORTED, \"{function}\", \"{struct}\", \"next\", {call});"]
    for name in reserved(struct):
        lines += [f"        odd = prepare_odd({get}, sizeof *odd);",
                  f"        odd->{name} = 5;",
                  f"        refused(\"{function}\", \"{struct}\", \"{name} must be 0 (it is 5)\", {call});"]
    return lines + ["    }"]


def wrapper(prototype):
    parameters = split(prototype.parameters)
    names = [name_of(p) for p in parameters]
    function = prototype.name
    lines, ends = [], []
    out = None
    arguments = ["&odd_error" if n == "error" else "NULL" if n in ENDS else n for n in names]
    for p, n in zip(parameters, names):
        match = POINTER.match(p)
        if match and match.group(2) in sized and not match.group(1):
            out = (match.group(2), n)
    if out:  # output of the library while other structs are tested
        ends += [f"    {out[0]} own = {{0}};", f"    own.struct_size = sizeof own;"]
        arguments[names.index(out[1])] = "&own"
    for i, p in enumerate(parameters):
        match = POINTER.match(p)
        if not match or match.group(2) not in sized:
            continue
        struct, name = match.group(2), match.group(3)
        call = f"{function}({', '.join([*arguments[:i], 'odd', *arguments[i + 1:]])})"
        if not match.group(1):
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
                lines += refusals(function, deep, with_deep, f"&own_{f}_{g}")
                lines += [f"    own_{f}.{g} = &own_{f}_{g};"]
            lines += refusals(function, inner, with_inner, f"&own_{f}")
            lines += [f"    own_{name}.{f} = {name} ? {name}->{f} : NULL;"]
            lines += [f"    if (own_{name}.{f}) own_{name}.{f} = &own_{f};"] if any(
                e in str(structs[inner]) for e in ENDS) or nested(inner) else []
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
    return [f"static ggufx_status sized_{function}({prototype.parameters}) {{"] + ends + lines + ["}", ""]


taken = [p for p in public.prototypes(include) if p.result == "ggufx_status" and any(
    (m := POINTER.match(q)) and m.group(2) in sized for q in split(p.parameters))]
with open(output, "w", encoding="utf-8") as out_file:
    text = ["/* Written by struct_sizes.py. SPDX-License-Identifier: MIT */"]
    for prototype in taken:
        text += wrapper(prototype)
    text += ["static void wrap_all(struct api *api) {"]
    text += [f"    api->{p.name.removeprefix('ggufx_')} = sized_{p.name};" for p in taken]
    text += ["}", "", f"enum {{ n_wrapped = {len(taken)} }};"]
    out_file.write("\n".join(text) + "\n")
reached = {m.group(2) for p in taken for q in split(p.parameters) if (m := POINTER.match(q))}
for _ in range(2):
    reached |= {inner for s in list(reached) if s in structs for inner, _ in nested(s)}
callbacks = {s for s in sized for p in public.prototypes(include)
             if re.search(r"\(\*\w+\)\([^)]*\b%s\b" % s, p.parameters)}
public.finish("structs with a size", [f"{s} is taken by no function" for s in sized
                                      if s not in reached | callbacks], len(sized))
