#!/usr/bin/env python3
"""Writes quant_rows.bin and QUANT_MANIFEST from the full golden set: make_quant_rows.py FOLDER.

Four rows of 512 values and the reference's quantization in every type, without and with an imatrix: gaussian
weights, scales that jump between groups, and rounding ties.
"""
import json
import os
import sys

ROWS = [("gauss", 0), ("gauss", 1), ("edge", 24), ("ties", 0)]  # 24 scale_jumps_16


def main():
    source, target = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    manifest = json.load(open(os.path.join(source, "manifest.json")))
    items = {item["name"]: item for item in manifest["items"]}

    def rows(name):
        item = items[name]
        data = open(os.path.join(source, item["file"]), "rb").read()
        size = len(data) // item["shape"][0]
        return [data[i:i + size] for i in range(0, len(data), size)]

    blob = b""
    for group, row in ROWS:
        blob += open(os.path.join(source, items["imatrix/" + group]["file"]), "rb").read()
        blob += rows("input/" + group)[row]
    lines = [
        "# What the real ggml (%s) makes of four rows of 512 values, in every quantized type." %
        manifest["generator"].split(",")[0],
        "# quant_rows.bin starts with imatrix and values of each row, f32 LE. Then, by line:",
        "# name, offset of the rows' bytes, 1: without the imatrix and then with it, 0: with it.",
        "# Rows: " + ", ".join("%s[%d]" % row for row in ROWS) + "; made by make_quant_rows.py.",
    ]
    types = sorted({name.split("/")[1] for name in items if name.startswith("q/")},
                   key=lambda t: manifest["types"][t]["id"])
    for name in types:
        kinds = [k for k in ("noim", "im") if "q/%s/gauss/%s" % (name, k) in items]
        lines.append("%s %d %d" % (name, len(blob), len(kinds) == 2))
        for kind in kinds:
            blob += b"".join(rows("q/%s/%s/%s" % (name, g, kind))[row] for g, row in ROWS)
    open(os.path.join(target, "quant_rows.bin"), "wb").write(blob)
    open(os.path.join(target, "QUANT_MANIFEST"), "w").write("\n".join(lines) + "\n")


main()
