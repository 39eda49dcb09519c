"""Greedy generation: a prompt, then the events of a generator.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

PROMPT = "Once upon a time"

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    session = ggufx.Session(ggufx.Model(rt, file))
    generator = ggufx.Generator(session, max_tokens=34)
    generator.set_prompt(ggufx.Prompt(text=PROMPT))
    print(PROMPT, end="")
    while (event := generator.next()).kind != ggufx.EventKind.END:
        print(event.text, end="")
    print()
