// Linear costs at four times the layers: creating a model, reading one rank's part of it, binding
// an adapter to it. Also embedding four times the texts.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "adapter_files.hpp"
#include "rewrite.hpp"

extern "C" {
#include "cost.h"
}

#include <stdio.h>

namespace {

struct Work {
    std::string bytes;
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
};

const ggufx_file *g_from;
std::string g_architecture;

// Builds a file of n_layers copies of the first layer.
void *prepare(size_t n_layers) {
    Work *work = new Work;
    Rewrite copy(g_from);
    for (const MetaKey &key : keys_of(g_from))
        if (key.name == g_architecture + ".block_count") copy.set(key, uint64_t{n_layers});
    const std::vector<TensorShape> tensors = tensors_of(g_from);
    for (size_t i = 0; i < tensors.size(); i++) {
        const std::string &name = tensors[i].name;
        if (name.rfind("blk.", 0) != 0) copy.add_tensor(i, name);
        for (size_t l = 0; name.rfind("blk.0.", 0) == 0 && l < n_layers; l++)
            copy.add_tensor(i, "blk." + std::to_string(l) + name.substr(5));
    }
    work->bytes = copy.bytes();
    work->file = open_bytes(work->bytes);
    return work;
}

void run(void *work) {
    Work *w = static_cast<Work *>(work);
    ggufx_error error;
    must(ggufx_model_create(&w->model, g_runtime, w->file, nullptr, &error), error, "model");
}

void finish(void *work) {
    Work *w = static_cast<Work *>(work);
    ggufx_model_destroy(w->model);
    ggufx_file_destroy(w->file);
    delete w;
}

void test_layers(const char *path, const char *architecture) {
    const Opened opened(path);
    g_from = opened.file;
    g_architecture = architecture;
    const cost_case layers = {architecture, 100, prepare, run, finish, 16384};
    assert_cost_is_linear(&layers);
}

// Writes the file of a rank to memory (a disk would be slower), then reads it.
struct RankWork {
    std::string bytes, part;
    ggufx_file *file = nullptr;
    bool reads = false;
    uint32_t flags = 0; // GGUFX_GROUP_PIPELINE
};

void make_part(RankWork *w) {
    ggufx_error error;
    ggufx_writer *writer = nullptr;
    const auto write = [](void *user, uint32_t, const void *data, size_t n) -> ggufx_status {
        RankWork *work = static_cast<RankWork *>(user);
        if (work->reads) work->part.append(static_cast<const char *>(data), n);
        return GGUFX_OK;
    };
    must(ggufx_writer_create(&writer, g_runtime, nullptr, &error), error, "writer");
    must(ggufx_writer_copy_shard(writer, w->file, 1, 3, nullptr, w->flags, &error), error, "rank");
    must(ggufx_writer_write_stream(writer, write, w, nullptr, &error), error, "write");
    ggufx_writer_destroy(writer);
}

void *prepare_rank(size_t n_layers, bool reads, uint32_t flags) {
    Work *const whole = static_cast<Work *>(prepare(n_layers));
    RankWork *work = new RankWork;
    work->reads = reads;
    work->flags = flags;
    work->bytes = std::move(whole->bytes);
    finish(whole);
    work->file = open_bytes(work->bytes);
    if (!reads) return work;
    make_part(work);
    ggufx_file_destroy(work->file);
    work->file = open_bytes(work->part);
    return work;
}

void run_rank(void *work) {
    RankWork *w = static_cast<RankWork *>(work);
    if (!w->reads) return make_part(w);
    ggufx_error error;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_estimate(&facts, g_runtime, w->file, nullptr, &error), error, "estimate");
}

void finish_rank(void *work) {
    RankWork *w = static_cast<RankWork *>(work);
    ggufx_file_destroy(w->file);
    delete w;
}

void test_ranks(const char *path, const char *architecture) {
    const Opened opened(path);
    g_from = opened.file;
    g_architecture = architecture;
    constexpr uint32_t kLayers = GGUFX_GROUP_PIPELINE;
    const cost_case cases[] = {
        {"file of a rank, made", 100, [](size_t n) { return prepare_rank(n, false, 0); }, run_rank,
         finish_rank, 16384},
        {"file of a rank, read", 100, [](size_t n) { return prepare_rank(n, true, 0); }, run_rank,
         finish_rank, 16384},
        {"file of layers, made", 100, [](size_t n) { return prepare_rank(n, false, kLayers); },
         run_rank, finish_rank, 16384},
        {"file of layers, read", 100, [](size_t n) { return prepare_rank(n, true, kLayers); },
         run_rank, finish_rank, 16384}};
    for (const cost_case &one : cases) assert_cost_is_linear(&one);
}

// An adapter for every matrix of such a file.
struct AdapterWork {
    Work *of = nullptr;
    std::string bytes;
    ggufx_file *file = nullptr;
    ggufx_adapter *adapter = nullptr;
};

void *prepare_adapter(size_t n_layers) {
    AdapterWork *work = new AdapterWork;
    work->of = static_cast<Work *>(prepare(n_layers));
    run(work->of);
    work->bytes = lora_bytes(work->of->file, {});
    work->file = open_bytes(work->bytes);
    return work;
}

void run_adapter(void *work) {
    AdapterWork *w = static_cast<AdapterWork *>(work);
    ggufx_error error;
    must(ggufx_adapter_create(&w->adapter, w->of->model, w->file, nullptr, &error), error,
         "adapter");
}

void finish_adapter(void *work) {
    AdapterWork *w = static_cast<AdapterWork *>(work);
    ggufx_adapter_destroy(w->adapter);
    ggufx_file_destroy(w->file);
    finish(w->of);
    delete w;
}

void test_adapters(const char *path, const char *architecture) {
    const Opened opened(path);
    g_from = opened.file;
    g_architecture = architecture;
    const cost_case adapters = {"adapter", 50, prepare_adapter, run_adapter, finish_adapter, 16384};
    assert_cost_is_linear(&adapters);
}

// Texts of the same length.
struct TextsWork {
    ggufx_embedder *embedder = nullptr;
    Ids ids;
    std::vector<ggufx_token_list> texts;
    std::vector<float> out;
};

const ggufx_model *g_model;

void *prepare_texts(size_t n) {
    TextsWork *work = new TextsWork;
    ggufx_error error;
    must(ggufx_embedder_create(&work->embedder, g_model, nullptr, &error), error, "embedder");
    for (size_t i = 0; i < 11 * n; i++) work->ids.push_back(static_cast<int32_t>(i * i % 320));
    for (size_t i = 0; i < n; i++) work->texts.push_back({work->ids.data() + 11 * i, 11});
    work->out.resize(n * 64);
    return work;
}

void run_texts(void *work) {
    TextsWork *w = static_cast<TextsWork *>(work);
    ggufx_error error;
    must(ggufx_embed(w->out.data(), w->out.size(), w->embedder, w->texts.data(), w->texts.size(),
                     nullptr, &error),
         error, "embed");
}

void finish_texts(void *work) {
    TextsWork *w = static_cast<TextsWork *>(work);
    ggufx_embedder_destroy(w->embedder);
    delete w;
}

void test_texts(const char *path) {
    Opened opened(path);
    opened.with_model();
    g_model = opened.model;
    const cost_case texts = {path, 100, prepare_texts, run_texts, finish_texts, 16384};
    assert_cost_is_linear(&texts);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    // Small layers only: four hundred large layers measure memory access.
    test_layers("/data/tiny/llama-linear/tiny-llama-linear-f16.gguf", "llama");
    test_layers("/data/tiny/qwen3moe/tiny-qwen3moe-f16.gguf", "qwen3moe");
    test_layers("/data/tiny/gpt-oss/tiny-gpt-oss-f16.gguf", "gpt-oss");
    test_ranks("/data/tiny/qwen3moe/tiny-qwen3moe-f16.gguf", "qwen3moe");
    test_adapters("/data/tiny/qwen3moe/tiny-qwen3moe-f16.gguf", "qwen3moe");
    test_texts("/data/tiny/bert/tiny-bert-f16.gguf");
    return end();
}
