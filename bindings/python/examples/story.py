"""Greedy generation: a prompt, then the events of a generator.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

PROMPT = "Once upon a time"

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    print(PROMPT, end="")
    for event in ggufx.Model(rt, file).generate(PROMPT, max_tokens=34):
        print(event.text, end="")
    print()
