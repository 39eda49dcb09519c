// Tokens that are guessed and checked several at once: what run, chat and bench share.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/model_options.hpp"

#include <span>

namespace ggufx::cli {

struct GuessOptions {
    std::string draft;   // a model that guesses
    bool lookup = false; // guesses from the text
    bool any() const { return lookup || !draft.empty(); }
};
void add_guess_options(Command &sub, GuessOptions &options);

struct Chosen {
    int32_t id;
    float logprob;
};

// The next ids of sequence 0 of a session whose products go row by row. It must outlive them.
class Guesses {
public:
    Guesses(const ggufx_runtime *rt, const GuessOptions &options, ggufx_session *session,
            const std::vector<int32_t> &stops);

    // At least one chosen id waits afterwards; false: interrupted, nothing has changed. They are at
    // most `most`, and the last of them is not in the session yet.
    bool ask(ggufx_sampler *sampler, ggufx_matcher *matcher, size_t most);
    bool empty() const { return ready_.empty(); }
    Chosen take();
    std::optional<int32_t> last() const { return last_; } // chosen and not in the session
    void forget() { ready_.clear(); }                     // the session goes on elsewhere

    ggufx_speculator_facts facts() const;

private:
    using Speculator = std::unique_ptr<ggufx_speculator, Destroyer<ggufx_speculator_destroy>>;

    File file_; // where a model guesses
    Model model_;
    Session draft_;
    Speculator speculator_;     // goes before the sessions
    std::vector<Chosen> ready_; // the last one comes first
    std::optional<int32_t> last_;
};

// Ids that end a text, as many as a speculator looks for.
std::vector<int32_t> end_ids(const ggufx_tokenizer *tokenizer, uint32_t n_vocab);
// A prompt but for its last token, in tiles: by rows, as guesses are checked, it would take several
// times as long. False: interrupted.
bool feed_tiles(ggufx_session *session, std::span<const int32_t> ids);
// "12 of 20 guesses were right (60.0 %), 9 steps"
std::string guesses_text(const ggufx_speculator_facts &facts);

} // namespace ggufx::cli
