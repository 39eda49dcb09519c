// Replies of chat/completions and completions.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/reply.hpp"
#include "serve/request.hpp"

namespace ggufx::cli {

class CompletionReply final : public Reply {
public:
    // Without `is_chat`: to completions of that many prompts.
    CompletionReply(std::shared_ptr<Exchange> exchange, ReplyShape shape, const Wanted &wanted,
                    bool is_chat, size_t n_prompts = 1);

    size_t n_texts() const { return texts_.size(); }
    void open() override;
    void put(uint32_t text, Delta delta) override;
    void finish(uint32_t text, const Ending &ending) override;

private:
    void end_stream(const ApiError &error) override;
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

    const bool is_chat_, include_usage_;
    const uint32_t n_of_;   // sequences per prompt
    const uint32_t n_best_; // returned per prompt: those with the best mean log-probability
    std::string head_;      // common start of all events of a stream
    std::vector<Text> texts_;
    uint32_t n_finished_ = 0;
};

} // namespace ggufx::cli
