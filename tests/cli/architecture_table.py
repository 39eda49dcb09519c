# Compares the table of src/graph/arch/README.md with the graphs of models, by `info --graph`.
# SPDX-License-Identifier: MIT
import os
import re

ARCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "graph", "arch")
ACTS = {"silu": "silu", "gelu": "gelu", "relu2": "relu^2", "swiglu_oai": "clamped"}


def names():
    with open(os.path.join(ARCH, "architectures.def"), encoding="utf-8") as file:
        return re.findall(r'^GGUFX_ARCHITECTURE\("([^"]+)"', file.read(), re.M)


def rows():
    """Returns for each architecture: order, norm, RoPE, norms of q and k, network, experts, other properties."""
    with open(os.path.join(ARCH, "README.md"), encoding="utf-8") as file:
        text = file.read().split("| architecture | order |")[1]
    out = {}
    for line in text.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in cells[0].split(", ") if len(cells) == 8 else ():
            assert name not in out, name + " has two rows"
            out[name] = cells[1:]
    return out


def lines_of(graph, *steps):
    """Returns the words in the lines of some operations."""
    words = [line.replace("layer norm", "layer_norm").split() for line in graph.splitlines() if line.startswith(" ")]
    return [line for line in words if line[0] in steps]


VERBS = ("embed", "angles", "rms", "layer norm", "l2", "rotate", "temper", "scale", "add", "bias", "factor", "multiply",
         "clamp", "cap", "silu", "gelu", "relu2", "swiglu_oai", "gather", "gate", "route", "sum", "gates", "steps",
         "product", "per head", "experts", "attend", "softmax", "pool", "conv", "delta", "scan")
VALUE = re.compile(r"(?<= )(x|logits|per layer|[a-z]\d?)(?:\[(\d+)\.\.(\d+)\])?(?: \((\d+)\))?(?=[ ,]|$)")


def flow_faults(graph):
    """Returns lines of a graph that cannot be followed: two operations in one, or a value that no operation
    produces."""
    out, given = [], {"per layer": 0}  # computed before all layers, under a letter
    for line in graph.splitlines():
        if not line.startswith(" "):
            given = {name: 0 for name in given if name in ("x", "per layer")}
            continue
        if line[2:12].rstrip() not in VERBS or line[12:13] != " " or re.search(r"\S  ", line[12:]):
            out.append("no step, or two: " + line)
        for m in VALUE.finditer(line, 12):
            name, first, last, width = m.groups()
            if first and int(first) > int(last) or width and first and int(last) - int(first) + 1 != int(width):
                out.append("no such part: " + line)
            if line[:m.start()].endswith("-> "):
                given[name] = width
                if not width:
                    out.append("no width: " + line)
            elif name not in given:
                out.append(f"{name} comes from nowhere: {line}")
    return out


def faults(row, graph):
    """Returns differences between an architecture's row and the graph of its model."""
    _, norm, turns, qk_norm, network, experts, _ = row
    said = ", ".join(row)
    out = []

    def same(what, told, done):
        if bool(told) != bool(done):
            out.append(f"{what}: {told!r}, {done!r}")

    same("norms", True, set(norm.split(" or ")) & {"L" if lines_of(graph, "layer_norm") else "R"})
    rotations = re.findall(r"^ +rotate .*, (\d+) (halves|pairs)", graph, re.M)
    kinds = {kind for _, kind in rotations}
    if kinds != {turns.split()[0].rstrip(",")} and not ("none" in turns and not kinds):
        out.append(f"turns: {turns!r}, {kinds}")
    heads = [int(n) for n in re.findall(r"\d+/\d+ heads of (\d+)", graph)]
    part = "MLA" not in said and rotations and 2 * min(int(n) for n, _ in rotations) < min(heads)
    if part and not re.search("a part|half$", turns):
        out.append("a part of each head turns")
    normed = False
    for layer in graph.split("\nlayer"):
        queries = [words[1] for words in lines_of(layer, "attend")]
        normed |= any(words[1] in queries for words in lines_of(layer, "rms", "layer_norm"))
    if "own" not in qk_norm and "MLA" not in said:
        same("norms of queries", qk_norm, normed)
    acts = {ACTS[words[0]] for words in lines_of(graph, *ACTS)}
    if network != "none":
        same("network", True, any(act in network for act in acts) or not acts)
    routes = [" ".join(words) for words in lines_of(graph, "route")]
    for route in routes:
        kind = re.search(r", (scores|sigmoid|softmax of the chosen|softmax)", route).group(1)
        known = experts.startswith("by key") or kind == "scores" and "on the input" in experts
        same("experts", True, known or experts.split(",")[0] == kind)
        same("groups", True, "groups" in experts or "groups" not in route)
    same("windows", True, re.search("window|chunk", said) or " window " not in graph)
    return out
