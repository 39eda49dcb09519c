// SPDX-License-Identifier: MIT
#include "serve/rank_session.hpp"

#include "models/generation.hpp"

#include <algorithm>

namespace ggufx::cli {

void RankSession::lose(const ggufx_error &error) const {
    if (broadcaster_) broadcaster_->lose(error);
    throw RanksLost(exit_code(GGUFX_E_STATE), error);
}

// No rank can continue after an error of the group.
void RankSession::refuse(ggufx_status status, const ggufx_error &error) const {
    if (status == GGUFX_E_IO || status == GGUFX_E_STATE) lose(error);
    SessionBackend::refuse(status, error);
}

// Errors before a message is sent leave the ranks as they are.
void RankSession::tell(const RankStep &step) {
    if (!broadcaster_) return;
    try {
        broadcaster_->tell(step);
    } catch (const std::bad_alloc &) {
        throw Refused(Fault::memory, "out of memory");
    } catch (const std::length_error &error) { throw Refused(Fault::internal, error.what()); }
}

// Broadcasts the tokens that the next call will compute. Each rank computes logits after the same
// tokens; the first one samples.
void RankSession::tell_step(std::span<const Item> items, Path path) {
    using Logits = RankStep::Logits;
    RankStep step = {.kind = RankStep::Kind::decode, .path = path};
    std::vector<std::vector<int32_t>> ids;
    for (const Item &item : items) {
        const auto &all = ids.emplace_back(generator_tokens(item.writer->generator()));
        const uint64_t held = n_tokens(item.sequence);
        const Logits of_last = held + item.n_tokens == all.size() ? Logits::last : Logits::none;
        step.items.push_back({item.sequence, std::span(all).subspan(held, item.n_tokens),
                              item.scores ? Logits::all : of_last});
    }
    tell(step);
}

void RankSession::step(std::span<const Item> items, Path path,
                       const std::function<bool()> &is_cancelled) {
    std::vector<uint64_t> lengths;
    for (const Item &item : items) lengths.push_back(n_tokens(item.sequence));
    try {
        tell_step(items, path);
    } catch (const std::bad_alloc &) { throw Refused(Fault::memory, "out of memory"); }
    try {
        SessionBackend::step(items, path, is_cancelled);
    } catch (const Refused &) {
        // The first rank may fail where the others did not, since it alone samples.
        for (size_t i = 0; i < items.size(); i++) truncate(items[i].sequence, lengths[i]);
        throw;
    }
}

void RankSession::repeat(const RankStep &step) {
    size_t n_rows = 0;
    std::vector<ggufx_decode_item> items;
    for (const RankStep::Item &item : step.items) {
        const bool all = item.logits == RankStep::Logits::all;
        const bool last = item.logits == RankStep::Logits::last;
        n_rows += all ? item.ids.size() : last;
        const uint32_t flags = all ? GGUFX_DECODE_ALL_LOGITS : last ? GGUFX_DECODE_LOGITS : 0;
        items.push_back(batch_item(item.sequence, flags, item.ids));
    }
    logits_.resize(std::max(logits_.size(), n_rows * n_vocab_));
    const bool is_tiled = step.path == Path::tiles;
    auto options = batch_options(is_tiled ? GGUFX_MATMUL_TILED : GGUFX_MATMUL_BATCH_INVARIANT,
                                 std::span(logits_).first(n_rows * n_vocab_));
    options.flags |= GGUFX_DECODE_KEEP_NAN;
    ggufx_error error;
    const ggufx_status status =
        ggufx_session_decode(session(), items.data(), items.size(), &options, &error);
    check_step(status, error);
}

// Requests can end after the group is lost, so nothing is broadcast then.
void RankSession::truncate(uint32_t sequence, uint64_t n_tokens) {
    if (!broadcaster_ || !broadcaster_->is_lost())
        tell({.kind = RankStep::Kind::truncate, .sequence = sequence, .n_tokens = n_tokens});
    SessionBackend::truncate(sequence, n_tokens);
}

// A rank without the memory cannot notify the others, so the whole group fails.
bool RankSession::copy(uint32_t from, uint32_t to, uint64_t n_tokens) {
    tell({.kind = RankStep::Kind::copy, .sequence = to, .from = from, .n_tokens = n_tokens});
    ggufx_error error;
    const ggufx_status status = ggufx_session_copy(session(), from, to, n_tokens, &error);
    if (status == GGUFX_E_MEMORY) lose(error);
    if (status != GGUFX_OK) refuse(status, error);
    return true;
}

void RankSession::load(uint32_t sequence, std::string_view snapshot) {
    const auto *const bytes = reinterpret_cast<const uint8_t *>(snapshot.data());
    tell(
        {.kind = RankStep::Kind::load, .sequence = sequence, .snapshot = {bytes, snapshot.size()}});
    SessionBackend::load(sequence, snapshot);
}

} // namespace ggufx::cli
