// Conversion of output deltas into API objects: one at the end, or a stream of events. The formats
// are in reply_completions and reply_responses.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/exchange.hpp"

#include <memory>
#include <optional>

namespace ggufx::cli {

// Entry of `logprobs` for one token.
struct TokenLogprob {
    struct Top {
        std::string piece;
        float logprob;
    };
    std::string piece;            // may be invalid UTF-8
    std::optional<float> logprob; // empty for the first token of a prompt, which has no prediction
    std::vector<Top> top;
    uint64_t offset = 0; // characters of the visible text before its first one
};

struct CallPart {
    uint64_t index;
    std::string id, name; // set at the start of the call
    std::string arguments;
};

// Output added by one token; usually a piece of the answer.
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
    double prompt_seconds = 0, answer_seconds = 0; // time of the slowest sequence
};

struct Ending {
    std::string reason;      // "stop", "length", "tool_calls"
    std::string note;        // reason for an early end
    double mean_logprob = 0; // mean log-probability of its tokens
};

struct ReplyShape {
    bool stream = false, logprobs = false;
    std::string model, fingerprint;
    uint64_t seed = 0; // seed of the first sequence
};

// Not thread-safe.
class Reply {
public:
    // `prefix`: that of its id.
    Reply(std::shared_ptr<Exchange> exchange, ReplyShape shape, const std::string &prefix,
          size_t n_random);
    virtual ~Reply() = default;

    Exchange &exchange() { return *exchange_; }
    uint64_t seed() const { return shape_.seed; }
    Usage usage; // updated by the sequences

    virtual void open() = 0; // called before the sequences begin; a stream sends its headers
    virtual void put(uint32_t text, Delta delta) = 0;
    virtual void finish(uint32_t text, const Ending &ending) = 0;
    // A sequence failed, so that the whole reply is an error.
    void fail(const ApiError &error);

protected:
    virtual void end_stream(const ApiError &error) = 0;
    void tell_usage() { exchange().tell({id_, usage.n_prompt, usage.n_cached, usage.n_answer}); }
    void respond(const Json &whole) {
        exchange().respond(200, "application/json", whole.dump() + "\n");
    }

    const ReplyShape shape_;
    const std::string id_;
    const uint64_t created_;
    bool failed_ = false;

private:
    std::shared_ptr<Exchange> exchange_;
};

// A list of values that is kept as text: trees of many small values take twenty times as much.
class JsonList {
public:
    void add(const Json &value);
    Json json() &&;

private:
    std::string text_; // empty: no values
};

void join(Delta &all, Delta delta);
// Clamps a log-probability to at least -9999, the minimum that clients expect: JSON has no -inf.
Json logprob_json(float value);
Json logprob_list(const std::vector<TokenLogprob> &tokens); // format of chat completions

// Returns `n` random letters and digits that cannot be predicted.
std::string random_name(size_t n);

} // namespace ggufx::cli
