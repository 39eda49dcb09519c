#!/usr/bin/env python3
"""Writes deq_rows.bin and MANIFEST from the full golden set: make_rows.py GOLDEN_FOLDER.

Four rows of 512 values per quantized type, chosen to reach every code path: gaussian and
heavy-tailed weights, scales that jump between groups, and a scale beyond f16 (Inf and NaN).
"""
import json
import os
import sys

ROWS = [("gauss", 1), ("heavy", 5), ("edge", 24), ("edge", 19)]  # 24 scale_jumps_16, 19 overflow


def main():
    source, target = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    manifest = json.load(open(os.path.join(source, "manifest.json")))
    items = {item["name"]: item for item in manifest["items"]}
    types = sorted({name.split("/")[1] for name in items if name.startswith("deq/")},
                   key=lambda t: manifest["types"][t]["id"])
    blob, lines = b"", [
        "# Golden rows of every quantized type, made with the real ggml (%s)." %
        manifest["generator"].split(",")[0],
        "# name, offset in deq_rows.bin, rows, values per row; there: the rows' bytes, then f32 LE.",
        "# Rows: " + ", ".join("%s/im[%d]" % row for row in ROWS) + "; made by make_rows.py.",
    ]
    for name in types:
        parts = {"q": b"", "deq": b""}
        for kind in parts:
            for group, row in ROWS:
                item = items["%s/%s/%s/im" % (kind, name, group)]
                data = open(os.path.join(source, item["file"]), "rb").read()
                n_bytes = len(data) // item["shape"][0]
                parts[kind] += data[row * n_bytes:(row + 1) * n_bytes]
        lines.append("%s %d %d %d" % (name, len(blob), len(ROWS), 512))
        blob += parts["q"] + parts["deq"]
    open(os.path.join(target, "deq_rows.bin"), "wb").write(blob)
    open(os.path.join(target, "MANIFEST"), "w").write("\n".join(lines) + "\n")


main()
