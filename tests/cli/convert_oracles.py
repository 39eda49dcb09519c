# Converted models compute what another program stored for the model they were made from.
# SPDX-License-Identifier: MIT
import tool
from convert_case import Convert, TINY
from oracle_case import OracleCase
from tool import shared


class Oracles(OracleCase, Convert):
    def there_and_back(self, model, *options):
        folder, back = self.path("folder"), self.path("back.gguf")
        self.ok("convert", model, "--to", "safetensors", "-o", folder, *options)
        self.ok("convert", folder, "-o", back)
        return back

    def test_llama2c_checkpoint(self):
        out = self.path("s.gguf")
        self.ok("convert", shared("data", "stories260K", "stories260K.bin"), "--tokenizer",
                shared("data", "stories260K", "tok512.bin"), "-o", out)
        self.check_stories(out)

    def test_stories_through_safetensors_of_another_type(self):
        model = shared("data", "stories260K", "stories260K-f32.gguf")
        self.check_stories(self.there_and_back(model, "--outtype", "f32"))

    def test_llama3_with_its_own_rope_factors(self):
        self.check_tiny(self.there_and_back(shared("data", "tiny", "tiny-llama3-f16.gguf")), "llama3")

    def test_models_that_cannot_run_are_named(self):
        """Their files come back byte for byte (convert_export); no graph here computes them."""
        named = {"mixtral": "mixture of experts"}
        for name in [n for n in TINY if n != "llama3"]:
            model = shared("data", "tiny", "tiny-%s-f16.gguf" % name)
            folder, back = self.path(name), self.path(name + ".gguf")
            self.ok("convert", model, "--to", "safetensors", "-o", folder)
            self.ok("convert", folder, "-o", back)
            text = self.fails(4, "run", back, "--tokens", "1,2", "-n", "1")
            self.assertIn(named.get(name, name), text)


if __name__ == "__main__":
    tool.main()
