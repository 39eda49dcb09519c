# Converted models have the results of their source and the stored results of another program.
# SPDX-License-Identifier: MIT
import tempfile

import tool
from convert_case import Convert, TINY
from oracle_case import OracleCase
from tool import MODEL, shared


class Oracles(OracleCase, Convert):
    def there_and_back(self, model, *options):
        folder, back = (tempfile.mktemp(dir=self.folder) + end for end in ("", ".gguf"))
        self.ok("convert", model, "--to", "safetensors", "-o", folder, *options)
        self.ok("convert", folder, "-o", back)
        return back

    def test_the_demo_through_safetensors(self):
        back, logits = self.there_and_back(MODEL, "--outtype", "f32"), []
        exact = self.path("exact.gguf")
        self.ok("quantize", MODEL, exact, "-q", "--type", "F32", "--allow-requantize")
        for model in (exact, back):
            target = self.path("rows.f32")
            self.ok("run", model, "-p", "Once there was", "-n", "8", "--temp", "0", "--logits", target, "--force")
            with open(target, "rb") as file:
                logits.append(file.read())
        self.assertGreater(len(logits[0]), 8 * 4096)
        self.assertTrue(logits[0] == logits[1])

    def test_stories_through_safetensors_of_another_type(self):
        model = shared("data", "stories260K", "stories260K-f32.gguf")
        self.check_stories(self.there_and_back(model, "--outtype", "f32"))

    def test_tiny_models_through_safetensors(self):
        for name in TINY:
            with self.subTest(name):
                model = tool.tiny(name)
                self.check_tiny(self.there_and_back(model), name)


if __name__ == "__main__":
    tool.main()
