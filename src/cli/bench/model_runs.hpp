// What bench model measures: one test of one session, round after round.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/progress.hpp"
#include "models/guesses.hpp"

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

// How products are made.
struct ProductMode {
    const char *name;
    uint32_t flags; // GGUFX_MATMUL_*
};
extern const std::vector<ProductMode> kProductModes;

// Who guesses the tokens of a test, which come several at once then.
enum class Guesser { none, lookup, draft };
constexpr const char *kGuesserNames[] = {"none", "lookup", "draft"};
constexpr unsigned kLeastGuessDepth = 1; // guesses go on from a token

// What a session is made with, and the tokens that are there before a test.
struct ModelCase {
    uint32_t type_k, type_v;
    unsigned sequences, batch, depth;
    const ProductMode *products;
    Guesser guesser;
};

// The ids of a test, whatever a model would choose.
using TextIds = std::vector<int32_t>;
TextIds random_text(size_t n, uint32_t n_vocab);
// Spans of 60 tokens of before, and 3 to 10 new ones after each: a text that is edited.
TextIds repeating_text(size_t n, uint32_t n_vocab);
// n tokens of a text turned so that another part of it is first in each sequence.
void add_turned(TextIds &to, const TextIds &text, size_t sequence, size_t n);

struct Rates {
    std::vector<double> per_second; // tokens of all sequences, a number per round
    double accepted;                // share of the guesses; NaN where there are none
};

// A session that is filled to a depth and emptied to it again before each round.
class ModelRuns {
public:
    // text: as many ids as the context has, another part of them first in each sequence. draft: of
    // the model that guesses, where one does.
    ModelRuns(const ggufx_runtime *rt, Session session, const ModelCase &first, uint32_t n_vocab,
              const TextIds &text, const std::string &draft);

    // The depth only grows.
    Rates measure(const ModelTest &test, unsigned depth, unsigned rounds, Progress &progress);

private:
    void append(unsigned first, unsigned n, uint32_t products, bool logits);
    void fill(unsigned depth);
    void compute(const ModelTest &test, unsigned depth);
    void know(unsigned place);
    void guess(unsigned first, unsigned n);
    static int32_t choose(void *self, ggufx_candidate *candidates, size_t n);

    Session session_;
    std::optional<Guesses> guesses_; // go before the session
    Sampler chooser_;                // of the text's own tokens
    unsigned chosen_ = 0;            // place of the next one
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
