// Fuzz target: a model file in memory. It is shown, weighed, bound, and decodes three tokens; what
// it does is bounded by what it holds, and decoding twice gives the same bits.
// usage: fuzz-model [number of changed files per model [first]] [FILE or FOLDER...]
// With libFuzzer: clang++ -DGGUFX_FUZZER -fsanitize=fuzzer,address,undefined over a folder of models.
// SPDX-License-Identifier: MIT
#include "model_mutator.hpp"
#include "replay.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// What a file of n bytes may take in all: 4 MiB were seen, workspaces of products among them.
size_t g_used, g_peak, g_limit;
constexpr size_t kFixed = size_t{8} << 20, kPerByte = 16;
long g_opened, g_bound, g_decoded, g_refused;

void must(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "fuzz-model: %s\n", what);
    abort();
}

void *take(void *, size_t size, size_t align) {
    must(size <= g_limit && g_used <= g_limit - size, "more memory than the file justifies");
    void *out = aligned_alloc(align, (size + align - 1) / align * align);
    if (out) g_used += size;
    if (g_used > g_peak) g_peak = g_used;
    return out;
}
void give(void *, void *memory, size_t size, size_t) {
    g_used -= memory ? size : 0;
    free(memory);
}

ggufx_runtime *make_runtime() {
    ggufx_allocator memory = {};
    memory.struct_size = sizeof memory;
    memory.alloc = take;
    memory.free = give;
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.threads = 1;
    options.allocator = &memory;
    ggufx_runtime *out = nullptr;
    must(ggufx_runtime_create(&out, &options, nullptr) == GGUFX_OK, "no runtime");
    return out;
}

// A failure says why.
bool ok(ggufx_status status, const ggufx_error &error) {
    if (status == GGUFX_OK) return true;
    must(error.status == status && error.message[0] && memchr(error.message, 0, 448), "no text");
    must(status != GGUFX_E_INTERNAL && status != GGUFX_E_MEMORY, error.message);
    return false;
}

void decode_twice(ggufx_session *session, uint32_t n_vocab) {
    const int32_t ids[3] = {0, static_cast<int32_t>(n_vocab / 2),
                            static_cast<int32_t>(n_vocab - 1)};
    std::vector<float> first(n_vocab), second(n_vocab);
    ggufx_error error;
    for (std::vector<float> *logits : {&first, &second}) {
        const ggufx_status status = ggufx_session_decode(session, ids, 3, nullptr, &error);
        if (!ok(status, error)) {
            must(status == GGUFX_E_VALUE, error.message);
            must(ggufx_session_length(session) == 0, "a failed decode left tokens");
            return;
        }
        must(ggufx_session_length(session) == 3, "three tokens");
        must(ok(ggufx_session_logits(logits->data(), n_vocab, session, &error), error), "logits");
        must(ok(ggufx_session_truncate(session, 0, &error), error), "truncate");
    }
    must(memcmp(first.data(), second.data(), n_vocab * sizeof(float)) == 0, "other bits");
    g_decoded++;
}

void use_model(const ggufx_model *model) {
    ggufx_error error;
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ok(ggufx_model_info(&facts, model, &error), error), "model info");
    for (uint32_t i = 0; i < facts.n_layers; i++) {
        ggufx_layer_facts layer = {};
        layer.struct_size = sizeof layer;
        must(ok(ggufx_model_layer(&layer, model, i, &error), error), "layer info");
        must(layer.reads_layer < facts.n_layers, "a layer of another's keys");
    }
    must(ggufx_model_layer(nullptr, model, 0, &error) == GGUFX_E_ARGUMENT, "no out");
    ggufx_session_options options;
    ggufx_session_options_init(&options);
    options.n_context = 16;
    options.n_batch = 2;
    ggufx_session *session = nullptr;
    if (!ok(ggufx_session_create(&session, model, &options, &error), error)) return;
    decode_twice(session, facts.n_vocab);
    ggufx_session_destroy(session);
}

void look(const ggufx_runtime *rt, const ggufx_file *file) {
    ggufx_error error;
    char text[256];
    size_t needed = 0;
    const ggufx_status shown = ggufx_file_graph(text, sizeof text, &needed, file, &error);
    if (shown != GGUFX_E_CAPACITY) ok(shown, error);
    ggufx_estimate_options options;
    ggufx_estimate_options_init(&options);
    options.n_context = 16;
    options.n_batch = 2;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ok(ggufx_estimate(&facts, rt, file, &options, &error), error);
    ggufx_job *job = nullptr;
    if (ok(ggufx_job_quantize(&job, rt, file, 7, nullptr, &error), error)) ggufx_job_destroy(job);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    g_limit = kFixed + kPerByte * size;
    if (!rt) rt = make_runtime();
    const size_t before = g_used;
    std::vector<uint8_t> exact(data, data + size); // so that ASan sees a read past the end
    exact.shrink_to_fit();
    ggufx_error error;
    ggufx_file *file = nullptr;
    const ggufx_status status =
        ggufx_open_memory(&file, rt, exact.data(), exact.size(), nullptr, nullptr, nullptr, &error);
    if (ok(status, error)) {
        g_opened++;
        look(rt, file);
        ggufx_model *model = nullptr;
        if (ok(ggufx_model_create(&model, rt, file, nullptr, &error), error)) {
            g_bound++;
            use_model(model);
        }
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    } else {
        g_refused++;
    }
    must(g_used == before, "memory is left");
    return 0;
}

#ifdef GGUFX_FUZZER

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                          unsigned seed) {
    Dice dice = {seed};
    const std::vector<uint8_t> out = ModelMutator(data, size).mutated(dice);
    if (out.size() > max_size) return size;
    memcpy(data, out.data(), out.size());
    return out.size();
}

#else

#include <algorithm>
#include <filesystem>

extern "C" {
#include "../unit/test_step.h"
#include "../unit/tiny_model.h"
}

namespace {

namespace fs = std::filesystem;

// Each change by its number alone, so that one can be run again.
void run_model(const uint8_t *data, size_t n, const char *name, long first, long count) {
    const ModelMutator mutator(data, n);
    must(mutator.is_gguf(), name);
    replay_input(data, n);
    for (long i = first; i < first + count; i++) {
        if (getenv("GGUFX_TEST_VERBOSE")) fprintf(stderr, "%s %ld\n", name, i);
        Dice dice = {static_cast<uint64_t>(i) * 0x10001 + n};
        const std::vector<uint8_t> changed = mutator.mutated(dice);
        replay_input(changed.data(), changed.size());
    }
}

void run_file(const fs::path &path, long first, long count) {
    FILE *f = fopen(path.c_str(), "rb");
    if (!f) return;
    std::vector<uint8_t> data(static_cast<size_t>(fs::file_size(path)));
    const bool whole = fread(data.data(), 1, data.size(), f) == data.size();
    fclose(f);
    if (whole) run_model(data.data(), data.size(), path.filename().c_str(), first, count);
}

// Models of a folder and of its folders, in the order of their names.
void run_folder(const fs::path &folder, long first, long count) {
    std::vector<fs::path> models;
    for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".gguf" && entry.file_size() < (1 << 20))
            models.push_back(entry.path());
    std::sort(models.begin(), models.end());
    for (const fs::path &model : models) run_file(model, first, count);
}

// Those that need nothing but this program.
void run_built_in(long first, long count) {
    for (int variant = 0; variant < 4; variant++) {
        tiny_options options = {};
        options.untied = variant & 1;
        options.rope_freqs = variant & 1;
        options.weight_type = variant & 2 ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F32;
        size_t n = 0;
        unsigned char *data = tiny_model(&n, &options);
        run_model(data, n, "built in", first, count);
        free(data);
    }
}

} // namespace

int main(int argc, char **argv) {
    replay_archives(&argc, &argv);
    const long count =
        (argc > 1 ? strtol(argv[1], nullptr, 10) : 100) / static_cast<long>(test_step());
    const long first = argc > 2 ? strtol(argv[2], nullptr, 10) : 0;
    run_built_in(first, 4 * count);
    for (int i = 3; i < argc; i++) {
        const fs::path path = argv[i];
        if (fs::is_directory(path))
            run_folder(path, first, count);
        else if (fs::exists(path))
            run_file(path, first, count);
        else
            printf("skipped: %s is absent\n", argv[i]);
    }
    printf("%ld files are no GGUF, %ld opened, %ld bound, %ld decoded, %zu MiB at most\n",
           g_refused, g_opened, g_bound, g_decoded, g_peak >> 20);
    must(g_refused && g_opened > g_bound && g_bound > g_decoded && g_decoded, "a way not taken");
    return 0;
}

#endif
