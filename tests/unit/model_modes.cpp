// Product modes of every architecture with 8-bit weights: their distances from each other. Bits do
// not depend on the instruction set, threads, executor or requested rows.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "batch_calls.hpp"
#include "machines.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "temporary.h"
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace {

// For weights in blocks of 32: 15-bit activations lose 4e-5 of a product, 8-bit ones 1e-2
// (tests/tolerances.h). Experts that swap ranks change more, and so do weights with rows of very
// different lengths: gemma4's embeddings for each layer.
constexpr double kPrecise = 1e-5, kInt8 = 5e-3;
constexpr float kSafe = 1e-2f;
constexpr uint32_t kQ8 = 7; // general.file_type

constexpr size_t kPrompt = 70, kTokens = 76; // a page of 64, then some token by token

struct NamedMode {
    const char *name;
    Mode mode;
};
const NamedMode kModes[] = {
    {"F32", {GGUFX_MATMUL_F32, GGUFX_TYPE_F32, GGUFX_TYPE_F32}},
    {"PRECISE", {GGUFX_MATMUL_INT16, GGUFX_TYPE_F32, GGUFX_TYPE_F32}},
    {"int8", {0, GGUFX_TYPE_F32, GGUFX_TYPE_F32}},
    {"F16 cache", {0, GGUFX_TYPE_F16, GGUFX_TYPE_F16}},
    {"Q8_0 cache", {0, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0}},
};

// Rows of 16, 24 and 80 values, which are no multiple of the recipe's block size.
bool has_short_rows(const TinyFile &file) {
    return file.architecture == "deepseek2" || file.name == "gemma4";
}

// Returns the path of the file quantized by the recipe.
std::string quantized(const TinyFile &from) {
    const Opened opened(from.path);
    char path[TEMPORARY_PATH];
    temporary_path(path, "q8.gguf");
    ggufx_quantizer *job = nullptr;
    ggufx_error error;
    must(ggufx_quantizer_create(&job, g_runtime, opened.file, kQ8, nullptr, &error), error, "job");
    ggufx_quantizer_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_quantizer_info(&facts, job, &error), error, "job");
    CHECK((facts.n_fallbacks > 0) == has_short_rows(from), "%s: %llu fallbacks", from.name.c_str(),
          static_cast<unsigned long long>(facts.n_fallbacks));
    must(ggufx_quantizer_run(job, path, nullptr, &error), error, "quantize");
    ggufx_quantizer_destroy(job);
    return path;
}

// A model on a runtime of its own.
class Quantized {
public:
    Quantized(const std::string &path, const ggufx_runtime *runtime) {
        ggufx_error error;
        must(ggufx_open(&file_, runtime, path.c_str(), nullptr, &error), error, path.c_str());
        must(ggufx_model_create(&model_, runtime, file_, nullptr, &error), error, path.c_str());
    }
    Quantized(const Quantized &) = delete;
    ~Quantized() {
        ggufx_model_destroy(model_);
        ggufx_file_destroy(file_);
    }
    size_t n_vocab() const { return vocabulary_of(model_); }
    std::vector<float> decode(const Mode &mode) const {
        const Ids tokens = random_ids(kTokens, n_vocab(), 21);
        Session session(model_, mode);
        size_t calls = 0;
        return session.decode(tokens, [&] { return calls++ ? 1 : kPrompt; });
    }
    // Returns whether the last row of a call has the same bits when hidden states of all rows are
    // requested. Calls of a few tokens use dot products, longer ones tiles.
    bool last_rows_agree(const Mode &mode) const {
        const size_t lengths[] = {1, 2, 3, 5, kTokens - 11};
        const Ids tokens = random_ids(kTokens, n_vocab(), 22);
        Session all(model_, mode), last(model_, mode);
        const int32_t *next = tokens.data();
        for (const size_t n : lengths) {
            Call call;
            call.items = {make_item(0, GGUFX_DECODE_LOGITS | GGUFX_DECODE_ALL_HIDDEN, next, n)};
            call.flags = mode.matmul_flags;
            ggufx_error error;
            must(call.run(all.handle(), facts_of(model_), nullptr, &error), error, "decode_batch");
            std::vector<float> logits(n_vocab());
            must(decode_ids(last.handle(), next, n, logits.data(), logits.size(), &error), error,
                 "decode");
            if (memcmp(logits.data(), call.logits.data(), n_vocab() * sizeof(float)) != 0)
                return false;
            next += n;
        }
        return true;
    }

private:
    ggufx_file *file_ = nullptr;
    ggufx_model *model_ = nullptr;
};

// Returns the NMSE over all rows except the `spared` worst ones.
double nmse(const std::vector<float> &got, const std::vector<float> &want, size_t spared = 0) {
    const size_t n = want.size() / kTokens;
    double power = 0;
    std::vector<double> errors(kTokens);
    for (size_t i = 0; i < want.size(); i++) {
        const double w = static_cast<double>(want[i]), d = static_cast<double>(got[i]) - w;
        errors[i / n] += d * d;
        power += w * w;
    }
    std::sort(errors.begin(), errors.end());
    return std::accumulate(errors.begin(), errors.end() - static_cast<ptrdiff_t>(spared), 0.0) /
           power;
}

bool has_experts(const TinyFile &file) {
    const Opened opened(file.path);
    const std::string key = file.architecture + ".expert_count";
    size_t index = 0;
    ggufx_error error;
    return ggufx_file_meta_find(&index, opened.file, key.data(), key.size(), &error) == GGUFX_OK;
}

void test_accuracy(const TinyFile &file, const Quantized &model) {
    const std::vector<float> f32 = model.decode(kModes[0].mode);
    const std::vector<float> precise = model.decode(kModes[1].mode);
    const std::vector<float> int8 = model.decode(kModes[2].mode);
    // If two experts have almost equal scores, rounding decides; this file has such a row.
    const size_t spared = file.name.find("lfm2moe") != std::string::npos ? 1 : 0;
    const double far = nmse(precise, f32, spared), farther = nmse(int8, f32);
    CHECK(far < kPrecise, "%s: PRECISE errs by %.3g", file.name.c_str(), far);
    CHECK(memcmp(f32.data(), int8.data(), f32.size() * sizeof(float)) != 0,
          "%s: the modes are the same", file.name.c_str());
    if (file.architecture != "gemma4" && !has_experts(file))
        CHECK(farther < kInt8, "%s: 8 bits err by %.3g", file.name.c_str(), farther);
    const size_t n = model.n_vocab();
    for (size_t row = 0; row < kTokens; row++) {
        if (margin(&f32[row * n], n) <= kSafe) continue;
        CHECK(argmax(&precise[row * n], n) == argmax(&f32[row * n], n),
              "%s: another token is likeliest in row %zu", file.name.c_str(), row);
    }
    printf("%s: NMSE %.2g with 15 bits, %.2g with 8\n", file.name.c_str(), far, farther);
}

void test_last_rows(const TinyFile &file, const Quantized &model) {
    constexpr uint32_t kProducts[] = {GGUFX_MATMUL_F32, 0, GGUFX_MATMUL_TILED,
                                      GGUFX_MATMUL_BATCH_INVARIANT};
    for (const uint32_t flags : kProducts)
        CHECK(model.last_rows_agree({flags, GGUFX_TYPE_F32, GGUFX_TYPE_F32}),
              "%s, products %u: a row alone has other bits", file.name.c_str(), flags);
}

void test_bits(const TinyFile &file, const std::string &path, const Machines &all) {
    const Quantized first(path, all[0]->runtime);
    std::vector<std::unique_ptr<Quantized>> others;
    for (size_t i = 1; i < all.size(); i++)
        others.push_back(std::make_unique<Quantized>(path, all[i]->runtime));
    for (const NamedMode &mode : kModes) {
        const std::vector<float> want = first.decode(mode.mode);
        for (size_t i = 0; i < others.size(); i++) {
            const std::vector<float> got = others[i]->decode(mode.mode);
            CHECK(memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0,
                  "%s, %s: other bits with %s", file.name.c_str(), mode.name,
                  all[i + 1]->name.c_str());
        }
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    if (temporary_make() != 0) {
        fprintf(stderr, "no temporary folder\n");
        return 1;
    }
    const Machines all = machines();
    for (const auto &machine : all) printf("%s\n", machine->name.c_str());
    const std::vector<TinyFile> files = tiny_files();
    for (size_t i = 0; i < files.size(); i++) {
        const std::string path = quantized(files[i]);
        const Quantized model(path, g_runtime);
        test_accuracy(files[i], model);
        test_last_rows(files[i], model);
        if (i % test_step() == 0) test_bits(files[i], path, all);
        temporary_clean();
    }
    if (temporary_remove() != 0) fprintf(stderr, "the temporary folder is still there\n");
    return end();
}
