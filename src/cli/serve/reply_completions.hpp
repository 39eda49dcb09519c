// Replies of chat/completions and completions.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/reply.hpp"

namespace ggufx::cli {

struct CompletionShape {
    bool is_chat = true;
    bool stream = false, include_usage = false, logprobs = false;
    uint32_t n_texts = 1; // sequences generated
    uint32_t n_of = 1;    // sequences per prompt
    uint32_t n_best = 1;  // sequences returned per prompt: those with the best mean log-probability
    std::string model, fingerprint;
    uint64_t seed = 0;
};

class CompletionReply final : public Reply {
public:
    CompletionReply(std::shared_ptr<Exchange> exchange, CompletionShape shape);

    void open() override;
    void put(uint32_t text, Delta delta) override;
    void finish(uint32_t text, const Ending &ending) override;
    void fail(const ApiError &error) override;

private:
    struct Text {
        Delta all; // whole output, if not streamed
        Ending ending;
        bool began = false;
    };
    Json head(bool whole) const;
    Json usage_json() const;
    Json choice(uint32_t text, uint32_t index) const;
    Json choices() const;
    Json logprobs_json(const std::vector<TokenLogprob> &tokens) const;
    void send(uint32_t text, const Json &delta, const Json &logprobs, const Json &reason);
    void send_event(const Json &event);
    void end();

    CompletionShape shape_;
    std::string id_;
    std::string head_; // common start of all events of a stream
    uint64_t created_;
    std::vector<Text> texts_;
    uint32_t n_finished_ = 0;
    bool failed_ = false;
};

} // namespace ggufx::cli
