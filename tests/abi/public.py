"""The end of a guard test, and the reader of the public headers for those that need it (bindings/interface.py).

SPDX-License-Identifier: MIT
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings"))
import interface  # noqa: E402, F401


def finish(what, faults, n_checked):
    """Prints the faults and exits; no input at all is a fault, too."""
    if not n_checked:
        faults = [*faults, "nothing was checked"]
    for fault in faults:
        print("FAIL:", fault)
    print(f"{what}: {n_checked} checked, {len(faults)} faults")
    sys.exit(1 if faults else 0)
