// Caches for benchmarks: created in one buffer, filled, compared.
// SPDX-License-Identifier: MIT
#include "bench/kv.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <algorithm>
#include <cstring>

namespace ggufx::cli {

namespace {

constexpr size_t kAppend = 64; // tokens at a time: more need room for pages in both forms
constexpr double kFillSeconds = 8;

} // namespace

ggufx_kv_options kv_shape(const KvOptions &options, const KvCase &pair, uint32_t n_layers) {
    auto shape = sized<ggufx_kv_options>();
    shape.n_layers = n_layers;
    shape.n_kv_heads = options.kv_heads;
    shape.n_q_heads = options.q_heads;
    shape.head_dim_k = options.head_dim;
    shape.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
    shape.type_k = kv_type_from_name(pair.k, "--types");
    shape.type_v = kv_type_from_name(pair.v, "--types");
    return shape;
}

uint64_t kv_estimate(const ggufx_runtime *rt, const ggufx_kv_options &shape, uint64_t tokens) {
    uint64_t bytes = 0;
    call([&](ggufx_error *error) { return ggufx_kv_estimate(&bytes, rt, &shape, tokens, error); });
    return bytes;
}

Runtime runtime_in(Arena &arena, int32_t isa, unsigned threads) {
    const ggufx_allocator hooks = arena.hooks();
    auto options = sized<ggufx_runtime_options>();
    options.allocator = &hooks;
    options.isa = isa;
    options.threads = threads;
    ggufx_runtime *rt = nullptr;
    call([&](ggufx_error *error) { return ggufx_runtime_create(&rt, &options, error); });
    return Runtime(rt);
}

Kv make_kv(const ggufx_runtime *rt, const ggufx_kv_options &shape) {
    ggufx_kv *kv = nullptr;
    call([&](ggufx_error *error) { return ggufx_kv_create(&kv, rt, &shape, error); });
    return Kv(kv);
}

std::vector<float> random_floats(size_t n, uint64_t seed) {
    Random random(seed);
    std::vector<float> x(n);
    for (float &value : x)
        value = static_cast<float>(static_cast<int32_t>(random.next() >> 32)) * 0x1p-31f;
    return x;
}

void kv_append(ggufx_kv *kv, uint32_t layer, size_t tokens, const float *values, size_t per_token) {
    auto rows = sized<ggufx_kv_tokens>();
    rows.layer = layer;
    rows.n_tokens = tokens;
    rows.k = rows.v = values;
    rows.n_k = rows.n_v = tokens * per_token;
    call([&](ggufx_error *error) { return ggufx_kv_append(kv, &rows, error); });
}

void kv_attend(const ggufx_kv *kv, uint32_t layer, const KvOptions &options,
               const std::vector<float> &q, std::vector<float> &out, std::vector<float> &lse) {
    auto queries = sized<ggufx_kv_queries>();
    queries.layer = layer;
    queries.n_queries = options.queries;
    queries.q = q.data();
    queries.n_q = q.size();
    call([&](ggufx_error *error) {
        return ggufx_kv_attend(out.data(), out.size(), lse.data(), lse.size(), kv, &queries,
                               nullptr, error);
    });
}

// Quantizing many layers can take longer than measuring them. After some seconds the rest is zeros,
// with the same number of bytes and instructions.
void kv_fill(ggufx_kv *kv, uint32_t n_layers, const KvOptions &options, const KvCase &pair,
             const Globals &globals) {
    const size_t per_token = options.per_token();
    const std::vector<float> values = random_floats(kAppend * per_token, 1);
    const std::vector<float> zeros(kAppend * per_token);
    Progress progress(globals, "fill " + pair.k);
    double spent = 0;
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        progress.update(layer, n_layers);
        for (uint64_t done = 0; done < pair.tokens; done += kAppend) {
            check_interrupt();
            const size_t n = std::min<uint64_t>(kAppend, pair.tokens - done);
            const bool real = layer == 0 || spent < kFillSeconds;
            spent += seconds_of(
                [&] { kv_append(kv, layer, n, (real ? values : zeros).data(), per_token); });
        }
    }
}

bool kv_bits_equal(const KvOptions &given, const Runner &runner, const KvCase &pair) {
    KvOptions options = given;
    options.queries = 1;
    constexpr size_t kTokens = 400;
    const size_t per_token = options.per_token();
    const std::vector<float> values = random_floats(kTokens * per_token, 2);
    const std::vector<float> q = random_floats(options.per_query(), 3);
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    std::vector<float> out[2], lse[2];
    for (int i = 0; i < 2; i++) {
        const ggufx_runtime *rt = i ? scalar.get() : runner.runtime();
        const Kv kv = make_kv(rt, kv_shape(options, pair, 1));
        kv_append(kv.get(), 0, kTokens, values.data(), per_token);
        out[i].resize(q.size());
        lse[i].resize(options.q_heads);
        kv_attend(kv.get(), 0, options, q, out[i], lse[i]);
    }
    return std::memcmp(out[0].data(), out[1].data(), q.size() * sizeof(float)) == 0 &&
           std::memcmp(lse[0].data(), lse[1].data(), lse[0].size() * sizeof(float)) == 0;
}

} // namespace ggufx::cli
