// Cost of appends to a cache: whole pages, and one token at a time.
// SPDX-License-Identifier: MIT
#include "bench/kv.hpp"
#include "common/signals.hpp"

namespace ggufx::cli {

namespace {

constexpr size_t kTokens = 4 + 4 * 64; // tokens that are never quantized, then whole pages
constexpr int kRepeats = 15;

} // namespace

KvEncodeTimes measure_kv_encode(const KvOptions &options, const Runner &runner,
                                const KvCase &pair) {
    const size_t per_token = options.per_token();
    const std::vector<float> values = random_floats(kTokens * per_token, 4);
    const Kv kv = make_kv(runner.runtime(), kv_shape(options, pair, 1));
    std::vector<double> pages, tokens;
    const auto clear = [&] {
        call([&](ggufx_error *error) { return ggufx_kv_truncate(kv.get(), 0, 0, error); });
    };
    const auto time = [&](std::vector<double> &into, size_t step) {
        into.push_back(seconds_of(options.clock, runner.threads(), [&] {
            for (size_t t = 0; t < kTokens; t += step)
                kv_append(kv.get(), 0, step, values.data() + t * per_token, per_token);
        }));
        clear();
    };
    kv_append(kv.get(), 0, kTokens, values.data(), per_token);
    clear();
    for (int i = 0; i < kRepeats; i++) {
        check_interrupt();
        time(pages, kTokens);
        time(tokens, 1);
    }
    const double n_vectors = 2.0 * static_cast<double>(kTokens) * options.kv_heads;
    return {median(pages) * 1e6 / n_vectors, median(tokens) * 1e6 / static_cast<double>(kTokens)};
}

} // namespace ggufx::cli
