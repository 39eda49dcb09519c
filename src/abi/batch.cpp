// Sequences of a session and batches: include/ggufx/batch.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/matmul_flags.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"

#include <ggufx/batch.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kItemFlags = GGUFX_DECODE_LOGITS | GGUFX_DECODE_ALL_LOGITS |
                                GGUFX_DECODE_CHECKPOINT | GGUFX_DECODE_HIDDEN |
                                GGUFX_DECODE_ALL_HIDDEN;

// Rows requested for the tokens of an item: all, the last one, or none.
size_t rows_of(const ggufx_decode_item &item, uint32_t last, uint32_t all) {
    return item.flags & all ? item.n_tokens : item.flags & last ? 1 : 0;
}

void check_input_rows(const ggufx_decode_item &item, uint32_t width, size_t index) {
    uint64_t needed = 0;
    if (item.input_rows && !checked::mul(&needed, uint64_t{item.n_tokens}, uint64_t{width}))
        needed = UINT64_MAX;
    if (item.n_input_rows == needed) return;
    fail(Status::argument, {kNone, index},
         "item %" PRIu64 ": input_rows must hold %" PRIu64 " x %" PRIu32
         " floats, n_input_rows is %" PRIu64,
         static_cast<uint64_t>(index), static_cast<uint64_t>(item.input_rows ? item.n_tokens : 0),
         width, static_cast<uint64_t>(item.n_input_rows));
}

model::BatchItem import_item(const ggufx_decode_item &item, uint32_t width, size_t index) {
    check_input_rows(item, width, index);
    return {.sequence = item.sequence,
            .tokens = item.tokens,
            .n = item.n_tokens,
            .n_logits = rows_of(item, GGUFX_DECODE_LOGITS, GGUFX_DECODE_ALL_LOGITS),
            .n_hidden = rows_of(item, GGUFX_DECODE_HIDDEN, GGUFX_DECODE_ALL_HIDDEN),
            .mark = (item.flags & GGUFX_DECODE_CHECKPOINT) != 0,
            .embeddings = item.input_rows,
            .positions = item.positions};
}

// Imports all items into memory of the session.
void import_items(model::Session &session, const ggufx_decode_item *items, size_t n_items) {
    if (n_items > session.n_sequences())
        fail(Status::argument, {}, "%" PRIu64 " items, the session has %" PRIu32 " sequences",
             static_cast<uint64_t>(n_items), session.n_sequences());
    const uint32_t width = session.model().shape().n_embd;
    const StructList<ggufx_decode_item> list(items, n_items, kItemFlags, "ggufx_decode_item");
    for (size_t i = 0; i < n_items; i++) session.items()[i] = import_item(list.at(i), width, i);
}

uint64_t sum_of(const model::BatchItem *items, size_t n_items, size_t model::BatchItem::*rows) {
    uint64_t n = 0;
    for (size_t i = 0; i < n_items; i++)
        if (!checked::add(&n, n, uint64_t{items[i].*rows})) n = UINT64_MAX;
    return n;
}

void check_rows(const char *name, const float *out, size_t n_out, uint64_t n_rows,
                uint64_t n_values) {
    uint64_t needed = 0;
    if (!checked::mul(&needed, n_rows, n_values)) needed = UINT64_MAX;
    if (n_out == needed && (out || needed == 0)) return;
    fail(Status::argument, {},
         "%s must hold %" PRIu64 " rows x %" PRIu64 " floats, n_%s is %" PRIu64, name, n_rows,
         n_values, name, static_cast<uint64_t>(n_out));
}

model::AttentionHook import_attention(const ggufx_decode_options &in, size_t n_items,
                                      bool is_in_group) {
    if (!in.attention) return {};
    const auto hook = import_options(in.attention, 0, "ggufx_attention_hook");
    require(hook.layer, "ggufx_attention_hook.layer must be set");
    require(n_items == 1, "ggufx_decode_options.attention needs a batch of one item");
    if (is_in_group)
        fail(Status::unsupported, {}, "ranks of a group do not support attention hooks");
    return {hook.user, hook.layer};
}

void check_session(const ggufx_session *session) {
    require(alive(session, Tag::session), "session must be set");
}

// Throws.
void check_sequence(const ggufx_session *session, uint32_t sequence) {
    check_session(session);
    if (sequence >= session->session.n_sequences())
        fail(Status::argument, {.index = sequence},
             "sequence %" PRIu32 ": the session has %" PRIu32 " sequences", sequence,
             session->session.n_sequences());
}

// Accepts one sequence or GGUFX_ALL_SEQUENCES. Throws.
void check_snapshot(const ggufx_session *session, uint32_t sequence) {
    if (sequence == GGUFX_ALL_SEQUENCES)
        check_session(session);
    else
        check_sequence(session, sequence);
}

} // namespace

extern "C" ggufx_status ggufx_session_decode(ggufx_session *session, const ggufx_decode_item *items,
                                             size_t n_items, const ggufx_decode_options *options,
                                             ggufx_error *error) {
    return guard(error, [&] {
        check_session(session);
        require(items || n_items == 0, "items must be set");
        require(options, "options must be set");
        const auto in = import_options(
            options, GGUFX_DECODE_HAS_MATMUL_FLAGS | GGUFX_DECODE_KEEP_NAN, "ggufx_decode_options");
        model::BatchOptions out;
        out.attention = import_attention(in, n_items, session->model->group);
        import_items(session->session, items, n_items);
        const model::BatchItem *const given = session->session.items();
        const model::Shape &shape = session->model->model.shape();
        check_rows("logits", in.logits, in.n_logits,
                   sum_of(given, n_items, &model::BatchItem::n_logits), shape.n_vocab);
        check_rows("hidden", in.hidden, in.n_hidden,
                   sum_of(given, n_items, &model::BatchItem::n_hidden), shape.n_embd);
        const bool own = (in.flags & GGUFX_DECODE_HAS_MATMUL_FLAGS) != 0;
        require(own || in.matmul_flags == 0,
                "ggufx_decode_options.matmul_flags needs GGUFX_DECODE_HAS_MATMUL_FLAGS");
        if (in.matmul_flags & ~kMatmulFlags)
            fail(Status::argument, {},
                 "ggufx_decode_options.matmul_flags: unknown flags 0x%" PRIx32,
                 in.matmul_flags & ~kMatmulFlags);
        const matmul::Options matmul =
            matmul_options(in.matmul_flags, "ggufx_decode_options.matmul_flags");
        out.progress = import_progress(in.progress);
        out.logits = in.logits;
        out.hidden = in.hidden;
        if (own) out.matmul = &matmul;
        out.keeps_nan = (in.flags & GGUFX_DECODE_KEEP_NAN) != 0;
        return session->session.decode_batch(session->session.items(), n_items, out,
                                             failure_of(error));
    });
}

extern "C" uint64_t ggufx_session_length(const ggufx_session *session, uint32_t sequence) {
    const bool known = alive(session, Tag::session) && sequence < session->session.n_sequences();
    return known ? session->session.length(sequence) : 0;
}

extern "C" ggufx_status ggufx_session_truncate(ggufx_session *session, uint32_t sequence,
                                               uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        return session->session.truncate(sequence, n_tokens, failure_of(error));
    });
}

namespace {

// Edit that all ranks of a group make without messages.
template <class Fn> Status edit(ggufx_session *session, ggufx_error *error, const Fn &fn) {
    model::Peers *const peers = session->session.model().peers();
    const Status status = ends_group(peers, [&] { return fn(session->session); });
    return peers && status == Status::memory ? peers->give_up(status, failure_of(error)) : status;
}

} // namespace

extern "C" ggufx_status ggufx_session_copy(ggufx_session *session, uint32_t from, uint32_t to,
                                           uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, from);
        check_sequence(session, to);
        return edit(session, error, [&](model::Session &s) {
            return s.copy(from, to, n_tokens, failure_of(error));
        });
    });
}

extern "C" ggufx_status ggufx_session_remove(ggufx_session *session, uint32_t sequence,
                                             uint64_t first, uint64_t n_tokens,
                                             ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        return edit(session, error, [&](model::Session &s) {
            return s.remove(sequence, first, n_tokens, failure_of(error));
        });
    });
}

extern "C" ggufx_status ggufx_session_shift(ggufx_session *session, uint32_t sequence,
                                            uint64_t first, uint64_t n_tokens, int32_t delta,
                                            ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        return edit(session, error, [&](model::Session &s) {
            return s.shift(sequence, first, n_tokens, delta, failure_of(error));
        });
    });
}

extern "C" ggufx_status ggufx_session_tokens(int32_t *out_ids, int32_t *out_positions,
                                             const ggufx_session *session, uint32_t sequence,
                                             uint64_t first, uint64_t n_tokens,
                                             ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        const model::Session &s = session->session;
        const Status status = model::Session::check_part(s.length(sequence), first, n_tokens,
                                                         sequence, failure_of(error));
        if (status != Status::ok || n_tokens == 0) return status;
        const size_t bytes = static_cast<size_t>(n_tokens) * sizeof(int32_t);
        if (out_ids) memcpy(out_ids, s.ids(sequence) + first, bytes);
        if (out_positions) memcpy(out_positions, s.positions(sequence) + first, bytes);
        return status;
    });
}

extern "C" ggufx_status ggufx_session_save(const ggufx_session *session, uint32_t sequence,
                                           ggufx_status (*write)(void *user, const void *data,
                                                                 size_t n),
                                           void *user, ggufx_error *error) {
    return guard(error, [&] {
        check_snapshot(session, sequence);
        require(write, "write must be set");
        return session->session.save(sequence, write, user, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_load(ggufx_session *session, uint32_t sequence,
                                           ggufx_status (*read)(void *user, void *data, size_t n),
                                           void *user, ggufx_error *error) {
    return guard(error, [&] {
        check_snapshot(session, sequence);
        require(read, "read must be set");
        return ends_group(session->session.model().peers(), [&] {
            return session->session.load(sequence, {read, user}, failure_of(error));
        });
    });
}

extern "C" ggufx_status ggufx_session_save_file(const ggufx_session *session, uint32_t sequence,
                                                const char *path, ggufx_error *error) {
    return guard(error, [&] {
        check_snapshot(session, sequence);
        require(path, "path must be set");
        return session->session.save_path(sequence, path, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_load_file(ggufx_session *session, uint32_t sequence,
                                                const char *path, ggufx_error *error) {
    return guard(error, [&] {
        check_snapshot(session, sequence);
        require(path, "path must be set");
        return ends_group(session->session.model().peers(), [&] {
            return session->session.load_path(sequence, path, failure_of(error));
        });
    });
}
