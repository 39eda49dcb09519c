/*
 * Fuzz target: calls on a session of many sequences (batches with any items, truncations, copies).
 * Also loads of snapshots with changed headers and recomputed checksums. Refused calls change
 * nothing; loaded sequences are decoded. Input: type of cache, then calls.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/tiny_model.h"
#include "replay.h"
#include "snapshot_seeds.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, TYPES = 4, ROWS = 2 * TINY_CONTEXT };

static const ggufx_model *model;
static long n_loaded;

size_t snapshot_seeds(void) {
    return TYPES;
}
long snapshot_n_loaded(void) {
    return n_loaded;
}

static ggufx_session *make_session(uint32_t type) {
    static const uint32_t types[TYPES] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_0,
                                          GGUFX_TYPE_F32};
    ggufx_session *session = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_sequences = SEQUENCES;
    options.n_batch = 40;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = types[type];
    options.n_context_total = type % 2 ? TINY_CONTEXT : 0;
    must_be(ggufx_session_create(&session, model, &options, NULL) == GGUFX_OK, "a session");
    return session;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static ggufx_status write_piece(void *user, const void *data, size_t n) {
    saved_bytes *file = user;
    file->data = realloc(file->data, file->n + n + 1);
    must_be(file->data != NULL, "memory");
    memcpy(file->data + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

static void put(uint8_t *to, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* Changes a number of the header, a mode, or any byte after it, then recomputes the header's
 * checksum. */
static void change(saved_bytes *file, uint64_t n_tokens, bytes *in) {
    static const uint64_t odd[] = {
        0,  1,   2,   63,         64,         65,         95,         96,
        97, 301, 302, 0x7fffffff, 0x80000000, UINT32_MAX, UINT64_MAX, (uint64_t)1 << 40};
    const size_t end = 32 + 9 * (size_t)n_tokens; /* rows have a checksum of their own */
    const uint32_t what = take(in, 4);
    const uint64_t value = odd[take(in, 16)];
    if (what == 0)
        put(file->data + 16 + 8 * take(in, 2), value, 8);
    else if (what == 1 && n_tokens)
        put(file->data + 32 + 4 * take(in, 2 * (uint32_t)n_tokens), value, 4);
    else if (what == 2 && n_tokens)
        file->data[end - 1 - take(in, (uint32_t)n_tokens)] = (uint8_t)take(in, 20);
    else
        file->data[take(in, (uint32_t)file->n)] = (uint8_t)take(in, 256);
    put(file->data + end, checksum(file->data, end), 8);
}

static void call_load(ggufx_session *session, bytes *in) {
    const uint32_t from = take(in, SEQUENCES), to = take(in, SEQUENCES);
    saved_bytes file = {NULL, 0, 0};
    ggufx_error error;
    const uint64_t n = ggufx_session_length(session, from);
    const uint64_t before = ggufx_session_length(session, to);
    must_be(ggufx_session_save(session, from, write_piece, &file, NULL) == GGUFX_OK, "a save");
    const uint32_t n_changes = take(in, 3);
    for (uint32_t i = 0; i < n_changes; i++) change(&file, n, in);
    error.message[0] = 0;
    const ggufx_status status = ggufx_session_load(session, to, read_saved, &file, &error);
    const uint64_t after = ggufx_session_length(session, to);
    n_loaded += status == GGUFX_OK && n > 0;
    must_be(n_changes > 0 || status == GGUFX_E_CAPACITY || (status == GGUFX_OK && after == n),
            "what was saved is loaded");
    must_be(status == GGUFX_OK ? after <= TINY_CONTEXT : after == before && error.message[0],
            "a load changes all or nothing, and says why");
    free(file.data);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int32_t stop_after(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return --*(int *)user == 0;
}

static void call_decode(ggufx_session *session, bytes *in) {
    static float logits[ROWS * TINY_VOCAB], hidden[ROWS * TINY_EMBD], rows[30 * TINY_EMBD];
    static int32_t tokens[2 * TINY_CONTEXT], positions[SEQUENCES + 1][30];
    ggufx_decode_item items[SEQUENCES + 1];
    ggufx_decode_options options = {.struct_size = sizeof options};
    uint64_t before[SEQUENCES];
    int polls = 1 + (int)take(in, 30);
    const ggufx_progress progress = {.user = &polls, .report = stop_after};
    const uint32_t n = take(in, SEQUENCES + 2);
    size_t n_rows = 0, n_hidden = 0;
    for (size_t i = 0; i < 2 * TINY_CONTEXT; i++) tokens[i] = (int32_t)(i * 37 % TINY_VOCAB);
    if (take(in, 16) == 0) tokens[take(in, TINY_CONTEXT)] = (int32_t)take(in, 512) - 100;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t flags = take(in, 33), sequence = take(in, 8);
        items[i] = (ggufx_decode_item){.struct_size = sizeof(ggufx_decode_item),
                                       .sequence = sequence < 7 ? sequence % SEQUENCES : UINT32_MAX,
                                       .flags = flags,
                                       .tokens = tokens + take(in, TINY_CONTEXT),
                                       .n_tokens = take(in, 30)};
        n_rows += flags & GGUFX_DECODE_ALL_LOGITS ? items[i].n_tokens : flags & GGUFX_DECODE_LOGITS;
        n_hidden += flags & GGUFX_DECODE_ALL_HIDDEN ? items[i].n_tokens
                    : flags & GGUFX_DECODE_HIDDEN   ? 1
                                                    : 0;
        const uint32_t given = take(in, 64); /* most often tokens at the next positions */
        if (given % 8 == 0) {
            items[i].input_rows = rows;
            items[i].n_input_rows = items[i].n_tokens * TINY_EMBD;
            if (given) items[i].tokens = NULL;
        }
        if (given / 8) continue;
        const uint32_t steps = take(in, 256);
        int32_t next = (int32_t)take(in, 200) - 8;
        for (uint32_t j = 0; j < 30; j++)
            positions[i][j] = next += (int32_t)((steps >> j % 7 & 1) + (steps < 250));
        items[i].positions = positions[i];
    }
    options.flags = take(in, 2);
    options.matmul_flags = options.flags ? take(in, 17) : 0;
    if (take(in, 4) == 0) options.progress = &progress;
    options.logits = logits;
    options.n_logits = n_rows * TINY_VOCAB;
    options.hidden = hidden;
    options.n_hidden = n_hidden * TINY_EMBD;
    for (uint32_t i = 0; i < SEQUENCES; i++) before[i] = ggufx_session_length(session, i);
    const ggufx_status status = ggufx_session_decode(session, items, n, &options, NULL);
    if (status == GGUFX_OK)
        for (uint32_t i = 0; i < n; i++) before[items[i].sequence] += items[i].n_tokens;
    for (uint32_t i = 0; i < SEQUENCES; i++)
        must_be(ggufx_session_length(session, i) == before[i], "lengths after a batch");
}

static void call_one(ggufx_session *session, bytes *in) {
    const uint32_t what = take(in, 10), a = take(in, SEQUENCES), b = take(in, SEQUENCES);
    const uint64_t n = take(in, TINY_CONTEXT + 2);
    const uint32_t first = what > 7 ? take(in, TINY_CONTEXT + 2) : 0;
    if (what < 3) call_decode(session, in);
    if (what == 3 || what == 7) call_load(session, in);
    if (what == 4) (void)ggufx_session_copy(session, a, b, n, NULL);
    if (what == 5) (void)ggufx_session_truncate(session, a, 0, NULL);
    if (what == 6) (void)ggufx_session_truncate(session, a, n, NULL);
    if (what == 8) (void)ggufx_session_remove(session, a, first, n, NULL);
    if (what == 9)
        (void)ggufx_session_shift(session, a, first, n, (int32_t)take(in, 200) - 100, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    if (!model) model = target_model(NULL, NULL);
    ggufx_session *session = make_session(take(&in, 256) % TYPES);
    while (in.n) call_one(session, &in);
    ggufx_session_destroy(session);
    return 0;
}
