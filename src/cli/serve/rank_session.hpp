// Session of a rank of a group. The first rank broadcasts each call before it makes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/ranks.hpp"
#include "serve/session_backend.hpp"

namespace ggufx::cli {

// Calls throw RanksLost after the group is lost.
class RankSession final : public SessionBackend {
public:
    // Only the first rank has a broadcaster.
    RankSession(Session session, uint32_t n_vocab, std::unique_ptr<RankBroadcaster> broadcaster)
        : SessionBackend(std::move(session)), n_vocab_(n_vocab),
          broadcaster_(std::move(broadcaster)) {}

    void step(std::span<const Item> items, Path path,
              const std::function<bool()> &is_cancelled) override;
    void repeat(const RankStep &step); // a step of the first rank
    void truncate(uint32_t sequence, uint64_t n_tokens) override;
    bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) override;
    void load(uint32_t sequence, std::string_view snapshot) override;
    bool beats() const override { return broadcaster_ != nullptr; }
    void beat() override {
        if (broadcaster_) broadcaster_->beat();
    }

private:
    void tell(const RankStep &step);
    void tell_step(std::span<const Item> items, Path path);
    [[noreturn]] void refuse(ggufx_status status, const ggufx_error &error) const override;
    [[noreturn]] void lose(const ggufx_error &error) const;

    const uint32_t n_vocab_;
    std::unique_ptr<RankBroadcaster> broadcaster_;
    std::vector<float> logits_; // for steps that another rank began
};

} // namespace ggufx::cli
