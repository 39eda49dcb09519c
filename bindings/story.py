"""The conformance story, bindings/conformance.json: reading, writing, and what it must cover.

A step calls one public function. Arguments follow the roles of roles.py; lengths and `user` are not given.

    object            name of an earlier step ("as"), or null
    text, string      text or null; $model and $work are paths
    array             list, {"TYPE": [...]}, {"hex": ...}, {"file": path}, {"noise": n, "seed": s}, {"from": "step.path"}
    output array      number of elements; a two-call buffer may have its capacity
    struct            object of members
    callback          {"fail": [nth call, result], "data": bytes to read}

"gives" has the results by the paths of outputs, written by `conformance.py --renew`. Long ones are checksums.
SPDX-License-Identifier: MIT
"""
import json


class Fault(Exception):
    """A story that the headers do not allow: "line: call: what"."""


def line_text(value):
    return json.dumps(value, ensure_ascii=False)


def read(path):
    """The story as a dictionary, each step with its "line"."""
    text = path.read_text(encoding="utf-8")
    try:
        story = json.loads(text)
        at = text.index('"steps": [') + len('"steps": [')
        for step in story["steps"]:
            at = text.index("{", at)
            step["line"] = text.count("\n", 0, at) + 1
            at = json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, KeyError) as fault:
        raise Fault(f"{fault}") from None
    return story


def write(path, story):
    """One line for each call and one for its result."""
    rows = []
    for step in story["steps"]:
        call = line_text({k: v for k, v in step.items() if k not in ("line", "gives")})
        rows.append(f"{call[:-1]},\n   \"gives\": {line_text(step['gives'])}}}")
    head = json.dumps({k: v for k, v in story.items() if k != "steps"}, indent=1, ensure_ascii=False)[:-2]
    path.write_text(head + ',\n "steps": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n", encoding="utf-8")


def uncovered(api, story):
    """Yields the functions without a step that succeeds, or without one that fails, and wrong excuses."""
    steps = story["steps"]
    for excuses, what, wanted in (
            ("no_success", "success", [f.name for f in api.functions]),
            ("no_error", "an error", [f.name for f in api.functions if f.result == "ggufx_status"])):
        found = {s["call"] for s in steps if ("error" in s["gives"]) == (excuses == "no_error")}
        excused = story[excuses]
        yield from (f"{name}: no step expects {what}, and {excuses} does not have it"
                    for name in wanted if name not in found and name not in excused)
        yield from (f"{excuses}: {name}: a step expects {what}, or there is no such function"
                    for name in excused if name in found or name not in wanted)


def unknown_outputs(api, story):
    """Yields the names in "machine" that are no output."""
    names = {f"{s.name}.{m.name}" for s in api.structs.values() for m in s.members}
    names |= {f"{f.name}.{name}" for f in api.functions for name in ["result", *(p.name for p in f.parameters)]}
    yield from (f"machine: {name} is no member and no output" for name in story["machine"] if name not in names)
