// A session of many sequences as the scheduler drives it.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "serve/scheduler.hpp"

namespace ggufx::cli {

class SessionMachine final : public Machine {
public:
    explicit SessionMachine(Session session, uint32_t n_vocab);

    uint32_t n_sequences() const override { return facts_.n_sequences; }
    uint32_t n_vocab() const override { return n_vocab_; }
    uint32_t n_batch() const override { return facts_.n_batch; }
    const float *decode(std::span<const Item> items, Path path,
                        const std::function<bool()> &is_cancelled) override;
    void truncate(uint32_t sequence, uint64_t n_tokens) override;
    bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) override;
    bool reserve(uint32_t sequence, uint64_t n_tokens) override;

    // A sequence as the library's snapshot; of another model or other types it is a Failure.
    std::string save(uint32_t sequence) const;
    void load(uint32_t sequence, const std::string &snapshot, uint64_t n_tokens);

    const ggufx_session_facts &facts() const { return facts_; }
    MachineMemory memory() const override;

private:
    Session session_;
    ggufx_session_facts facts_;
    uint32_t n_vocab_;
    std::vector<ggufx_batch_item> items_;
    std::vector<float> logits_;
};

} // namespace ggufx::cli
