// Shared by the tests of sessions with many sequences: sessions, a call with its results, a
// snapshot in memory, and a progress callback that cancels calls.
// SPDX-License-Identifier: MIT
#pragma once

#include "tiny_files.hpp"

#include <string.h>

// Options of a session with many sequences; zeros are its defaults.
struct CrowdMode {
    uint32_t n_sequences = 0, n_context = 0, n_batch = 0, type = 0;
    uint32_t matmul_flags = GGUFX_MATMUL_F32;
    uint64_t n_context_total = 0;
};

inline ggufx_session *make_session(const ggufx_model *model, const CrowdMode &mode,
                                   ggufx_error *error) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = mode.n_context;
    options.n_batch = mode.n_batch;
    options.n_sequences = mode.n_sequences;
    options.n_context_total = mode.n_context_total;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = mode.type;
    options.matmul_flags = mode.matmul_flags;
    ggufx_session *session = nullptr;
    return ggufx_session_create(&session, model, &options, error) == GGUFX_OK ? session : nullptr;
}

inline ggufx_decode_item make_item(uint32_t sequence, uint32_t flags, const int32_t *tokens,
                                   size_t n) {
    ggufx_decode_item item = {};
    item.struct_size = sizeof item;
    item.sequence = sequence;
    item.flags = flags;
    item.tokens = tokens;
    item.n_tokens = n;
    return item;
}

// Inputs and results of a decode_batch call.
struct Call {
    std::vector<ggufx_decode_item> items;
    uint32_t flags = 0; // product flags
    std::vector<float> logits, hidden;

    size_t rows(uint32_t last, uint32_t all) const {
        size_t n = 0;
        for (const ggufx_decode_item &item : items) n += rows_of(item, last, all);
        return n;
    }
    static size_t rows_of(const ggufx_decode_item &item, uint32_t last, uint32_t all) {
        return item.flags & all ? item.n_tokens : item.flags & last ? 1 : 0;
    }
    ggufx_status run(ggufx_session *session, const ggufx_model_facts &model,
                     const ggufx_progress *progress, ggufx_error *error) {
        logits.assign(rows(GGUFX_DECODE_LOGITS, GGUFX_DECODE_ALL_LOGITS) * model.n_vocab, -1);
        hidden.assign(rows(GGUFX_DECODE_HIDDEN, GGUFX_DECODE_ALL_HIDDEN) * model.n_embedding, -1);
        ggufx_decode_options options = {};
        options.struct_size = sizeof options;
        options.flags = GGUFX_DECODE_HAS_MATMUL_FLAGS;
        options.matmul_flags = flags;
        options.progress = progress;
        options.logits = logits.empty() ? nullptr : logits.data();
        options.n_logits = logits.size();
        options.hidden = hidden.empty() ? nullptr : hidden.data();
        options.n_hidden = hidden.size();
        return ggufx_session_decode(session, items.data(), items.size(), &options, error);
    }
};

inline ggufx_model_facts facts_of(const ggufx_model *model) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, model, &error), error, "info");
    return facts;
}

// Data written by ggufx_session_save.
struct SnapshotFile {
    std::vector<uint8_t> bytes;
    size_t at = 0;
    static ggufx_status write(void *user, const void *data, size_t n) {
        auto &file = *static_cast<SnapshotFile *>(user);
        const auto *from = static_cast<const uint8_t *>(data);
        file.bytes.insert(file.bytes.end(), from, from + n);
        return GGUFX_OK;
    }
    static ggufx_status read(void *user, void *data, size_t n) {
        auto &file = *static_cast<SnapshotFile *>(user);
        if (n > file.bytes.size() - file.at) return GGUFX_E_TRUNCATED;
        memcpy(data, file.bytes.data() + file.at, n);
        file.at += n;
        return GGUFX_OK;
    }
};

// A progress callback that cancels a call at its n-th poll.
struct Countdown {
    int polls;
    ggufx_progress progress = {};
    explicit Countdown(int n) : polls(n) {
        progress.user = this;
        progress.report = report;
    }
    Countdown(const Countdown &) = delete;
    static int32_t report(void *user, uint64_t, uint64_t) {
        return --static_cast<Countdown *>(user)->polls == 0;
    }
};
