// DecodeBackend on top of a multi-sequence session.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "models/generation.hpp"
#include "serve/ranks.hpp"

namespace ggufx::cli {

class ModelFiles;

// Error: the content of the model's file has changed, so that results mean nothing.
struct ModelChanged : std::runtime_error, DecodeBackend::Lost {
    using std::runtime_error::runtime_error;
};

// Writer with a generator of the session.
class GeneratorWriter : public Writer {
public:
    explicit GeneratorWriter(bool scores_prompt) : scores_prompt_(scores_prompt) {}
    ggufx_generator *generator() const { return generator_.get(); }
    ggufx_generator_facts facts() const { return generator_facts(generator()); }
    std::vector<int32_t> tokens() const { return generator_tokens(generator()); }
    bool scores_prompt() const { return scores_prompt_; }

protected:
    Generator generator_; // NULL before the first start

private:
    const bool scores_prompt_;
};

class SessionBackend final : public DecodeBackend {
public:
    SessionBackend(Session session, uint32_t n_vocab);
    // Makes this the session of a rank: calls throw RanksLost after the group is lost. Only the
    // first rank has a broadcaster.
    void be_rank(std::unique_ptr<RankBroadcaster> broadcaster);
    // step throws ModelChanged after these files, which outlive this, have changed.
    void watch(ModelFiles &files) { files_ = &files; }

    uint32_t n_sequences() const override { return facts_.n_sequences; }
    uint32_t n_batch() const override { return facts_.n_batch; }
    void step(std::span<const Item> items, Path path,
              const std::function<bool()> &is_cancelled) override;
    void repeat(const RankStep &step); // a step of the first rank
    uint64_t n_tokens(uint32_t sequence) const override {
        return ggufx_session_sequence_length(session_.get(), sequence);
    }
    void read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const override;
    ggufx_session *session() const { return session_.get(); } // for the engine thread
    void truncate(uint32_t sequence, uint64_t n_tokens) override;
    bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) override;
    bool reserve(uint32_t sequence, uint64_t n_tokens) override;
    bool beats() const override { return broadcaster_ != nullptr; }
    void beat() override {
        if (broadcaster_) broadcaster_->beat();
    }

    // Snapshot of a sequence in the library's format.
    std::string save(uint32_t sequence) const;
    void load(uint32_t sequence, std::string_view snapshot) override;
    bool holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const override;

    const ggufx_session_facts &facts() const { return facts_; }
    BackendMemory memory() const override;

private:
    void tell(const RankStep &step);
    void tell_step(std::span<const Item> items, Path path);
    void undo_step(std::span<const Item> items, const std::vector<uint64_t> &lengths);
    void check_files() const;
    void check_group(ggufx_status status, const ggufx_error &error);

    Session session_;
    ggufx_session_facts facts_;
    uint32_t n_vocab_;
    std::vector<ggufx_step_item> items_;
    std::vector<float> logits_; // for steps that another rank began
    ModelFiles *files_ = nullptr;
    bool is_rank_ = false;
    std::unique_ptr<RankBroadcaster> broadcaster_; // only on the first rank
};

} // namespace ggufx::cli
