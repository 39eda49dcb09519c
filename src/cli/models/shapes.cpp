// SPDX-License-Identifier: MIT
#include "models/shapes.hpp"

#include "common/text.hpp"

namespace ggufx::cli {

// Values from the models' published config.json; context lengths of the instruct versions. Sums
// over tensors match the published numbers of parameters, which tests/cli/fit.py compares. Gemma 3:
// text only.
// clang-format off
static constexpr Shape kShapes[] = {
    // name, architecture, layers, embedding, FFN, heads, KV heads, head dim, vocabulary, context
    {"llama3.2-1b", "llama", 16, 2048, 8192, 32, 8, 64, 128256, 131072, kTied | kRopeFreqs},
    {"llama3.2-3b", "llama", 28, 3072, 8192, 24, 8, 128, 128256, 131072, kTied | kRopeFreqs},
    {"llama3.1-8b", "llama", 32, 4096, 14336, 32, 8, 128, 128256, 131072, kRopeFreqs},
    {"llama3.1-70b", "llama", 80, 8192, 28672, 64, 8, 128, 128256, 131072, kRopeFreqs},
    {"llama3.1-405b", "llama", 126, 16384, 53248, 128, 8, 128, 128256, 131072, kRopeFreqs},
    {"llama2-7b", "llama", 32, 4096, 11008, 32, 32, 128, 32000, 4096},
    {"llama2-13b", "llama", 40, 5120, 13824, 40, 40, 128, 32000, 4096},
    {"llama2-70b", "llama", 80, 8192, 28672, 64, 8, 128, 32000, 4096},
    {"tinyllama-1.1b", "llama", 22, 2048, 5632, 32, 4, 64, 32000, 2048},
    {"mistral-7b", "llama", 32, 4096, 14336, 32, 8, 128, 32768, 32768},
    {"mixtral-8x7b", "llama", 32, 4096, 14336, 32, 8, 128, 32000, 32768, 0, 8, 2},
    {"mixtral-8x22b", "llama", 56, 6144, 16384, 48, 8, 128, 32768, 65536, 0, 8, 2},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, kTied | kBias},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 8960, 12, 2, 128, 151936, 32768, kTied | kBias},
    {"qwen2.5-3b", "qwen2", 36, 2048, 11008, 16, 2, 128, 151936, 32768, kTied | kBias},
    {"qwen2.5-7b", "qwen2", 28, 3584, 18944, 28, 4, 128, 152064, 32768, kBias},
    {"qwen2.5-14b", "qwen2", 48, 5120, 13824, 40, 8, 128, 152064, 32768, kBias},
    {"qwen2.5-32b", "qwen2", 64, 5120, 27648, 40, 8, 128, 152064, 32768, kBias},
    {"qwen2.5-72b", "qwen2", 80, 8192, 29568, 64, 8, 128, 152064, 32768, kBias},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 40960, kTied | kHeadNorms},
    {"qwen3-1.7b", "qwen3", 28, 2048, 6144, 16, 8, 128, 151936, 40960, kTied | kHeadNorms},
    {"qwen3-4b", "qwen3", 36, 2560, 9728, 32, 8, 128, 151936, 40960, kTied | kHeadNorms},
    {"qwen3-8b", "qwen3", 36, 4096, 12288, 32, 8, 128, 151936, 40960, kHeadNorms},
    {"qwen3-14b", "qwen3", 40, 5120, 17408, 40, 8, 128, 151936, 40960, kHeadNorms},
    {"qwen3-32b", "qwen3", 64, 5120, 25600, 64, 8, 128, 151936, 40960, kHeadNorms},
    {"qwen3-30b-a3b", "qwen3moe", 48, 2048, 768, 32, 4, 128, 151936, 40960, kHeadNorms, 128, 8},
    {"gemma2-2b", "gemma2", 26, 2304, 9216, 8, 4, 256, 256000, 8192, kTied | kPostNorms},
    {"gemma2-9b", "gemma2", 42, 3584, 14336, 16, 8, 256, 256000, 8192, kTied | kPostNorms},
    {"gemma2-27b", "gemma2", 46, 4608, 36864, 32, 16, 128, 256000, 8192, kTied | kPostNorms},
    {"gemma3-1b", "gemma3", 26, 1152, 6912, 4, 1, 256, 262144, 32768, kTied | kHeadNorms | kPostNorms},
    {"gemma3-4b", "gemma3", 34, 2560, 10240, 8, 4, 256, 262144, 131072, kTied | kHeadNorms | kPostNorms},
    {"gemma3-12b", "gemma3", 48, 3840, 15360, 16, 8, 256, 262144, 131072, kTied | kHeadNorms | kPostNorms},
    {"gemma3-27b", "gemma3", 62, 5376, 21504, 32, 16, 128, 262144, 131072, kTied | kHeadNorms | kPostNorms},
    {"phi3-mini", "phi3", 32, 3072, 8192, 32, 32, 96, 32064, 4096, kFused},
    {"phi4", "phi3", 40, 5120, 17920, 40, 10, 128, 100352, 16384, kFused},
    {"qwen3.5-0.8b", "qwen35", 24, 1024, 3584, 8, 2, 256, 248320, 262144, kTied | kHeadNorms | kDelta},
    {"gpt-oss-20b", "gpt-oss", 24, 2880, 2880, 64, 8, 64, 201088, 131072, kSinks, 32, 4},
    {"gpt-oss-120b", "gpt-oss", 36, 2880, 2880, 64, 8, 64, 201088, 131072, kSinks, 128, 4},
    {"gpt-oss-4l", "gpt-oss", 4, 2880, 2880, 64, 8, 64, 201088, 131072, kSinks, 32, 4}, // four of its layers
    {"bert-base", "bert", 12, 768, 3072, 12, 12, 64, 30522, 512, kEncoder},
    {"bert-tiny", "bert", 2, 128, 512, 2, 2, 64, 30522, 512, kEncoder},
    {"stories260k", "llama", 5, 64, 172, 8, 4, 8, 512, 512, kTied},
};
// clang-format on

std::span<const Shape> all_shapes() {
    return kShapes;
}

const Shape &find_shape(const std::string &name) {
    std::vector<std::string> names;
    std::string list;
    for (const Shape &shape : kShapes) {
        if (name == shape.name) return shape;
        names.emplace_back(shape.name);
        list += (list.empty() ? "" : ", ") + names.back();
    }
    throw Failure(kUsage, "--shape: no shape \"" + escape(name) + "\"" + did_you_mean(name, names) +
                              "; known: " + list);
}

} // namespace ggufx::cli
