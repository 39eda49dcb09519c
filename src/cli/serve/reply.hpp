// The published objects of answers: one at the end, or a stream of their parts.
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
    std::string piece; // any bytes
    float logprob = 0;
    std::vector<Top> top;
    uint64_t start = 0; // of its bytes in the text
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

struct ReplyShape {
    bool is_chat = true;
    bool stream = false, include_usage = false, logprobs = false;
    uint32_t n_texts = 1;
    std::string model, fingerprint;
    uint64_t seed = 0;
};

struct Usage {
    uint64_t n_prompt = 0, n_cached = 0, n_answer = 0, n_reasoning = 0;
    double prompt_seconds = 0, answer_seconds = 0; // of the text that took longest
};

// Of one thread at a time.
class Reply {
public:
    Reply(std::shared_ptr<Exchange> exchange, ReplyShape shape);

    Exchange &exchange() { return *exchange_; }
    uint32_t n_texts() const { return shape_.n_texts; }
    Usage usage; // added to by the texts
    void put(uint32_t text, Delta delta);
    // `note` is told beside: why it ended early.
    void finish(uint32_t text, const std::string &reason, const std::string &note = "");
    void fail(const ApiError &error); // of any text: there is no answer

private:
    struct Text {
        Delta all; // of an answer in one piece
        std::string reason, note;
        bool began = false;
    };
    Json head(bool whole) const;
    Json usage_json() const;
    Json choice(uint32_t text) const;
    Json logprobs_json(const std::vector<TokenLogprob> &tokens) const;
    void send(uint32_t text, const Json &delta, const Json &logprobs, const Json &reason);
    void send_event(const Json &event);
    void end();

    std::shared_ptr<Exchange> exchange_;
    ReplyShape shape_;
    std::string id_;
    uint64_t created_;
    std::vector<Text> texts_;
    uint32_t n_finished_ = 0;
    bool failed_ = false;
};

// `n` letters and digits nobody can guess.
std::string random_name(size_t n);
uint64_t random_number();

} // namespace ggufx::cli
