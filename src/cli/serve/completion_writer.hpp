// Generation of one sequence: a generator of the session, and its events as the deltas of the reply.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/generation.hpp"
#include "serve/metrics.hpp"
#include "serve/text_offsets.hpp"
#include "serve/text_request.hpp"

namespace ggufx::cli {

class CompletionWriter final : public Writer {
public:
    // index: that of the sequence in the reply. ticket: kept until the end.
    CompletionWriter(const ModelHost &host, Metrics &metrics,
                     std::shared_ptr<const TextRequest> request, uint32_t index,
                     uint32_t max_tokens, std::shared_ptr<void> ticket);

    ggufx_generator *generator() const override { return generator_.get(); }
    bool is_gone() noexcept override { return reply_.exchange().is_gone(); }
    bool is_late() noexcept override;
    void start(uint32_t sequence, std::span<const int32_t> prompt) override;
    void suspend() override;
    void close() noexcept override { generator_.reset(); }
    void begin(size_t n_cached) override;
    void pass() noexcept override;
    bool advance() override;
    void fail(const char *why, Fault fault) noexcept override;
    void stop(const char *why) noexcept override;

private:
    void create(uint32_t sequence, std::span<const int32_t> prompt);
    void note_time(bool is_first);
    void take_event(const ggufx_event &event);
    void take_tokens(const ggufx_event &event);
    void send();
    void take_end(const ggufx_event &event);
    void end(const std::string &reason, const std::string &note = "");

    const ModelHost &host_;
    Metrics &metrics_;
    const std::shared_ptr<const TextRequest> request_;
    Reply &reply_;
    const uint32_t index_, number_; // number_: among the sequences of its prompt
    const uint32_t max_tokens_;     // 0: only the prompt counts
    const std::shared_ptr<void> ticket_;
    Generator generator_; // NULL before the first start
    TextOffsets offsets_;
    Delta delta_;
    uint64_t n_tokens_ = 0;
    bool has_calls_ = false;
    double begun_ = 0, last_ = 0;
};

} // namespace ggufx::cli
