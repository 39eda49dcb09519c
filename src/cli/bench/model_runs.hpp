// What bench model measures: one test of one session, round after round.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/progress.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// A prompt at once, then tokens one by one, in each sequence.
struct ModelTest {
    unsigned prompt, predict;

    std::string name() const; // "pp512", "tg64", "pp512+tg64"
    unsigned tokens() const { return prompt + predict; }
};

// How products are made.
struct ProductMode {
    const char *name;
    uint32_t flags; // GGUFX_MATMUL_*
};
extern const std::vector<ProductMode> kProductModes;

// What a session is made with, and the tokens that are there before a test.
struct ModelCase {
    uint32_t type_k, type_v;
    unsigned sequences, batch, depth;
    const ProductMode *products;
};

// A session that is filled to a depth and emptied to it again before each round.
class ModelRuns {
public:
    ModelRuns(Session session, const ModelCase &first, uint32_t n_vocab, unsigned n_context);

    // Tokens per second of all sequences, a number per round. The depth only grows.
    std::vector<double> measure(const ModelTest &test, unsigned depth, unsigned rounds,
                                Progress &progress);

private:
    void append(unsigned first, unsigned n, uint32_t products, bool logits);
    void fill(unsigned depth);

    Session session_;
    const unsigned sequences_;
    const uint32_t products_;
    unsigned filled_ = 0;
    std::vector<int32_t> ids_; // [sequences][n_context]
    std::vector<float> logits_;
    std::vector<ggufx_batch_item> items_;
};

struct Spread {
    double mean, deviation; // of a sample
};
Spread spread_of(const std::vector<double> &values);

} // namespace ggufx::cli
