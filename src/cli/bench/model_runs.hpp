// Measurements of bench model: one test of one session, in several rounds.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/model_texts.hpp"
#include "common/progress.hpp"
#include "models/drafts.hpp"
#include "models/generation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ggufx::cli {

// A prompt at once, then tokens one by one, in each sequence.
struct ModelTest {
    unsigned prompt, predict;

    std::string name() const; // "pp512", "tg64", "pp512+tg64"
    unsigned tokens() const { return prompt + predict; }
};

// Mode of matrix products.
struct ProductMode {
    const char *name;
    uint32_t flags; // GGUFX_MATMUL_*
};

// Source of draft tokens, which are verified several at once.
enum class DraftSource { none, lookup, draft };
constexpr const char *kGuesserNames[] = {"none", "lookup", "draft"};
constexpr unsigned kLeastDraftDepth = 1; // drafting continues from a token

// Parameters of a session, and the tokens in its context before a test.
struct ModelCase {
    uint32_t type_k, type_v;
    unsigned sequences, batch, depth;
    const ProductMode *products;
    DraftSource guesser;
};

struct Rates {
    std::vector<double> per_second; // tokens of all sequences, one value per round
    double accepted;                // acceptance rate; NaN without draft tokens
};

// A session that is filled to a depth, and truncated to it before each round.
class ModelRuns {
public:
    // text: as many ids as the context has, rotated for each sequence. draft: file of the draft
    // model, if there is one.
    ModelRuns(const ggufx_runtime *rt, Session session, const ModelCase &first, uint32_t n_vocab,
              const TextIds &text, const std::string &draft);

    // Runs a test once before it is timed: the first touch of pages is not in the figures. The depth
    // must not decrease between calls.
    Rates measure(const ModelTest &test, unsigned depth, unsigned rounds, Progress &progress);

private:
    void append(unsigned first, unsigned n, uint32_t products, bool logits);
    void fill(unsigned depth);
    void warm_up(const ModelTest &test, unsigned depth);
    void compute(const ModelTest &test, unsigned depth);
    Generator make_generator(const ModelTest &test, unsigned depth) const;
    static ggufx_status choose(void *self, ggufx_candidate *candidates, size_t n);

    Session session_;
    Drafts drafts_;
    Sampler chooser_;     // chooses the text's own tokens
    unsigned chosen_ = 0; // index of the next one
    const unsigned sequences_;
    const uint32_t products_;
    unsigned filled_ = 0;
    std::vector<int32_t> ids_; // [sequences][n_context]
    std::vector<float> logits_;
    std::vector<ggufx_decode_item> items_;
};

} // namespace ggufx::cli
