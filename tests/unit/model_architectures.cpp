// Logits of every architecture against the reference implementation (tests/models), or against
// those that another engine stored: a prompt in one call, in calls of random sizes and token by
// token.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

#include <math.h>
#include <stdio.h>

#include <algorithm>

namespace {

// A correct F32 run differs from the stored logits by less than 5e-5 (data/README.md).
constexpr double kTolerance = 1e-3;
constexpr float kSafe = 1e-2f; // rounding cannot change the order beyond this margin

// Models that must be found, so that a missing folder or model shows.
constexpr const char *kWanted[] = {"cohere2",        "deepseek2-legacy",
                                   "deepseek2-lite", "deepseek2-v3",
                                   "exaone4",        "gemma",
                                   "gemma2",         "gemma3",
                                   "gemma4",         "gemma4-moe",
                                   "glm4",           "glm4moe",
                                   "gpt-oss",        "granite",
                                   "granitehybrid",  "granitemoe",
                                   "hunyuan-dense",  "lfm2",
                                   "lfm2moe",        "llama-linear",
                                   "llama-yarn",     "llama3",
                                   "llama4",         "mamba2",
                                   "mistral3",       "mixtral",
                                   "nemotron-h",     "nemotron-h-moe",
                                   "olmo2",          "olmo3",
                                   "phi3",           "phi3-longrope",
                                   "qwen2",          "qwen2moe",
                                   "qwen3",          "qwen3-embedding",
                                   "qwen35",         "qwen35moe",
                                   "qwen3moe",       "qwen3next",
                                   "qwen3vl",        "smollm3",
                                   "starcoder2"};
// Architectures without a tiny file; most have one of the generator's (cli/architectures.py).
constexpr const char *kOthers[] = {"arcee",  "command-r", "dots1",       "ernie4_5", "ernie4_5-moe",
                                   "falcon", "gpt2",      "hunyuan-moe", "mamba",    "nemotron",
                                   "olmoe",  "phi2",      "qwen2vl",     "seed_oss", "stablelm"};

double check(const TinyCase &want, const std::vector<float> &got, const char *how) {
    const double worst = distance(got, want.logits);
    CHECK(worst <= kTolerance, "%s, %s: logits differ by %.3g", want.name.c_str(), how, worst);
    const size_t n = want.n_vocab, first = want.prompt.size() - 1;
    for (size_t i = 0; i < want.generated.size() && first + i < want.n_rows(); i++) {
        if (margin(&want.logits[(first + i) * n], n) <= kSafe) continue;
        const int32_t id = argmax(&got[(first + i) * n], n);
        CHECK(id == want.generated[i], "%s, %s: token %zu is %d, not %d", want.name.c_str(), how, i,
              id, want.generated[i]);
    }
    return worst;
}

void test_case(const ggufx_model *model, const TinyCase &want) {
    const Ids tokens = want.tokens();
    const Mode mode = {.n_context = want.n_context};
    const size_t n_prompt = want.prompt.size();
    size_t calls = 0; // the prompt, then token by token
    double worst =
        check(want, Session(model, mode).decode(tokens, [&] { return calls++ ? 1 : n_prompt; }),
              "one batch");
    worst = std::max(
        worst, check(want, Session(model, mode).decode(tokens, [] { return 1; }), "single tokens"));
    for (uint64_t seed = 1; seed <= 3; seed++) {
        Random random = {seed};
        Mode cut = mode;
        cut.n_batch = seed == 1 ? 0 : static_cast<uint32_t>(1 + random.below(9));
        const std::vector<float> got =
            Session(model, cut).decode(tokens, [&] { return 1 + random.below(13); });
        worst = std::max(worst, check(want, got, "random cuts"));
    }
    printf("%s: %zu rows, worst %.2g%s\n", want.name.c_str(), want.n_rows(), worst,
           want.exact ? " of binary64" : "");
}

void test_files(const std::vector<TinyFile> &files) {
    for (const TinyFile &file : files) {
        Opened opened(file.path);
        opened.with_model();
        for (size_t i = 0; i < file.cases.size(); i++) test_case(opened.model, file.read(i));
    }
}

void test_every_wanted_architecture_is_found(const std::vector<TinyFile> &files) {
    for (const char *name : kWanted) {
        const auto is_it = [&](const TinyFile &file) { return file.name == name; };
        const auto found = std::find_if(files.begin(), files.end(), is_it);
        CHECK(found != files.end(), "%s: no file, or no program", name);
        if (found == files.end()) continue;
        const bool pools = found->name.find("embedding") != std::string::npos;
        CHECK(pools || !found->cases.empty(), "%s: no stored logits", name);
    }
    for (const char *name : kOthers)
        CHECK(ggufx_has((std::string("arch:") + name).c_str()), "%s: no program", name);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    const std::vector<TinyFile> files = tiny_files();
    test_every_wanted_architecture_is_found(files);
    test_files(files);
    return end();
}
