// Sequences of a session: include/ggufx/batch.h.
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

constexpr uint32_t kItemFlags = GGUFX_BATCH_LOGITS | GGUFX_BATCH_ALL_LOGITS | GGUFX_BATCH_MARK;
constexpr uint32_t kMostItemBytes = kMostStructBytes;

void check_item_size(uint32_t size) {
    if (size >= sizeof(ggufx_batch_item) && size <= kMostItemBytes &&
        size % alignof(ggufx_batch_item) == 0)
        return;
    fail(Status::argument, {},
         "ggufx_batch_options.item_size is %" PRIu32 ", at least %zu is needed: was it set?", size,
         sizeof(ggufx_batch_item));
}

// Items of any later version, whose further members must be 0.
model::BatchItem import_item(const uint8_t *given, uint32_t size, size_t index) {
    ggufx_batch_item item;
    memcpy(&item, given, sizeof item);
    for (uint32_t i = sizeof item; i < size; i++)
        if (given[i])
            fail(Status::argument, {kNone, index},
                 "item %" PRIu64 ": byte %" PRIu32 " of it is not known here and not 0",
                 static_cast<uint64_t>(index), i);
    if (item.flags & ~kItemFlags)
        fail(Status::argument, {kNone, index}, "item %" PRIu64 ": unknown flags 0x%" PRIx32,
             static_cast<uint64_t>(index), item.flags & ~kItemFlags);
    const size_t n_logits = item.flags & GGUFX_BATCH_ALL_LOGITS ? item.n_tokens
                            : item.flags & GGUFX_BATCH_LOGITS   ? 1
                                                                : 0;
    return {item.sequence, item.tokens, item.n_tokens, n_logits,
            (item.flags & GGUFX_BATCH_MARK) != 0};
}

// Into the session's own room; how many rows of logits they want.
uint64_t import_items(model::Session &session, const ggufx_batch_item *items, size_t n_items,
                      uint32_t size) {
    if (n_items > session.n_sequences())
        fail(Status::argument, {}, "%" PRIu64 " items, the session has %" PRIu32 " sequences",
             static_cast<uint64_t>(n_items), session.n_sequences());
    uint64_t n_rows = 0;
    for (size_t i = 0; i < n_items; i++) {
        const auto *given = reinterpret_cast<const uint8_t *>(items) + i * size;
        session.items()[i] = import_item(given, size, i);
        if (!checked::add(&n_rows, n_rows, session.items()[i].n_logits)) n_rows = UINT64_MAX;
    }
    return n_rows;
}

void check_logits(const ggufx_batch_options &options, uint64_t n_rows, uint64_t n_vocab) {
    uint64_t needed = 0;
    if (!checked::mul(&needed, n_rows, n_vocab)) needed = UINT64_MAX;
    if (options.n_logits == needed && (options.logits || needed == 0)) return;
    fail(Status::argument, {},
         "logits must hold %" PRIu64 " rows x %" PRIu64 " floats, n_logits is %" PRIu64, n_rows,
         n_vocab, static_cast<uint64_t>(options.n_logits));
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

} // namespace

extern "C" void ggufx_batch_options_init(ggufx_batch_options *options) {
    init_options(options);
}

extern "C" ggufx_status ggufx_session_decode_batch(ggufx_session *session,
                                                   const ggufx_batch_item *items, size_t n_items,
                                                   const ggufx_batch_options *options,
                                                   ggufx_error *error) {
    return guard(error, [&] {
        check_session(session);
        require(items || n_items == 0, "items must be set");
        require(options, "options must be set");
        const auto in = import_options(options, GGUFX_BATCH_MATMUL, "ggufx_batch_options");
        check_item_size(in.item_size);
        const uint64_t n_rows = import_items(session->session, items, n_items, in.item_size);
        check_logits(in, n_rows, session->model->model.shape().n_vocab);
        const bool own = (in.flags & GGUFX_BATCH_MATMUL) != 0;
        require(own || in.matmul_flags == 0,
                "ggufx_batch_options.matmul_flags needs GGUFX_BATCH_MATMUL");
        if (in.matmul_flags & ~kMatmulFlags)
            fail(Status::argument, {}, "ggufx_batch_options.matmul_flags: unknown flags 0x%" PRIx32,
                 in.matmul_flags & ~kMatmulFlags);
        const matmul::Options matmul =
            matmul_options(in.matmul_flags, "ggufx_batch_options.matmul_flags");
        model::BatchOptions out;
        out.progress = import_progress(in.progress);
        out.logits = in.logits;
        if (own) out.matmul = &matmul;
        return session->session.decode_batch(session->session.items(), n_items, out,
                                             failure_of(error));
    });
}

extern "C" uint64_t ggufx_session_sequence_length(const ggufx_session *session, uint32_t sequence) {
    const bool known = alive(session, Tag::session) && sequence < session->session.n_sequences();
    return known ? session->session.length(sequence) : 0;
}

extern "C" ggufx_status ggufx_session_sequence_truncate(ggufx_session *session, uint32_t sequence,
                                                        uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        return session->session.truncate(sequence, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_sequence_copy(ggufx_session *session, uint32_t from,
                                                    uint32_t to, uint64_t n_tokens,
                                                    ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, from);
        check_sequence(session, to);
        return session->session.copy(from, to, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_memory(ggufx_session_memory_facts *out,
                                             const ggufx_session *session, ggufx_error *error) {
    return guard(error, [&] {
        check_session(session);
        require(out, "out must be set");
        ggufx_session_memory_facts facts = {};
        const model::Caches::Memory memory = session->session.caches().memory();
        facts.cache_bytes = memory.bytes;
        facts.n_pages = memory.n_pages;
        facts.n_shared_pages = memory.n_shared_pages;
        for (uint32_t i = 0; i < session->session.n_sequences(); i++)
            facts.n_tokens += session->session.length(i);
        export_struct(out, facts, "ggufx_session_memory_facts");
    });
}

extern "C" ggufx_status ggufx_session_save(const ggufx_session *session, uint32_t sequence,
                                           ggufx_status (*write)(void *user, const void *data,
                                                                 size_t n),
                                           void *user, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        require(write, "write must be set");
        return session->session.save(sequence, write, user, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_load(ggufx_session *session, uint32_t sequence,
                                           ggufx_status (*read)(void *user, void *data, size_t n),
                                           void *user, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        require(read, "read must be set");
        return session->session.load(sequence, {read, user}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_save_path(const ggufx_session *session, uint32_t sequence,
                                                const char *path, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        require(path, "path must be set");
        return session->session.save_path(sequence, path, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_session_load_path(ggufx_session *session, uint32_t sequence,
                                                const char *path, ggufx_error *error) {
    return guard(error, [&] {
        check_sequence(session, sequence);
        require(path, "path must be set");
        return session->session.load_path(sequence, path, failure_of(error));
    });
}
