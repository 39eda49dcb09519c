# report: figures of each tensor, and a page that a browser shows without an error.
# SPDX-License-Identifier: MIT
import collections
import html.parser
import math
import os
import random
import re
import shutil
import struct
import subprocess

import tool
from compare import floats, tensors
from tool import ARCHITECTURE, MODEL, gguf, run, string

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order; collects tags, attributes and text."""

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

    def test_codes_are_what_is_decoded(self):
        # Blocks of random codes with all scales 1 and minimums 0: values are codes, or their levels.
        f16, state = struct.pack("<e", 1), random.Random(7)
        draw = state.randbytes
        iq4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
        fp4 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
        trits = bytes((state.randrange(243) * 256 + 242) // 243 for _ in range(48))
        last = bytes((state.randrange(81) * 3 * 256 + 242) // 243 for _ in range(4))
        zero = bytes(2)
        types = {  # type: id, values, block, values by code
            "q5_0": (6, 32, f16 + draw(20), range(-16, 16)),
            "q5_1": (7, 32, f16 + zero + draw(20), range(32)),
            "q2_K": (10, 256, bytes([1] * 16) + draw(64) + f16 + zero, range(4)),
            "q3_K": (11, 256, draw(96) + bytes([0x11] * 8 + [0xaa] * 4) + f16, range(-4, 4)),
            "q4_K": (12, 256, f16 + zero + bytes([1] * 4 + [0] * 4 + [1] * 4) + draw(128), range(16)),
            "q5_K": (13, 256, f16 + zero + bytes([1] * 4 + [0] * 4 + [1] * 4) + draw(160), range(32)),
            "q6_K": (14, 256, draw(192) + bytes([1] * 16) + f16, range(-32, 32)),
            "iq4_nl": (20, 32, f16 + draw(16), iq4),
            "iq4_xs": (23, 256, f16 + b"\xaa\xaa" + bytes([0x11] * 4) + draw(128), iq4),
            "tq1_0": (34, 256, trits + last + f16, range(-1, 2)),
            "tq2_0": (35, 256, draw(64) + f16, range(-1, 3)),
            "mxfp4": (39, 32, b"\x80" + draw(16), fp4),
            "nvfp4": (40, 64, b"\x40" * 4 + draw(32), fp4),
            "q1_0": (41, 128, f16 + draw(16), (-1, 1)),
            "q2_0": (42, 64, f16 + draw(16), range(-1, 3)),
        }
        path = self.model("m", *((name, (n,), number, block) for name, (number, n, block, _) in types.items()))
        codes = {c["type"]: c for c in self.json("report", path)["codes"]}
        self.assertEqual(set(codes), set(types))
        for name, (_, n, _, levels) in types.items():
            raw = struct.unpack("<%df" % n, self.ok("dequant", path, name, "--raw"))
            values, want = collections.Counter(raw), collections.Counter()
            for code, count in enumerate(codes[name]["counts"]):
                want[levels[code]] += count
            self.assertEqual(values, +want, name)
            self.assertGreater(len(values), 1, name)
            if isinstance(levels, range):
                self.assertEqual(codes[name]["lowest"], levels[0], name)

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
        self.assertIn("Largest errors", "".join(page.texts))
        _, alone = self.page(MODEL)
        self.assertIn("Largest weights", "".join(alone.texts))

    def heads(self, text):
        return re.findall(r"<th[^>]*>([^<]*)</th>", text)

    def test_nothing_is_empty_without_a_reference(self):
        text, _ = self.page(MODEL)
        self.assertEqual(self.heads(text), ["tensor", "type", "bytes", "rms", "largest"])
        self.assertNotIn("<td class=\"n\"></td>", text)
        text, _ = self.page(MODEL, MODEL)
        self.assertEqual(self.heads(text)[5:], ["relative rmse", "largest error"])

    def test_no_folder_of_the_machine_is_in_it(self):
        with open(MODEL, "rb") as file:
            model = self.path("model.gguf", file.read())
        for args in ((model,), (model, model)):
            text, page = self.page(*args)
            self.assertNotIn(self.folder, text)
            self.assertIn("model.gguf", "".join(page.texts))
        self.assertEqual(self.json("report", model)["file"], model)  # for programs

    def test_light_and_dark(self):
        text, _ = self.page(MODEL)
        self.assertIn("@media(prefers-color-scheme:dark)", text)
        self.assertNotRegex(text, r'<(path|text)[^>]*(fill|stroke)="#(222|2f6fab|888)"[^>]*class')

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
        for path in tool.stepped(tool.hostile_files(), 4):
            name = os.path.basename(path)
            result = run("report", path, "--html", page, "--force")
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
