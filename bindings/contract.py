"""The fixed lines of a contract comment: Errors, Threads, Allocates, Since.

"as ggufx_x" and "those of ggufx_x" add the errors of that function. "A .. B" are all codes from A to B.

SPDX-License-Identifier: MIT
"""
import re

FIELD = re.compile(r"(?:^|(?<=\s))(Errors|Threads|Allocates|Since):\s*", re.M)
CODE = re.compile(r"\b[A-Z][A-Z_]+\b")
RANGE = re.compile(r"\b([A-Z_]+)\s\.\.\s([A-Z_]+)\b")
OTHERS = re.compile(r"\b(?:as|of|and) (ggufx_\w+)")
VERSION = re.compile(r"\d+\.\d+")
# Words in capitals that are no codes.
WORDS = {"NULL", "GGUF", "JSON", "UTF", "IQ"}


def parts_of(comment):
    """The text of a contract, and {'Errors': text, ...} of its lines.

    A line ends where the next one, or a new paragraph that is no list, begins.
    """
    parts, fields = FIELD.split(comment), {}
    body = [parts[0].strip()]
    for name, text in zip(parts[1::2], parts[2::2]):
        fields[name], *rest = re.split(r"\n\n(?!- )", text.strip())
        body += rest
    return "\n\n".join(p.strip() for p in body if p.strip()), fields


def one_line(text):
    return " ".join(text.split()).rstrip(".")


def statuses(found):
    """Name without its prefix -> value of each code."""
    return {n.removeprefix("GGUFX_E_"): c.value for n, c in found.constants.items() if n.startswith("GGUFX_E_")}


def heads(text):
    """The parts of an Errors text that name codes: no explanations in parentheses or after a colon."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    for item in re.split(r"(?:^|\n)- ", text):
        head, colon, rest = item.partition(": ")
        yield from re.split(r"[,;]\s+|\s+and\s+", item if colon and not CODE.match(head) else head)


def codes_of(text, known):
    """The codes that an Errors text names, and the words in capitals that are none."""
    codes, unknown = set(), []
    for first, last in RANGE.findall(text):
        if first in known and last in known:
            codes.update(c for c, v in known.items() if known[last] <= v <= known[first])
    for head in heads(text):
        for word in CODE.findall(head)[:1] if CODE.match(head) else []:
            if word not in WORDS:
                (codes.add if word in known else unknown.append)(word)
    codes.update(word for word in CODE.findall(text) if word in known)
    return codes, unknown


def faults_of(f, fields):
    wanted = ["Threads", "Since"] + (["Errors"] if f.result == "ggufx_status" else [])
    yield from (f"the comment has no line '{name}:'" for name in wanted if not fields.get(name))
    if fields.get("Since") and not VERSION.match(fields["Since"]):
        yield f"Since: '{fields['Since']}' is no version"
    threads = one_line(fields.get("Threads", ""))
    for p in f.parameters:
        named = re.search(rf"exclusive on [^;]*\b{p.name}\b|both sessions", threads)
        if p.meaning.get("role") == "object" and p.meaning["exclusive"] != bool(named):
            yield f"Threads: '{threads}', but {p.name} is {'not ' if p.meaning['exclusive'] else ''}const"


def closure(name, others):
    """A function with all whose errors it has, too."""
    names = [name]
    for more in names:  # grows
        names += sorted(others.get(more, set()) - set(names))
    return names


def read(found):
    """Fills in the contract of each function. Yields faults as "file:line: what"."""
    known, by_name = statuses(found), {f.name for f in found.functions}
    own, others, host = {}, {}, set()
    for f in found.functions:
        _, fields = parts_of(f.comment)
        errors = fields.get("Errors", "")
        own[f.name], unknown = codes_of(errors, known)
        others[f.name] = set(OTHERS.findall(errors))
        if "status of" in errors:
            host.add(f.name)
        yield from (f"{f}: {fault}" for fault in faults_of(f, fields))
        yield from (f"{f}: Errors: {word} is no status" for word in unknown)
        yield from (f"{f}: Errors: no function {name}" for name in sorted(others[f.name] - by_name))
        since = VERSION.match(fields.get("Since", ""))
        f.contract = {"threads": one_line(fields.get("Threads", "")), "since": since[0] if since else ""}
        if "Allocates" in fields:
            f.contract["allocates"] = one_line(fields["Allocates"])
    for f in found.functions:
        same = closure(f.name, others)
        codes = set().union(*(own.get(name, set()) for name in same))
        f.contract["errors"] = sorted(codes, key=lambda c: -known[c])
        if host & set(same):
            f.contract["host_status"] = True  # also returns what a callback of the host returned
