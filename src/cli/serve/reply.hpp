// Answers on their way into published objects: one at the end, or a stream of their parts. Texts
// tell a Reply what they add; which objects come of that is reply_completions' and reply_responses'.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/exchange.hpp"

#include <memory>
#include <optional>

namespace ggufx::cli {

// A token as `logprobs` tells it.
struct TokenLogprob {
    struct Top {
        std::string piece;
        float logprob;
    };
    std::string piece;            // any bytes
    std::optional<float> logprob; // nothing: the first token of a prompt, which nothing predicts
    std::vector<Top> top;
    uint64_t start = 0;  // of its bytes in all that was written
    uint64_t offset = 0; // the same in the text, which hidden tokens are no part of
};

struct CallPart {
    uint64_t index;
    std::string id, name; // where it begins
    std::string arguments;
};

// What a token added to a text; mostly a piece of the answer.
struct Delta {
    std::string content, reasoning;
    std::vector<CallPart> calls;
    std::vector<TokenLogprob> logprobs;
    bool empty() const {
        return content.empty() && reasoning.empty() && calls.empty() && logprobs.empty();
    }
};

struct Usage {
    uint64_t n_prompt = 0, n_cached = 0, n_answer = 0, n_reasoning = 0;
    double prompt_seconds = 0, answer_seconds = 0; // of the text that took longest
};

struct Ending {
    std::string reason;      // "stop", "length", "tool_calls"
    std::string note;        // why it ended early
    double mean_logprob = 0; // of its tokens
};

// Of one thread at a time.
class Reply {
public:
    Reply(std::shared_ptr<Exchange> exchange, uint32_t n_texts)
        : exchange_(std::move(exchange)), n_texts_(n_texts) {}
    virtual ~Reply() = default;

    Exchange &exchange() { return *exchange_; }
    uint32_t n_texts() const { return n_texts_; }
    Usage usage; // added to by the texts

    virtual void open() = 0; // before the texts begin; of a stream its head goes out
    virtual void put(uint32_t text, Delta delta) = 0;
    virtual void finish(uint32_t text, const Ending &ending) = 0;
    virtual void fail(const ApiError &error) = 0; // of any text: there is no answer

private:
    std::shared_ptr<Exchange> exchange_;
    uint32_t n_texts_;
};

void join(Delta &all, Delta delta);
Json logprob_list(const std::vector<TokenLogprob> &tokens); // of chats

// `n` letters and digits nobody can guess.
std::string random_name(size_t n);

} // namespace ggufx::cli
