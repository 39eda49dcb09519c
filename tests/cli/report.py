# report: figures of each tensor, and a page that a browser shows without a complaint.
# SPDX-License-Identifier: MIT
import html.parser
import json
import math
import os
import re
import shutil
import struct
import subprocess

import tool
from compare import floats, tensors
from tool import ARCHITECTURE, MODEL, gguf, run, shared, string

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page(html.parser.HTMLParser):
    """Elements must be closed in order; collects tags, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, text):
        self.texts.append(text)


class Report(tool.Case):
    def model(self, name, *parts, kv=()):
        entries, data = tensors(*parts)
        return self.path(name, gguf([ARCHITECTURE, *kv], entries, data))

    def page(self, *args):
        path = self.path("page.html")
        self.ok("report", *args, "--html", path, "--force")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return text, Page(text)

    def test_figures(self):
        a = self.model("a", ("blk.0.ffn_up.weight", (4,), 0, floats(1, -1, 1, -1)),
                       ("blk.1.ffn_up.weight", (4,), 0, floats(3, 0, 0, 4)), ("only", (2,), 0, floats(0, 0)))
        b = self.model("b", ("blk.0.ffn_up.weight", (4,), 0, floats(1, -1, 1, -0.5)),
                       ("blk.1.ffn_up.weight", (4,), 0, floats(3, 0, 0, 4)), ("new", (2,), 0, floats(1, math.nan)))
        value = self.json("report", b, a)
        rows = {t["name"]: t for t in value["tensors"]}
        self.assertEqual(rows["blk.0.ffn_up.weight"]["rel_rmse"], 0.25)
        self.assertEqual(rows["blk.0.ffn_up.weight"]["max_error"], 0.5)
        self.assertEqual((rows["blk.1.ffn_up.weight"]["rms"], rows["blk.1.ffn_up.weight"]["max_abs"]), (2.5, 4))
        self.assertEqual((rows["new"]["rel_rmse"], rows["new"]["n_invalid"], rows["new"]["rms"]), (None, 1, 1))
        self.assertEqual(value["worst"], ["blk.0.ffn_up.weight", "blk.1.ffn_up.weight"])
        alone = self.json("report", b)
        self.assertEqual((alone["reference"], alone["worst"][0]), (None, "blk.1.ffn_up.weight"))

    def test_codes(self):
        q8 = struct.pack("<e32b", 1, *([-128, 127] + [3] * 30))
        q4 = struct.pack("<e16B", 1, *([0x08] * 15 + [0xf0]))
        path = self.model("m", ("a", (32,), 8, q8), ("b", (32,), 2, q4))
        codes = {c["type"]: c for c in self.json("report", path)["codes"]}
        self.assertEqual([codes["q8_0"]["counts"][i] for i in (0, 255, 131, 130)], [1, 1, 30, 0])
        self.assertEqual((codes["q8_0"]["lowest"], codes["q4_0"]["lowest"]), (-128, -8))
        self.assertEqual(codes["q4_0"]["counts"], [16, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 1])

    def test_page_is_whole_and_alone(self):
        text, page = self.page(MODEL, MODEL)
        for tag in ("script", "img", "iframe", "object"):
            self.assertNotIn(tag, page.tags)
        for name, value in page.attributes:
            self.assertFalse(name.startswith("on"), name)
            if name in ("href", "src"):
                self.assertEqual(value, "data:,")
        self.assertNotIn("url(", text)
        self.assertGreaterEqual(page.tags.count("svg"), 3)
        self.assertEqual(page.tags.count("tr"), 21)
        self.assertEqual(len(re.findall(r"<g><rect", text)), 36)  # nine kinds in four layers
        self.assertIn("Error by layer and kind", "".join(page.texts))
        _, alone = self.page(MODEL)
        self.assertIn("Weights by layer and kind", "".join(alone.texts))

    def test_names_are_text(self):
        evil = '<script>alert("1")</script>&\x1b[31m'
        path = self.model("m", (evil, (4,), 0, floats(1, 2, 3, 4)), ("blk.0." + evil, (4,), 0, floats(1, 2, 3, 4)),
                          ("blk.99999999999999999999.x", (1,), 0, floats(1)), kv=[("general.name", 8, string(evil))])
        text, page = self.page(path)
        self.assertNotIn("script", page.tags)
        self.assertNotIn("\x1b", text)
        self.assertTrue(any(evil[:20] in t for t in page.texts))

    def test_errors(self):
        self.fails(2, "report", MODEL)
        self.fails(3, "report", self.path("bad", b"GGUF"), "--json")
        page = self.path("p.html", b"kept")
        self.assertIn("exists", self.fails(1, "report", MODEL, "--html", page))
        folder = shared("data", "malformed", "public")
        for name in sorted(os.listdir(folder)):
            result = run("report", os.path.join(folder, name), "--html", page, "--force")
            self.assertIn(result.returncode, (0, 3, 4, 5), (name, result.stderr))
            self.assertFalse(os.path.exists(page + ".part"))

    def test_a_browser_shows_it(self):
        if not BROWSER:
            self.skipTest("no chromium")
        self.page(MODEL, MODEL)
        shot = self.path("page.png")
        result = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--user-data-dir=" + self.path("profile"), "--hide-scrollbars", "--window-size=1200,1600",
             "--enable-logging=stderr", "--v=0", "--screenshot=" + shot, "file://" + self.path("page.html")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(b"CONSOLE", result.stderr)
        with open(shot, "rb") as file:
            picture = file.read()
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", picture[16:24]), (1200, 1600))
        self.assertGreater(len(picture), 20000)  # an empty page of this size has about 5 KB


if __name__ == "__main__":
    tool.main()
