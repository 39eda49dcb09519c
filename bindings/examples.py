"""The examples of a language, run on the demo model: the same words from all of them, because a
result has the same bits whatever calls for it.

Used by run.py.
SPDX-License-Identifier: MIT
"""
import hashlib
import pathlib
import subprocess
import sys

# Expected output of each; None: the first of as many lines as the model has tensors.
EXPECTED = {
    "tensors": None,
    "matvec": "1024 rows, y[0] = 4.139149, y[1023] = 0.016635",
    "quantize": "278528 bytes, as q4_K 147456, squared error 16.988876",
    "attend": "300 tokens, out[0] = -0.103119, out[255] = -0.483276",
    "story": "Once upon a time Nib was careful. The old book was under the bed. "
             "Nib was in the village. Nib and Nib played h",
    "batch": "Once upon a time Nib was careful. The old book was\n"
             "The sun came out. \"First we wash our hand\nNib was sick. She had a red nose and",
    "shared_prompt": " Nib was afraid of the big do\n The sun came out. Nib thought of\n"
                     "222 tokens, 12 shared pages",
    "json_output": '{"name":"Tom","age":5,"likes":["sun","sun"]}',
    "search": "0.329 The old book was under the bed.\n0.281 Nib and Nib played in the village.\n"
              "0.170 The sun was warm and the sky was blue.",
    "quantize_file": "38 tensors, 3630080 bytes become 2112000",
}
# Size of the file that the last one writes.
QUANTIZED = "b68807671b104a269339d99fea3ac1b6aa8aedd5a71dfd1994d95991e211fe47"


def check(name, command, model, environment, out):
    """Checks an example's output, and its error for a missing file."""
    more = [str(out)] if name == "quantize_file" else []
    out.unlink(missing_ok=True)
    done = subprocess.run([*command, model, *more], env=environment, capture_output=True, text=True,
                          encoding="utf-8")
    lines = done.stdout.splitlines()
    if EXPECTED[name] is None:
        good = len(lines) == 38 and "token_embd.weight q8_0 256 x 1024" in lines \
            and "blk.0.attn_k.weight q8_0 256 x 128" in lines
    else:
        good = lines == EXPECTED[name].split("\n")
    if done.returncode or not good:
        sys.exit(f"example {name}: exit {done.returncode}, {done.stdout!r} {done.stderr!r}")
    if more and hashlib.sha256(out.read_bytes()).hexdigest() != QUANTIZED:
        sys.exit(f"example {name}: {out} is another file")
    if name == "attend":
        return  # it reads no file
    out.unlink(missing_ok=True)
    bad = subprocess.run([*command, model + ".absent", *more], env=environment, capture_output=True,
                         text=True)
    if bad.returncode == 0 or ".absent" not in bad.stdout + bad.stderr or out.exists():
        sys.exit(f"example {name}, absent file: exit {bad.returncode}, {bad.stderr!r}")


def check_all(command_of, model, environment, folder, sources):
    """command_of(name) is the program of one of the sources, out of which all are run."""
    for name in EXPECTED:
        check(name, command_of(name), model, environment, pathlib.Path(folder) / "smaller.gguf")
    plain = sorted(name.replace("_", "") for name in EXPECTED)
    if sorted(source.replace("_", "").lower() for source in sources) != plain:
        sys.exit(f"examples that are not run: {sources}")
    print(f"{len(EXPECTED)} examples say what they must")
