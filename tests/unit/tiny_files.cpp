// Implementation of tiny_files.hpp.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

extern "C" {
#include "temporary.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fs = std::filesystem;

namespace {

// Older models are next to the folder of their results, newer ones within it.
constexpr const char *kTiny = "/data/tiny/", *kOlder = "/data/tiny/oracle-public/";

std::vector<std::string> names_in(const std::string &folder) {
    std::vector<std::string> out;
    for (const auto &entry : fs::directory_iterator(g_root + folder))
        out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

std::string architecture_of(const std::string &path) {
    const Opened opened(path);
    constexpr const char key[] = "general.architecture";
    size_t index = 0;
    ggufx_text text = {};
    ggufx_error error;
    must(ggufx_file_meta_find(&index, opened.file, key, sizeof key - 1, &error), error, key);
    must(ggufx_file_meta_string(&text, opened.file, index, &error), error, key);
    return {text.data, text.size};
}

bool embeds_only(const std::string &path) {
    Opened opened(path);
    opened.with_model();
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, opened.model, &error), error, "info");
    return (facts.flags & GGUFX_MODEL_EMBEDDING_ONLY) != 0;
}

void add(std::vector<TinyFile> &out, const std::string &name, const std::string &path,
         const std::string &answers) {
    if (!fs::exists(g_root + path)) return;
    TinyFile file = {name, path, architecture_of(path), false, {}, {}};
    if (!ggufx_has(("arch:" + file.architecture).c_str())) return;
    file.embeds_only = embeds_only(path);
    for (const std::string &n : names_in(answers)) {
        const size_t logits = n.find(".logits.f32"), embedding = n.find(".embd.f32");
        if (logits != std::string::npos)
            file.cases.push_back(answers + "/" + n.substr(0, logits));
        else if (embedding != std::string::npos)
            file.embeddings.push_back(answers + "/" + n.substr(0, embedding));
    }
    out.push_back(file);
}

} // namespace

std::string quantized(const std::string &path, const std::string &name) {
    const Opened opened(path);
    char out[TEMPORARY_PATH];
    temporary_path(out, ("ranks-" + name + ".gguf").c_str());
    constexpr uint32_t kQ8 = 7; // general.file_type
    ggufx_quantizer *job = nullptr;
    ggufx_error error;
    must(ggufx_quantizer_create(&job, g_runtime, opened.file, kQ8, nullptr, &error), error, "job");
    must(ggufx_quantizer_run(job, out, nullptr, &error), error, "quantize");
    ggufx_quantizer_destroy(job);
    return out;
}

std::vector<float> read_floats(const std::string &path) {
    const std::string raw = read_bytes(path);
    std::vector<float> out(raw.size() / 4);
    for (size_t i = 0; i < out.size(); i++) {
        uint32_t u = 0;
        for (size_t j = 4; j-- > 0;) u = u << 8 | static_cast<uint8_t>(raw[4 * i + j]);
        memcpy(&out[i], &u, 4);
    }
    return out;
}

Ids TinyCase::tokens() const {
    Ids out = prompt;
    for (size_t i = 0; out.size() < n_rows(); i++) out.push_back(generated.at(i));
    return out;
}

TinyCase TinyFile::read(size_t i) const {
    const Json facts = read_json(cases[i] + ".json");
    TinyCase out;
    out.name = name + "/" + cases[i].substr(cases[i].rfind('/') + 1);
    out.prompt = numbers_of(facts.at("prompt_tokens"));
    out.generated = numbers_of(facts.at("generated_tokens"));
    if (const Json *const n = facts.find("n_ctx"))
        out.n_context = static_cast<uint32_t>(n->natural());
    out.n_vocab = facts.at("n_vocab").natural();
    out.exact = fs::exists(g_root + cases[i] + ".ref64.f32");
    out.logits = read_floats(cases[i] + (out.exact ? ".ref64.f32" : ".logits.f32"));
    return out;
}

std::vector<TinyFile> all_tiny_files() {
    std::vector<TinyFile> out;
    for (const std::string &name : names_in(kTiny)) {
        const std::string folder = kTiny + name;
        add(out, name, folder + "/tiny-" + name + "-f16.gguf", folder);
    }
    if (!fs::exists(g_root + kOlder)) return out;
    for (const std::string &name : names_in(kOlder))
        add(out, name, kTiny + ("tiny-" + name) + "-f16.gguf", kOlder + name);
    return out;
}

std::vector<TinyFile> tiny_files() {
    std::vector<TinyFile> out = all_tiny_files();
    std::erase_if(out, [](const TinyFile &file) { return file.embeds_only; });
    return out;
}

std::vector<TinyFile> tiny_embedders() {
    std::vector<TinyFile> out = all_tiny_files();
    std::erase_if(out, [](const TinyFile &file) { return file.embeddings.empty(); });
    return out;
}

ggufx_embed_options embed_options(const EmbedMode &mode) {
    ggufx_embed_options options = {};
    options.struct_size = sizeof options;
    options.matmul_flags = mode.matmul_flags;
    options.pooling = mode.pooling;
    options.n_context = mode.n_context;
    options.n_batch = mode.n_batch;
    options.flags = mode.flags;
    options.dimensions = mode.dimensions;
    return options;
}

Embedder::Embedder(const ggufx_model *model, const EmbedMode &mode) {
    const ggufx_embed_options options = embed_options(mode);
    facts_.struct_size = sizeof facts_;
    ggufx_error error;
    must(ggufx_embedder_create(&handle_, model, &options, &error), error, "embedder");
    must(ggufx_embedder_info(&facts_, handle_, &error), error, "info");
}

ggufx_status Embedder::embed(std::vector<float> &out, const std::vector<Ids> &texts,
                             const ggufx_progress *progress, ggufx_error *error) {
    std::vector<ggufx_token_list> lists;
    size_t rows = 0;
    for (const Ids &text : texts) {
        lists.push_back({text.data(), text.size()});
        const bool by_token = facts_.pooling == GGUFX_POOLING_NONE;
        rows += by_token ? std::min<size_t>(text.size(), facts_.n_context) : 1;
    }
    out.assign(rows * facts_.dimensions, 0);
    return ggufx_embed(out.data(), out.size(), handle_, lists.data(), lists.size(), progress,
                       error);
}

std::vector<float> Embedder::embed(const std::vector<Ids> &texts) {
    std::vector<float> out;
    ggufx_error error;
    must(embed(out, texts, nullptr, &error), error, "embed");
    return out;
}

size_t vocabulary_of(const ggufx_model *model) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, model, &error), error, "info");
    return facts.n_vocab;
}

Session::Session(const ggufx_model *model, const Mode &mode) : n_vocab_(vocabulary_of(model)) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.matmul_flags = mode.matmul_flags;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = mode.type_k;
    options.type_v = mode.type_v;
    options.n_context = mode.n_context;
    options.n_batch = mode.n_batch;
    ggufx_error error;
    must(ggufx_session_create(&handle_, model, &options, &error), error, "session");
}

std::vector<float> Session::decode(const int32_t *tokens, size_t n) {
    std::vector<float> out(n * n_vocab_);
    ggufx_error error;
    must(decode_all(handle_, tokens, n, out.data(), out.size(), &error), error, "decode");
    return out;
}

std::vector<float> Session::decode(const Ids &tokens, const std::function<size_t()> &next) {
    std::vector<float> out;
    for (size_t done = 0; done < tokens.size();) {
        const size_t n = std::min(next(), tokens.size() - done);
        const std::vector<float> rows = decode(tokens.data() + done, n);
        out.insert(out.end(), rows.begin(), rows.end());
        done += n;
    }
    return out;
}

int32_t argmax(const float *logits, size_t n) {
    return static_cast<int32_t>(std::max_element(logits, logits + n) - logits);
}

float margin(const float *logits, size_t n) {
    std::vector<float> sorted(logits, logits + n);
    std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
    return sorted[0] - sorted[1];
}

double distance(const std::vector<float> &got, const std::vector<float> &want) {
    double worst = got.size() == want.size() ? 0 : INFINITY;
    for (size_t i = 0; i < got.size() && i < want.size(); i++) {
        const double far = fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        worst = std::max(worst, far == far ? far : INFINITY);
    }
    return worst;
}

Ids random_ids(size_t n, size_t n_vocab, uint64_t seed) {
    Random random = {seed};
    Ids out(n);
    for (int32_t &id : out) id = static_cast<int32_t>(random.below(n_vocab));
    return out;
}
