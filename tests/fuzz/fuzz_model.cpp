// Fuzz target: a model file in memory, or one rank's file in a group whose other ranks send the
// same messages. The file is described, estimated, bound, and decodes three tokens. Memory is
// bounded by the file's size, and decoding twice gives the same bits.
// usage: fuzz-model [number of changed files per model [first]] [FILE or FOLDER...]
// With libFuzzer: clang++ -DGGUFX_FUZZER -fsanitize=fuzzer,address,undefined over a folder of
// models.
// SPDX-License-Identifier: MIT
#include "../unit/decode_ids.h"
#include "model_mutator.hpp"
#include "replay.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// Memory limit for a file of n bytes: up to 4 MiB were measured, including product workspaces.
size_t g_used, g_peak, g_limit;
constexpr size_t kFixed = size_t{8} << 20, kPerByte = 16;
long g_opened, g_bound, g_decoded, g_refused, g_ranks;

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
    ggufx_runtime_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.allocator = &memory;
    ggufx_runtime *out = nullptr;
    must(ggufx_runtime_create(&out, &options, nullptr) == GGUFX_OK, "no runtime");
    return out;
}

// Failures have a message.
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
        const ggufx_status status = decode_ids(session, ids, 3, logits->data(), n_vocab, &error);
        if (!ok(status, error)) {
            must(status == GGUFX_E_VALUE, error.message);
            must(ggufx_session_length(session, 0) == 0, "a failed decode left tokens");
            return;
        }
        must(ggufx_session_length(session, 0) == 3, "three tokens");
        must(ok(ggufx_session_truncate(session, 0, 0, &error), error), "truncate");
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
        must(ok(ggufx_model_layer_info(&layer, model, i, &error), error), "layer info");
        must(layer.kv_layer < facts.n_layers, "a layer of another's keys");
    }
    must(ggufx_model_layer_info(nullptr, model, 0, &error) == GGUFX_E_ARGUMENT, "no out");
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 16;
    options.n_batch = 2;
    ggufx_session *session = nullptr;
    if (!ok(ggufx_session_create(&session, model, &options, &error), error)) return;
    decode_twice(session, facts.n_vocab);
    ggufx_session_destroy(session);
}

// A group whose other ranks repeat this rank's messages and report success.
class Echo {
public:
    Echo(uint32_t rank, uint32_t size, uint32_t flags) : size_(size) {
        hooks_.struct_size = sizeof hooks_;
        hooks_.user = this;
        hooks_.rank = rank;
        hooks_.size = size;
        hooks_.allgather = [](void *user, void *out, const void *in, size_t n, uint32_t,
                              ggufx_error *) -> ggufx_status {
            for (uint32_t i = 0; i < of(user).size_; i++) {
                uint8_t *const to = static_cast<uint8_t *>(out) + i * n;
                memcpy(to, in, n);
                if (n == kStart) memcpy(to + kRank, &i, sizeof i);
                if (n == kStart || n == kHeader)
                    of(user).is_well(to + (n == kStart ? kStartStatus : kStatus), i);
            }
            return GGUFX_OK;
        };
        hooks_.allgatherv = [](void *user, void *out, const void *in, const size_t *n,
                               const size_t *offsets, uint32_t, ggufx_error *) -> ggufx_status {
            for (uint32_t i = 0; i < of(user).size_; i++) {
                uint8_t *const to = static_cast<uint8_t *>(out) + offsets[i];
                const size_t own = n[of(user).hooks_.rank];
                memset(to, 0, n[i]);
                memcpy(to, in, own < n[i] ? own : n[i]);
                of(user).is_well(to + kStatus, i);
            }
            return GGUFX_OK;
        };
        hooks_.broadcast = [](void *, void *, size_t, uint32_t, uint32_t,
                              ggufx_error *) -> ggufx_status { return GGUFX_OK; };
        hooks_.barrier = [](void *, uint32_t, ggufx_error *) -> ggufx_status { return GGUFX_OK; };
        hooks_.abort = [](void *, const ggufx_error *) {};
        options_ = {};
        options_.struct_size = sizeof options_;
        options_.group = &hooks_;
        options_.flags = flags;
    }
    Echo(const Echo &) = delete;
    const ggufx_group_options *options() const { return &options_; }

private:
    // Sizes and offsets: the first message with its rank and status; the header of later messages
    // with the status.
    static constexpr size_t kStart = 96, kRank = 40, kStartStatus = 48, kHeader = 16, kStatus = 8;
    void is_well(uint8_t *status, uint32_t rank) const {
        if (rank != hooks_.rank) memset(status, 0, 4);
    }
    static Echo &of(void *user) { return *static_cast<Echo *>(user); }
    uint32_t size_;
    ggufx_group hooks_ = {};
    ggufx_group_options options_;
};

bool number_of(uint64_t *out, const ggufx_file *file, const char *key) {
    size_t index = 0;
    return ggufx_file_meta_find(&index, file, key, strlen(key), nullptr) == GGUFX_OK &&
           ggufx_file_meta_u64(out, file, index, nullptr) == GGUFX_OK;
}

void use_file(const ggufx_runtime *rt, const ggufx_file *file) {
    ggufx_error error;
    ggufx_model_options options = {};
    options.struct_size = sizeof options;
    uint64_t rank = 0, size = 0;
    const bool is_rank = number_of(&rank, file, "ggufx.rank.no") &&
                         number_of(&size, file, "ggufx.rank.count") && size <= 256 && rank < size;
    size_t layers = 0;
    const char key[] = "ggufx.rank.layers";
    const bool by_layers =
        ggufx_file_meta_find(&layers, file, key, sizeof key - 1, nullptr) == GGUFX_OK;
    Echo group(static_cast<uint32_t>(rank), is_rank ? static_cast<uint32_t>(size) : 1,
               by_layers ? GGUFX_GROUP_PIPELINE : 0);
    if (is_rank) options.group = group.options();
    ggufx_model *model = nullptr;
    if (ok(ggufx_model_create(&model, rt, file, &options, &error), error)) {
        g_bound++;
        g_ranks += is_rank;
        use_model(model);
    }
    ggufx_model_destroy(model);
}

void look(const ggufx_runtime *rt, const ggufx_file *file) {
    ggufx_error error;
    char text[256];
    size_t needed = 0;
    const ggufx_status shown = ggufx_model_describe_graph(text, sizeof text, &needed, file, &error);
    if (shown != GGUFX_E_CAPACITY) ok(shown, error);
    ggufx_estimate_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 16;
    options.n_batch = 2;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ok(ggufx_estimate(&facts, rt, file, &options, &error), error);
    ggufx_quantizer *job = nullptr;
    if (ok(ggufx_quantizer_create(&job, rt, file, 7, nullptr, &error), error))
        ggufx_quantizer_destroy(job);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    g_limit = kFixed + kPerByte * size;
    if (!rt) rt = make_runtime();
    const size_t before = g_used;
    std::vector<uint8_t> exact(data, data + size); // so that ASan detects reads past the end
    exact.shrink_to_fit();
    ggufx_error error;
    ggufx_file *file = nullptr;
    const ggufx_status status =
        ggufx_open_memory(&file, rt, exact.data(), exact.size(), nullptr, nullptr, nullptr, &error);
    if (ok(status, error)) {
        g_opened++;
        look(rt, file);
        use_file(rt, file);
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
#include "../unit/tiny_model.h"
}

namespace {

namespace fs = std::filesystem;

// Each change depends on its number only, so that it can be repeated alone.
void run_changes(const uint8_t *data, size_t n, const char *name, long first, long count) {
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

// Returns the file of one rank, or nothing if the model cannot be partitioned.
std::vector<uint8_t> of_rank(const uint8_t *data, size_t n, uint32_t rank, uint32_t size,
                             uint32_t flags) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_writer *writer = nullptr;
    std::vector<uint8_t> out;
    const auto write = [](void *user, uint32_t, const void *bytes, size_t n_bytes) -> ggufx_status {
        const auto *from = static_cast<const uint8_t *>(bytes);
        auto &to = *static_cast<std::vector<uint8_t> *>(user);
        to.insert(to.end(), from, from + n_bytes);
        return GGUFX_OK;
    };
    must(ggufx_runtime_create(&rt, nullptr, nullptr) == GGUFX_OK &&
             ggufx_open_memory(&file, rt, data, n, nullptr, nullptr, nullptr, nullptr) ==
                 GGUFX_OK &&
             ggufx_writer_create(&writer, rt, nullptr, nullptr) == GGUFX_OK,
         "a model that cannot be opened");
    if (ggufx_writer_copy_shard(writer, file, rank, size, nullptr, flags, nullptr) == GGUFX_OK)
        must(ggufx_writer_write_stream(writer, write, &out, nullptr, nullptr) == GGUFX_OK, "write");
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return out;
}

void run_model(const uint8_t *data, size_t n, const char *name, long first, long count) {
    run_changes(data, n, name, first, count);
    for (uint32_t size = 2; size <= 4; size++) { // size 4: pipeline parallelism
        const uint32_t flags = size == 4 ? GGUFX_GROUP_PIPELINE : 0;
        const std::vector<uint8_t> part = of_rank(data, n, size - 1, size, flags);
        if (!part.empty()) run_changes(part.data(), part.size(), name, first, (count + 3) / 4);
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

// Runs the models of a folder and its subfolders, ordered by path.
void run_folder(const fs::path &folder, long first, long count) {
    std::vector<fs::path> models;
    for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".gguf" && entry.file_size() < (1 << 20))
            models.push_back(entry.path());
    std::sort(models.begin(), models.end());
    for (const fs::path &model : models) run_file(model, first, count);
}

// Runs the built-in models, which need no files.
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
    const long count = replay_count(argc > 1 ? strtol(argv[1], nullptr, 10) : 100);
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
    printf(
        "%ld files are no GGUF, %ld opened, %ld bound, %ld of them of ranks, %ld decoded, %zu MiB "
        "at most\n",
        g_refused, g_opened, g_bound, g_ranks, g_decoded, g_peak >> 20);
    must(g_refused && g_opened > g_bound && g_bound > g_decoded && g_decoded && g_ranks,
         "a way not taken");
    return 0;
}

#endif
