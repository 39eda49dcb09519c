// Embeddings against the reference implementation (tests/models), or those that another engine
// stored. Rerankers against their formula in binary64. Bits depend on no neighbour, order, batch
// size or machine.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "machines.hpp"
#include "rewrite.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "test_step.h"
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <numeric>

namespace {

constexpr double kTolerance = 1e-3; // largest measured: 2e-6
constexpr const char *kWanted[] = {"bert", "gemma-embedding", "modern-bert", "nomic-bert",
                                   "qwen3-embedding"};

using Floats = std::vector<float>;

bool equal(const Floats &a, const Floats &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Lengths below and above the four columns at which products change their bits, and around a page
// of 64.
std::vector<Ids> texts_for(const ggufx_model *model) {
    std::vector<Ids> out;
    for (const size_t n : std::initializer_list<size_t>{1, 2, 17, 3, 64, 4, 65, 1, 100, 5})
        out.push_back(random_ids(n, vocabulary_of(model), 31 + out.size()));
    return out;
}

// ---- stored embeddings ------------------------------------------------------------------------

std::string exact_or_stored(const std::string &name) {
    const std::string exact = name + ".ref64.f32";
    return read_bytes(exact).empty() ? name + ".embd.f32" : exact;
}

void test_oracles(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    Embedder embedder(opened.model, {});
    for (const std::string &name : file.embeddings) {
        const Ids ids = numbers_of(read_json(name + ".json").at("prompt_tokens"));
        const Floats want = read_floats(exact_or_stored(name)), got = embedder.embed({ids});
        const double far = distance(got, want);
        CHECK(far <= kTolerance, "%s: off by %.3g", name.c_str(), far);
        const Floats among = embedder.embed({{5, 6}, ids, {7}});
        const size_t n = got.size();
        CHECK(among.size() == 3 * n && memcmp(&among[n], got.data(), n * sizeof(float)) == 0,
              "%s: other bits between other texts", name.c_str());
        printf("%s: %zu values, off by %.2g\n", name.c_str(), n, far);
    }
}

// ---- bits -------------------------------------------------------------------------------------

void test_neighbours(const TinyFile &file, uint32_t flags, uint32_t pooling) {
    Opened opened(file.path);
    opened.with_model();
    const std::vector<Ids> texts = texts_for(opened.model);
    const EmbedMode wide = {.matmul_flags = flags, .pooling = pooling, .n_context = 128};
    EmbedMode narrow = wide;
    narrow.n_batch = 130;
    Embedder one(opened.model, wide), other(opened.model, narrow);
    const size_t width = one.facts().dimensions;
    const Floats all = one.embed(texts);
    CHECK(equal(other.embed(texts), all), "%s: other bits in other batches", file.name.c_str());
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        Random random = {seed};
        for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
        std::vector<Ids> shuffled;
        Floats want;
        for (const size_t i : order) {
            shuffled.push_back(texts[i]);
            const bool by_token = pooling == GGUFX_POOLING_NONE;
            size_t before = i;
            for (size_t j = 0; by_token && j < i; j++) before += texts[j].size() - 1;
            const size_t rows = by_token ? texts[i].size() : 1;
            want.insert(want.end(), all.begin() + static_cast<ptrdiff_t>(before * width),
                        all.begin() + static_cast<ptrdiff_t>((before + rows) * width));
        }
        CHECK(equal(other.embed(shuffled), want), "%s: other bits in another order",
              file.name.c_str());
    }
    Floats single;
    for (const Ids &text : texts) {
        const Floats row = one.embed({text});
        single.insert(single.end(), row.begin(), row.end());
    }
    CHECK(equal(single, all), "%s: other bits alone", file.name.c_str());
}

// 8-bit weights, whose products of few columns differ from those of many.
std::string with_q8(const TinyFile &file) {
    const Opened from(file.path);
    Rewrite copy(from.file);
    const std::vector<TensorShape> tensors = tensors_of(from.file);
    for (size_t i = 0; i < tensors.size(); i++) {
        const TensorShape &t = tensors[i];
        if (t.ne.size() < 2 || t.ne[0] % 32 || t.type != GGUFX_TYPE_F16)
            copy.add_tensor(i, t.name);
        else
            copy.add_quantized(i, GGUFX_TYPE_Q8_0);
    }
    return copy.bytes();
}

void test_machines(const TinyFile &file, const std::string &bytes, const Machines &all) {
    Floats want;
    for (const uint32_t flags : {0u, GGUFX_MATMUL_F32 + 0u}) {
        for (const auto &machine : all) {
            ggufx_file *opened = open_bytes(bytes, machine->runtime);
            ggufx_model *model = nullptr;
            ggufx_error error;
            must(ggufx_model_create(&model, machine->runtime, opened, nullptr, &error), error,
                 file.name.c_str());
            const EmbedMode mode = {.matmul_flags = flags, .n_context = 128};
            const Floats got = Embedder(model, mode).embed(texts_for(model));
            if (machine == all.front()) want = got;
            CHECK(equal(got, want), "%s, products %u: other bits with %s", file.name.c_str(), flags,
                  machine->name.c_str());
            ggufx_model_destroy(model);
            ggufx_file_destroy(opened);
        }
    }
}

// ---- pooling of hidden states -----------------------------------------------------------------

Floats row_of(const Floats &rows, size_t row, size_t width) {
    return {&rows[row * width], &rows[row * width] + width};
}

Floats mean_of(const Floats &rows, size_t width) {
    Floats out;
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t at = i; at < rows.size(); at += width) sum += static_cast<double>(rows[at]);
        out.push_back(static_cast<float>(sum / static_cast<double>(rows.size() / width)));
    }
    return out;
}

void test_pooling(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    const Ids text = random_ids(23, vocabulary_of(opened.model), 5);
    const auto by = [&](uint32_t pooling) {
        return Embedder(opened.model, {.pooling = pooling}).embed({text});
    };
    const Floats rows = by(GGUFX_POOLING_NONE);
    const size_t width = rows.size() / text.size();
    CHECK(equal(by(GGUFX_POOLING_FIRST), row_of(rows, 0, width)), "%s: first", file.name.c_str());
    CHECK(equal(by(GGUFX_POOLING_LAST), row_of(rows, 22, width)), "%s: last", file.name.c_str());
    CHECK(equal(by(GGUFX_POOLING_MEAN), mean_of(rows, width)), "%s: mean", file.name.c_str());
}

double norm_of(const Floats &x) {
    double sum = 0;
    for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
    return sqrt(sum);
}

void test_dimensions(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    const Ids text = random_ids(9, vocabulary_of(opened.model), 6);
    const Floats whole = Embedder(opened.model, {}).embed({text});
    for (const uint32_t n : {1u, 24u, static_cast<uint32_t>(whole.size())}) {
        const Floats first = row_of(whole, 0, n);
        const Floats cut = Embedder(opened.model, {.dimensions = n}).embed({text});
        CHECK(equal(cut, first), "%s: the first %u values", file.name.c_str(), n);
        const Floats unit =
            Embedder(opened.model, {.flags = GGUFX_EMBED_NORMALIZE, .dimensions = n}).embed({text});
        Floats want = first;
        for (float &v : want) v = static_cast<float>(static_cast<double>(v) / norm_of(first));
        CHECK(distance(unit, want) < 1e-6, "%s: %u values are not of length 1", file.name.c_str(),
              n);
    }
}

void test_cut(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    const Ids text = random_ids(40, vocabulary_of(opened.model), 8);
    const Ids kept(text.begin(), text.begin() + 21);
    for (const uint32_t pooling : {GGUFX_POOLING_DEFAULT + 0u, GGUFX_POOLING_NONE + 0u}) {
        const EmbedMode mode = {.pooling = pooling, .n_context = 21, .flags = GGUFX_EMBED_TRUNCATE};
        Embedder embedder(opened.model, mode);
        CHECK(equal(embedder.embed({text, {3}, text}), embedder.embed({kept, {3}, kept})),
              "%s: a text is not cut to its first tokens", file.name.c_str());
    }
}

// ---- rerankers --------------------------------------------------------------------------------

struct Matrix {
    size_t rows, cols;
    Floats w, b;

    Matrix(size_t r, size_t c, uint64_t seed) : rows(r), cols(c) {
        Random random = {seed};
        const auto next = [&] { return static_cast<float>(random.below(2001)) / 1000.0f - 1.0f; };
        for (size_t i = 0; i < r * c; i++) w.push_back(next() / 4);
        for (size_t i = 0; i < r; i++) b.push_back(next());
    }
    std::vector<double> times(const std::vector<double> &x) const {
        std::vector<double> y;
        for (size_t r = 0; r < rows; r++) {
            double sum = static_cast<double>(b[r]);
            for (size_t c = 0; c < cols; c++) sum += static_cast<double>(w[r * cols + c]) * x[c];
            y.push_back(sum);
        }
        return y;
    }
    void add_to(Rewrite &copy, const std::string &name) const {
        copy.add_floats(name + ".weight", {cols, rows}, w);
        copy.add_floats(name + ".bias", {rows}, b);
    }
};

struct Reranker {
    const char *path;
    const Matrix *first, *last; // null: no layer
    uint32_t pooling;           // over the hidden states
    bool softmax;
};

std::vector<double> scores_of(const Reranker &r, const Floats &pooled) {
    std::vector<double> x(pooled.begin(), pooled.end());
    if (r.first) x = r.first->times(x);
    for (size_t i = 0; r.first && i < x.size(); i++) x[i] = tanh(x[i]);
    if (r.last) x = r.last->times(x);
    double sum = 0;
    for (size_t i = 0; r.softmax && i < x.size(); i++) sum += x[i] = exp(x[i]);
    for (size_t i = 0; r.softmax && i < x.size(); i++) x[i] /= sum;
    return x;
}

void test_reranker(const Reranker &r) {
    Opened opened(r.path);
    opened.with_model();
    const std::vector<Ids> texts = texts_for(opened.model);
    const Floats pooled = Embedder(opened.model, {.pooling = r.pooling}).embed(texts);
    const size_t width = pooled.size() / texts.size();
    Rewrite copy(opened.file);
    copy.add_tensors_but("");
    if (r.first) r.first->add_to(copy, "cls");
    if (r.last) r.last->add_to(copy, "cls.output");
    const std::string bytes = copy.bytes();
    ggufx_file *file = open_bytes(bytes);
    ggufx_model *model = nullptr;
    ggufx_error error;
    must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "reranker");
    {
        Embedder ranks(model, {.pooling = GGUFX_POOLING_RANK});
        Floats got = ranks.embed(texts), want;
        for (size_t i = 0; i < texts.size(); i++)
            for (const double score : scores_of(r, row_of(pooled, i, width)))
                want.push_back(static_cast<float>(score));
        const double far = distance(got, want);
        CHECK(far <= kTolerance, "%s: scores are off by %.3g", r.path, far);
        printf("%s as a reranker: %u scores, off by %.2g\n", r.path, ranks.facts().dimensions, far);
        const Floats same = Embedder(model, {.pooling = r.pooling}).embed(texts);
        CHECK(equal(same, pooled), "%s: a classifier changes embeddings", r.path);
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
}

void test_rerankers() {
    constexpr const char *bert = "/data/tiny/bert/tiny-bert-f16.gguf";
    constexpr const char *qwen3 = "/data/tiny/qwen3-embedding/tiny-qwen3-embedding-f16.gguf";
    const Matrix square(64, 64, 1), one(1, 64, 2), three(3, 64, 3), two(2, 64, 4);
    test_reranker({bert, &square, &one, GGUFX_POOLING_FIRST, false});
    test_reranker({bert, &square, &three, GGUFX_POOLING_FIRST, false});
    test_reranker({bert, nullptr, &one, GGUFX_POOLING_FIRST, false});
    test_reranker({bert, &three, nullptr, GGUFX_POOLING_FIRST, false});
    test_reranker({qwen3, nullptr, &two, GGUFX_POOLING_LAST, true});
}

void test_every_wanted_file_is_found(const std::vector<TinyFile> &files) {
    for (const char *name : kWanted) {
        const auto is_it = [&](const TinyFile &file) { return file.name == name; };
        CHECK(std::any_of(files.begin(), files.end(), is_it), "%s: no file, or no program", name);
    }
    for (const char *name : {"arch:jina-bert-v2", "arch:nomic-bert-moe"})
        CHECK(ggufx_has(name), "%s: no program", name);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    const std::vector<TinyFile> embedders = tiny_embedders();
    test_every_wanted_file_is_found(embedders);
    test_rerankers();
    const Machines all = machines();
    for (size_t i = 0; i < embedders.size(); i++) {
        const TinyFile &file = embedders[i];
        test_oracles(file);
        test_dimensions(file);
        test_cut(file);
        if (file.name != "gemma-embedding") test_pooling(file); // pooled outputs pass dense layers
        if (i % test_step() == 0) test_machines(file, with_q8(file), all);
    }
    for (const TinyFile &file : all_tiny_files())
        for (const uint32_t pooling : {GGUFX_POOLING_DEFAULT + 0u, GGUFX_POOLING_NONE + 0u})
            test_neighbours(file, 0, pooling);
    return end();
}
