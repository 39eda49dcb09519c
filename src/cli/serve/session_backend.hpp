// DecodeBackend on top of a multi-sequence session.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "serve/scheduler.hpp"

namespace ggufx::cli {

class ModelFiles;

// Error: the content of the model's file has changed, so that results mean nothing.
struct ModelChanged : std::runtime_error, DecodeBackend::Lost {
    using std::runtime_error::runtime_error;
};

inline Fault fault_of(ggufx_status status) {
    return status == GGUFX_E_CANCELLED ? Fault::cancelled
           : status == GGUFX_E_MEMORY  ? Fault::memory
           : status == GGUFX_E_LIMIT   ? Fault::limit
                                       : Fault::internal;
}

class SessionBackend : public DecodeBackend {
public:
    explicit SessionBackend(Session session);
    // step throws ModelChanged after these files, which outlive this, have changed.
    void watch(ModelFiles &files) { files_ = &files; }

    uint32_t n_sequences() const override { return facts_.n_sequences; }
    uint32_t n_batch() const override { return facts_.n_batch; }
    void step(std::span<const Item> items, Path path,
              const std::function<bool()> &is_cancelled) override;
    uint64_t n_tokens(uint32_t sequence) const override {
        return ggufx_session_length(session_.get(), sequence);
    }
    void read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const override;
    ggufx_session *session() const { return session_.get(); } // for the engine thread
    void truncate(uint32_t sequence, uint64_t n_tokens) override;
    bool copy(uint32_t from, uint32_t to, uint64_t n_tokens) override;
    std::string save(uint32_t sequence) const; // a snapshot; throws Failure
    void load(uint32_t sequence, std::string_view snapshot) override;
    bool holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const override;

    const ggufx_session_facts &facts() const { return facts_; }
    BackendMemory memory() const override;

protected:
    // Throws ModelChanged, or the error of a failed call.
    void check_step(ggufx_status status, const ggufx_error &error) const;
    [[noreturn]] virtual void refuse(ggufx_status status, const ggufx_error &error) const;

private:
    template <class Fn> void attempt(const Fn &fn) const;

    Session session_;
    ggufx_session_facts facts_;
    std::vector<ggufx_step_item> items_;
    ModelFiles *files_ = nullptr;
};

} // namespace ggufx::cli
