// Speculative decoding in run, chat and bench: draft tokens are verified several at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/model_options.hpp"

#include <span>

namespace ggufx::cli {

struct DraftOptions {
    std::string draft;   // file of a draft model
    bool lookup = false; // prompt lookup
    bool any() const { return lookup || !draft.empty(); }
};
void add_draft_options(Command &sub, DraftOptions &options);

struct Chosen {
    int32_t id;
    float logprob;
};

// Next token ids of sequence 0 of a session with row-wise products; it must outlive this object.
class Drafter {
public:
    Drafter(const ggufx_runtime *rt, const DraftOptions &options, ggufx_session *session,
            const std::vector<int32_t> &stops);

    // Makes at least one chosen id available, at most `most`. The last one is not in the session
    // yet. Returns false if interrupted; nothing has changed then.
    bool ask(ggufx_sampler *sampler, ggufx_matcher *matcher, size_t most);
    bool empty() const { return ready_.empty(); }
    Chosen take();
    std::optional<int32_t> last() const { return last_; } // last chosen id, not in the session yet
    void forget() { ready_.clear(); }                     // the session continues elsewhere

    ggufx_speculator_facts facts() const;

private:
    using Speculator = std::unique_ptr<ggufx_speculator, Destroyer<ggufx_speculator_destroy>>;

    File file_; // with a draft model only
    Model model_;
    Session draft_;
    Speculator speculator_;     // destroyed before the sessions
    std::vector<Chosen> ready_; // in reverse order
    std::optional<int32_t> last_;
};

// Returns the end-of-generation token ids, at most as many as a speculator accepts.
std::vector<int32_t> end_ids(const ggufx_tokenizer *tokenizer, uint32_t n_vocab);
// Feeds a prompt without its last token, with tiled products. Row-wise products, which verify draft
// tokens, would take several times as long. Returns false if interrupted.
bool feed_tiles(ggufx_session *session, std::span<const int32_t> ids);
// Returns a line with accepted and drafted tokens, the acceptance rate and the number of steps.
std::string acceptance_text(const ggufx_speculator_facts &facts);

} // namespace ggufx::cli
