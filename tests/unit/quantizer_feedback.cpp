// Quantizers with a calibration text: the file has the same bytes on all machines and after any
// interruption, and outputs that are nearer to those of the source model. Models whose layers read
// the keys of other layers are refused.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "machines.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "temporary.h"
}

#include <stdio.h>
#include <string.h>

namespace {

constexpr uint32_t kContext = 64, kQ4_0 = 2; // Q4_0: general.file_type
constexpr size_t kChunks = 10;

struct Stop {
    size_t n, at; // ends the run after so many tensors; 0: never
    double before = 0, after = 0;
    static ggufx_status done(void *user, size_t, const ggufx_quantizer_tensor_facts *tensor) {
        Stop &self = *static_cast<Stop *>(user);
        self.before += tensor->error_before;
        self.after += tensor->error_after;
        return ++self.n == self.at ? GGUFX_E_CANCELLED : GGUFX_OK;
    }
};

class Quantizer {
public:
    Quantizer(const TinyFile &tiny, ggufx_runtime *rt, uint64_t seed = 3) {
        ggufx_error error;
        must(ggufx_open(&file_, rt, (g_root + tiny.path).c_str(), nullptr, &error), error, "open");
        ggufx_model *model = nullptr;
        must(ggufx_model_create(&model, rt, file_, nullptr, &error), error, "model");
        const Ids tokens = random_ids(kChunks * kContext + 5, vocabulary_of(model), seed);
        ggufx_model_destroy(model);
        ggufx_quantizer_feedback feedback = {};
        feedback.struct_size = sizeof feedback;
        feedback.tokens = tokens.data();
        feedback.n_tokens = tokens.size();
        feedback.n_context = kContext;
        feedback.bos = -1;
        ggufx_quantizer_options options = {};
        options.struct_size = sizeof options;
        options.feedback = &feedback;
        must(ggufx_quantizer_create(&handle_, rt, file_, kQ4_0, &options, &error), error, "plan");
    }
    Quantizer(const Quantizer &) = delete;
    ~Quantizer() {
        ggufx_quantizer_destroy(handle_);
        ggufx_file_destroy(file_);
    }
    ggufx_status run(const char *path, uint32_t flags, Stop &stop, ggufx_error *error) const {
        ggufx_quantizer_run_options options = {};
        options.struct_size = sizeof options;
        options.flags = flags;
        options.tensor_done = Stop::done;
        options.user = &stop;
        return ggufx_quantizer_run(handle_, path, &options, error);
    }

private:
    ggufx_file *file_ = nullptr;
    ggufx_quantizer *handle_ = nullptr;
};

// Returns the bytes of a complete run.
std::string made(const TinyFile &tiny, ggufx_runtime *rt, const char *path, Stop &stop) {
    ggufx_error error;
    must(Quantizer(tiny, rt).run(path, 0, stop, &error), error, tiny.name.c_str());
    return read_bytes(path);
}

void test_machines(const TinyFile &tiny, const char *path, const Machines &all) {
    std::string want;
    for (const auto &machine : all) {
        Stop stop = {0, 0};
        const std::string got = made(tiny, machine->runtime, path, stop);
        if (machine == all.front()) want = got;
        CHECK(got == want, "%s: other bytes with %s", tiny.name.c_str(), machine->name.c_str());
        CHECK(stop.after > 0 && stop.after < stop.before, "%s: errors %g, without feedback %g",
              tiny.name.c_str(), stop.after, stop.before);
    }
}

void test_interrupted(const TinyFile &tiny, const char *path) {
    Stop whole = {0, 0};
    const std::string want = made(tiny, g_runtime, path, whole);
    for (size_t at = 1; at <= whole.n; at += whole.n / 3 + 1) {
        ggufx_error error;
        const Quantizer quantizer(tiny, g_runtime);
        Stop stop = {0, at}, rest = {0, 0};
        remove(path);
        CHECK(quantizer.run(path, GGUFX_QUANTIZER_KEEP, stop, &error) == GGUFX_E_CANCELLED,
              "%s: ends after %zu tensors: %s", tiny.name.c_str(), at, error.message);
        const Quantizer other(tiny, g_runtime, 4);
        CHECK(other.run(path, GGUFX_QUANTIZER_RESUME, rest, &error) == GGUFX_E_MISMATCH,
              "%s: resumed with another text", tiny.name.c_str());
        must(quantizer.run(path, GGUFX_QUANTIZER_RESUME, rest, &error), error, "resume");
        CHECK(read_bytes(path) == want, "%s: other bytes when resumed after %zu tensors",
              tiny.name.c_str(), at);
        CHECK(stop.n + rest.n == whole.n, "%s: %zu tensors were made again", tiny.name.c_str(),
              stop.n + rest.n - whole.n);
    }
}

void test_refused(const TinyFile &tiny, const char *path) {
    ggufx_error error;
    Stop stop = {0, 0};
    const Quantizer quantizer(tiny, g_runtime);
    const ggufx_status status = quantizer.run(path, 0, stop, &error);
    CHECK(status == GGUFX_E_UNSUPPORTED && strstr(error.message, "keys of other layers"), "%s: %s",
          tiny.name.c_str(), error.message);
    CHECK(temporary_files() == 0, "%s: files were left", tiny.name.c_str());
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    char path[TEMPORARY_PATH];
    temporary_path(path, "a.gguf");
    const Machines all = machines();
    size_t n = 0;
    for (const TinyFile &tiny : tiny_files()) {
        if (tiny.name == "gemma4") {
            test_refused(tiny, path);
            n++;
        }
        const bool has_experts = tiny.name == "qwen3moe", has_states = tiny.name == "granitehybrid";
        if (has_experts || has_states) test_machines(tiny, path, all);
        if (has_experts || tiny.name == "gemma3") test_interrupted(tiny, path);
        n += size_t{has_experts} + size_t{has_states} + size_t{tiny.name == "gemma3"};
        temporary_clean();
    }
    CHECK(n == 4, "%zu of 4 models", n);
    return end();
}
