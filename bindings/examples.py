"""The examples of a language, run on the demo model: the same words from all of them, because a
result has the same bits whatever calls for it.

Used by run.py.
SPDX-License-Identifier: MIT
"""
import subprocess
import sys

# What each says; None: the first of as many lines as the model has tensors.
EXPECTED = {
    "tensors": None,
    "matvec": "1024 rows, y[0] = 4.139149, y[1023] = 0.016635",
    "quantize": "278528 bytes, as q4_K 147456, squared error 16.988876",
    "attend": "100 tokens, out[0] = -0.162050, out[255] = -0.506783",
    "story": "Once upon a time Nib was careful. The old book was under the bed. "
             "Nib was in the village. Nib and Nib played c",
}


def check(name, command, model, environment):
    """An example says what it must, and says what is wrong with a file that is not there."""
    done = subprocess.run([*command, model], env=environment, capture_output=True, text=True,
                          encoding="utf-8")
    lines = done.stdout.splitlines()
    if EXPECTED[name] is None:
        good = len(lines) == 38 and "token_embd.weight q8_0 256 x 1024" in lines \
            and "blk.0.attn_k.weight q8_0 256 x 128" in lines
    else:
        good = lines == [EXPECTED[name]]
    if done.returncode or not good:
        sys.exit(f"example {name}: exit {done.returncode}, {done.stdout!r} {done.stderr!r}")
    if name == "attend":
        return  # it reads no file
    bad = subprocess.run([*command, model + ".absent"], env=environment, capture_output=True,
                         text=True)
    if bad.returncode == 0 or ".absent" not in bad.stdout + bad.stderr:
        sys.exit(f"example {name}, absent file: exit {bad.returncode}, {bad.stderr!r}")


def check_all(command_of, model, environment):
    """command_of(name) is the program."""
    for name in EXPECTED:
        check(name, command_of(name), model, environment)
    print(f"{len(EXPECTED)} examples say what they must")
