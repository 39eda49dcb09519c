// SPDX-License-Identifier: MIT
#include "serve/session_backend.hpp"

#include "serve/engine_thread.hpp"
#include "serve/model_files.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

int32_t report(void *user, uint64_t, uint64_t) {
    return (*static_cast<const std::function<bool()> *>(user))();
}

DecodeBackend::Refused refused(ggufx_status status, const ggufx_error &error) {
    using Why = DecodeBackend::Refused::Why;
    const Why why = status == GGUFX_E_CANCELLED ? Why::cancelled
                    : status == GGUFX_E_MEMORY  ? Why::memory
                                                : Why::other;
    return {why, error.message};
}

} // namespace

SessionBackend::SessionBackend(Session session, uint32_t n_vocab)
    : session_(std::move(session)), facts_(session_facts(session_.get())), n_vocab_(n_vocab) {
    items_.reserve(facts_.n_sequences);
}

void SessionBackend::be_rank(std::unique_ptr<RankBroadcaster> broadcaster) {
    is_rank_ = true;
    broadcaster_ = std::move(broadcaster);
}

// Throws for statuses after which no rank can continue.
void SessionBackend::check_group(ggufx_status status, const ggufx_error &error) {
    if (!is_rank_ || (status != GGUFX_E_IO && status != GGUFX_E_STATE)) return;
    if (broadcaster_) broadcaster_->lose(error);
    throw RanksLost(exit_code(status), error);
}

// Called after a computation: its results count only if the weights were those of the load.
void SessionBackend::check_files() const {
    if (files_ && !files_->is_intact(monotonic_seconds())) throw ModelChanged(ModelFiles::kChanged);
}

// Errors before a message is sent leave the ranks as they are.
void SessionBackend::tell(const RankStep &step) {
    if (!broadcaster_) return;
    try {
        broadcaster_->tell(step);
    } catch (const std::bad_alloc &) {
        throw Refused(Refused::Why::memory, "out of memory");
    } catch (const std::length_error &error) { throw Refused(Refused::Why::other, error.what()); }
}

// Broadcasts the tokens that the next call will compute. Each rank computes logits after the same
// tokens; the first one samples.
void SessionBackend::tell_step(std::span<const Item> items, Path path) {
    RankStep step = {.kind = RankStep::Kind::decode, .path = path};
    std::vector<std::vector<int32_t>> ids;
    for (const Item &item : items) {
        const auto &writer = static_cast<const GeneratorWriter &>(*item.writer);
        const ggufx_generator_facts facts = writer.facts();
        const std::vector<int32_t> &all = ids.emplace_back(writer.tokens());
        const uint64_t held = n_tokens(item.sequence), end = held + item.n_tokens;
        using Logits = RankStep::Logits;
        const bool scores = writer.scores_prompt() && facts.n_tokens == 0 && held < facts.n_prompt;
        const Logits logits = scores              ? Logits::all
                              : end == all.size() ? Logits::last
                                                  : Logits::none;
        step.items.push_back({item.sequence, std::span(all).subspan(held, item.n_tokens), logits});
    }
    broadcaster_->tell(step);
}

// The first rank may fail where the others did not, since it alone samples.
void SessionBackend::undo_step(std::span<const Item> items, const std::vector<uint64_t> &lengths) {
    for (size_t i = 0; i < items.size(); i++) truncate(items[i].sequence, lengths[i]);
}

void SessionBackend::step(std::span<const Item> items, Path path,
                          const std::function<bool()> &is_cancelled) {
    items_.clear();
    std::vector<uint64_t> lengths;
    for (const Item &item : items) {
        auto &of = items_.emplace_back(sized<ggufx_step_item>());
        of.generator = static_cast<const GeneratorWriter &>(*item.writer).generator();
        of.n_tokens = item.n_tokens;
        if (broadcaster_) lengths.push_back(n_tokens(item.sequence));
    }
    ggufx_progress progress = {};
    progress.user = const_cast<std::function<bool()> *>(&is_cancelled);
    progress.report = report;
    auto options = sized<ggufx_step_options>();
    options.progress = &progress;
    try {
        if (broadcaster_) tell_step(items, path);
    } catch (const std::bad_alloc &) { throw Refused(Refused::Why::memory, "out of memory"); }
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_step(nullptr, session_.get(), items_.data(), items_.size(), &options, &error);
    // On a rank, MISMATCH means that the ranks make different calls.
    check_group(status == GGUFX_E_MISMATCH ? GGUFX_E_STATE : status, error);
    check_files();
    if (status == GGUFX_OK) return;
    if (broadcaster_) undo_step(items, lengths);
    throw refused(status, error);
}

void SessionBackend::repeat(const RankStep &step) {
    size_t n_rows = 0;
    std::vector<ggufx_batch_item> items;
    for (const RankStep::Item &item : step.items) {
        const bool all = item.logits == RankStep::Logits::all;
        const bool last = item.logits == RankStep::Logits::last;
        n_rows += all ? item.ids.size() : last;
        items.push_back(batch_item(item.sequence,
                                   all    ? GGUFX_BATCH_ALL_LOGITS
                                   : last ? GGUFX_BATCH_LOGITS
                                          : 0u,
                                   item.ids));
    }
    const size_t n_logits = n_rows * n_vocab_;
    if (logits_.size() < n_logits) logits_.resize(n_logits);
    auto options = sized<ggufx_batch_options>();
    options.flags = GGUFX_BATCH_MATMUL | GGUFX_BATCH_KEEP_NAN;
    options.matmul_flags =
        step.path == Path::tiles ? GGUFX_MATMUL_TILES : GGUFX_MATMUL_BATCH_INVARIANT;
    options.logits = n_rows > 0 ? logits_.data() : nullptr;
    options.n_logits = n_logits;
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_decode_batch(session_.get(), items.data(), items.size(), &options, &error);
    check_group(status == GGUFX_E_MISMATCH ? GGUFX_E_STATE : status, error);
    check_files();
    if (status != GGUFX_OK) throw refused(status, error);
}

void SessionBackend::read(uint32_t sequence, uint64_t first, std::span<int32_t> out) const {
    call([&](ggufx_error *error) {
        return ggufx_session_sequence_tokens(out.data(), nullptr, session_.get(), sequence, first,
                                             out.size(), error);
    });
}

// Cannot fail for a shorter length of an existing sequence. Requests can end after the group is
// lost, so nothing is broadcast then.
void SessionBackend::truncate(uint32_t sequence, uint64_t n_tokens) {
    if (!broadcaster_ || !broadcaster_->is_lost())
        tell({.kind = RankStep::Kind::truncate, .sequence = sequence, .n_tokens = n_tokens});
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_sequence_truncate(session_.get(), sequence, n_tokens, &error);
    if (status != GGUFX_OK) throw refused(status, error);
}

bool SessionBackend::copy(uint32_t from, uint32_t to, uint64_t n_tokens) {
    tell({.kind = RankStep::Kind::copy, .sequence = to, .from = from, .n_tokens = n_tokens});
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_sequence_copy(session_.get(), from, to, n_tokens, &error);
    // A rank without the memory cannot notify the others, so the whole group fails.
    check_group(status == GGUFX_E_MEMORY ? GGUFX_E_STATE : status, error);
    if (status != GGUFX_OK && status != GGUFX_E_MEMORY) throw refused(status, error);
    return status == GGUFX_OK;
}

// A session allocates the memory of all its sequences at creation.
bool SessionBackend::reserve(uint32_t, uint64_t) {
    return true;
}

std::string SessionBackend::save(uint32_t sequence) const {
    std::string out;
    const auto write = [](void *user, const void *data, size_t n) {
        try {
            static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
            return ggufx_status{GGUFX_OK};
        } catch (const std::bad_alloc &) { return ggufx_status{GGUFX_E_MEMORY}; }
    };
    call([&](ggufx_error *error) {
        return ggufx_session_save(session_.get(), sequence, write, &out, error);
    });
    return out;
}

void SessionBackend::load(uint32_t sequence, std::string_view snapshot) {
    std::string_view left = snapshot;
    const auto read = [](void *user, void *data, size_t n) {
        auto &from = *static_cast<std::string_view *>(user);
        if (n > from.size()) return ggufx_status{GGUFX_E_TRUNCATED};
        std::memcpy(data, from.data(), n);
        from.remove_prefix(n);
        return ggufx_status{GGUFX_OK};
    };
    const auto *const bytes = reinterpret_cast<const uint8_t *>(snapshot.data());
    tell(
        {.kind = RankStep::Kind::load, .sequence = sequence, .snapshot = {bytes, snapshot.size()}});
    ggufx_error error;
    const ggufx_status status = ggufx_session_load(session_.get(), sequence, read, &left, &error);
    check_group(status, error);
    if (status != GGUFX_OK) throw refused(status, error);
    if (!left.empty())
        throw Refused(Refused::Why::other,
                      fmt::format("the snapshot has {} bytes after its end", left.size()));
}

bool SessionBackend::holds(uint32_t sequence, std::span<const PrefixIndex::Code> codes) const {
    constexpr size_t most = 256; // tokens at once, on the stack
    int32_t ids[most], positions[most];
    if (ggufx_session_sequence_length(session_.get(), sequence) != codes.size()) return false;
    for (size_t first = 0; first < codes.size(); first += most) {
        const size_t n = std::min(most, codes.size() - first);
        if (ggufx_session_sequence_tokens(ids, positions, session_.get(), sequence, first, n,
                                          nullptr) != GGUFX_OK)
            return false;
        for (size_t i = 0; i < n; i++)
            if (static_cast<PrefixIndex::Code>(ids[i]) != codes[first + i] >> 1 ||
                static_cast<size_t>(positions[i]) != first + i)
                return false;
    }
    return true;
}

BackendMemory SessionBackend::memory() const {
    const auto facts = cli::facts<ggufx_session_memory_facts>(
        [&](ggufx_session_memory_facts *out, ggufx_error *error) {
            return ggufx_session_memory(out, session_.get(), error);
        });
    return {facts.cache_bytes, facts.n_pages, facts.n_shared_pages};
}

} // namespace ggufx::cli
