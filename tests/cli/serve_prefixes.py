# ggufx serve: with the prefix cache, models with recurrent layers and windows give the answers of a fresh sequence.
# SPDX-License-Identifier: MIT
import random

import tool
from serve_case import Served

TEXT = "/v1/completions"
MODELS = ("qwen35", "qwen3next", "lfm2", "mamba2", "granitehybrid", "nemotron-h", "gemma3", "gemma4", "cohere2", "gpt-oss", "llama4",
          "deepseek2-v3")
CACHES = ((), ("--ctk", "q8_0", "--ctv", "q8_0"))


class Prefixes(Served):
    def answer(self, server, prompt, **more):
        """Returns text, log-probabilities and cached tokens of eight tokens after a prompt."""
        status, answer = server.ask(TEXT, {"prompt": prompt, "max_tokens": 8, "temperature": 0, "logprobs": 1, **more})
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        return choice["text"], choice["logprobs"]["token_logprobs"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_a_prompt_that_goes_on_branches_and_comes_back(self):
        source = random.Random(5)
        ids = [source.randrange(260, 319) for _ in range(150)]
        # A prompt, one that continues it, one that branches off before its end, the first again, a longer one.
        prompts = [ids[:100], ids[:100] + [261] + ids[100:130], ids[:90] + [270] + ids[100:120], ids[:100], ids[:100] + [261] + ids[100:150]]
        for model, cache in tool.stepped([(model, cache) for model in MODELS for cache in CACHES]):
            with self.subTest(model=model, cache=cache):
                server = self.serve("--parallel", "2", "-t", "1", *cache, model=tool.tiny(model))
                cached, n = [], 0
                for i, prompt in enumerate(prompts):
                    *warm, n_cached = self.answer(server, prompt)
                    *cold, n_none = self.answer(server, prompt, cache_prompt=False)
                    self.assertEqual((warm, n_none), (cold, 0), i)
                    cached.append(n_cached)
                    n += len(cold[1])
                self.assertEqual(cached, [0, 100, 90, 90, 100])
                self.assertGreater(n, 8)


if __name__ == "__main__":
    tool.main()
