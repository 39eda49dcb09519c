// SPDX-License-Identifier: MIT
#include "serve/session_backend.hpp"

#include "common/timing.hpp"
#include "serve/cancel_if.hpp"
#include "serve/model_files.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

SessionBackend::SessionBackend(Session session)
    : session_(std::move(session)), facts_(session_facts(session_.get())) {
    items_.reserve(facts_.n_sequences);
}

void SessionBackend::refuse(ggufx_status status, const ggufx_error &error) const {
    throw Refused(fault_of(status), error.message);
}

// Calls fn(&error), a call of the library.
template <class Fn> void SessionBackend::attempt(const Fn &fn) const {
    ggufx_error error;
    if (const ggufx_status status = fn(&error); status != GGUFX_OK) refuse(status, error);
}

// Results count only if the weights were those of the load.
void SessionBackend::check_step(ggufx_status status, const ggufx_error &error) const {
    if (files_ && !files_->is_intact(monotonic_seconds())) throw ModelChanged(ModelFiles::kChanged);
    // MISMATCH in a group: the ranks make different calls.
    if (status != GGUFX_OK) refuse(status == GGUFX_E_MISMATCH ? GGUFX_E_STATE : status, error);
}

void SessionBackend::step(std::span<const Item> items, Path,
                          const std::function<bool()> &is_cancelled) {
    items_.clear();
    for (const Item &item : items) {
        auto &of = items_.emplace_back(sized<ggufx_step_item>());
        of.generator = item.writer->generator();
        of.n_tokens = item.n_tokens;
    }
    const ggufx_progress progress = cancel_if(is_cancelled);
    auto options = sized<ggufx_step_options>();
    options.progress = &progress;
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_step(nullptr, session(), items_.data(), items_.size(), &options, &error);
    check_step(status, error);
}

void SessionBackend::read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const {
    attempt([&](ggufx_error *error) {
        return ggufx_session_tokens(out.data(), nullptr, session(), sequence, first, out.size(),
                                    error);
    });
}

// Cannot fail for a shorter length of an existing sequence.
void SessionBackend::truncate(uint32_t sequence, uint64_t n_tokens) {
    attempt([&](ggufx_error *error) {
        return ggufx_session_truncate(session(), sequence, n_tokens, error);
    });
}

bool SessionBackend::copy(uint32_t from, uint32_t to, uint64_t n_tokens) {
    ggufx_error error;
    const ggufx_status status = ggufx_session_copy(session(), from, to, n_tokens, &error);
    if (status != GGUFX_OK && status != GGUFX_E_MEMORY) refuse(status, error);
    return status == GGUFX_OK;
}

std::string SessionBackend::save(uint32_t sequence) const {
    std::string out;
    const auto write = [](void *user, const void *data, size_t n) -> ggufx_status {
        try {
            static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
            return GGUFX_OK;
        } catch (const std::bad_alloc &) { return GGUFX_E_MEMORY; }
    };
    call([&](ggufx_error *error) {
        return ggufx_session_save(session(), sequence, write, &out, error);
    });
    return out;
}

void SessionBackend::load(uint32_t sequence, std::string_view snapshot) {
    const auto read = [](void *user, void *data, size_t n) -> ggufx_status {
        auto &from = *static_cast<std::string_view *>(user);
        if (n > from.size()) return GGUFX_E_TRUNCATED;
        std::memcpy(data, from.data(), n);
        from.remove_prefix(n);
        return GGUFX_OK;
    };
    attempt([&](ggufx_error *error) {
        const ggufx_status status = ggufx_session_load(session(), sequence, read, &snapshot, error);
        if (status != GGUFX_OK || snapshot.empty()) return status;
        *fmt::format_to_n(error->message, sizeof error->message - 1,
                          "the snapshot has {} bytes after its end", snapshot.size())
             .out = 0;
        return ggufx_status{GGUFX_E_MALFORMED};
    });
}

bool SessionBackend::holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const {
    constexpr size_t most = 256; // tokens at once, on the stack
    int32_t ids[most], positions[most];
    if (n_tokens(sequence) != codes.size()) return false;
    for (size_t first = 0; first < codes.size(); first += most) {
        const size_t n = std::min(most, codes.size() - first);
        if (ggufx_session_tokens(ids, positions, session(), sequence, first, n, nullptr) !=
            GGUFX_OK)
            return false;
        for (size_t i = 0; i < n; i++)
            if (static_cast<PrefixIndex::Code>(ids[i]) != codes[first + i] >> 1 ||
                static_cast<size_t>(positions[i]) != first + i)
                return false;
    }
    return true;
}

BackendMemory SessionBackend::memory() const {
    const ggufx_session_facts facts = session_facts(session());
    return {facts.cache_bytes, facts.n_pages, facts.n_shared_pages};
}

} // namespace ggufx::cli
