/*
 * Fuzz target: a snapshot of a KV cache with changed numbers and recomputed checksums, then every
 * call on a loaded cache. Input: which cache, number of changes, the changes, then calls. The
 * pieces that the library writes locate the numbers: a piece of four bytes is a number.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/kv_calls.h"
#include "replay.h"
#include "snapshot_seeds.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Boundary values. */
static uint64_t odd_number(bytes *in) {
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       15,
                                       16,
                                       63,
                                       64,
                                       65,
                                       127,
                                       511,
                                       512,
                                       513,
                                       0x7fff,
                                       0xffff,
                                       0x10000,
                                       0x7fffffff,
                                       0x80000000,
                                       0x80000001,
                                       0xffffffff,
                                       0x100000000,
                                       0xffffffffffff,
                                       (uint64_t)1 << 40,
                                       ((uint64_t)1 << 40) - 400,
                                       ((uint64_t)1 << 40) + 1,
                                       INT64_MAX,
                                       (uint64_t)1 << 63,
                                       UINT64_MAX - 300,
                                       UINT64_MAX - 1,
                                       UINT64_MAX};
    static const uint32_t floats[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff,
                                      1,          0x80000000, 0x7e007e00, 0x7c007c00,
                                      0xfc00fc00, 0x7bff7bff, 0x477fe000};
    const uint32_t which = take(in, 64);
    if (which < sizeof numbers / sizeof *numbers) return numbers[which];
    if (which < 45) return floats[take(in, sizeof floats / sizeof *floats)];
    return which < 54 ? take(in, 256) : (uint64_t)take(in, 65536) << 16 | take(in, 65536);
}

static void put(uint8_t *to, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(value >> 8 * i);
}
static uint64_t get(const uint8_t *from, size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}
static void add(uint8_t *to, uint64_t value, size_t n) {
    put(to, get(to, n) + value, n);
}

/* ---- changes ------------------------------------------------------------------------------- */

/* Adds or removes tokens of a page, and adjusts the sequence's count. */
static void change_page(snapshot *s, const snapshot_page *page, bytes *in) {
    uint8_t *head = s->data + page->at, *tokens = s->data + page->track;
    const uint32_t what = take(in, 6), n = (uint32_t)get(head + 8, 4);
    const uint32_t by = take(in, n < 2 ? 1 : n);
    switch (what) {
    case 0: /* fewer, from the end */
    case 1: /* or from the front */
        put(head + 8, n - by, 4);
        if (what == 1) add(head + 4, by, 4);
        add(tokens, 0 - (uint64_t)by, 8);
        return;
    case 2:
        add(head + 8, by, 4);
        add(tokens, by, 8);
        return;
    case 3: /* another shift, the same positions */
    case 4: {
        const uint64_t delta = odd_number(in);
        add(head + 12, delta, 4);
        for (size_t i = 0; what == 3 && i < 64; i++) add(head + 16 + 4 * i, 0 - delta, 4);
        return;
    }
    default: { /* the same position repeated */
        const uint64_t same = get(head + 16 + 4 * (size_t)get(head + 4, 1) % 256, 4);
        for (size_t i = 0; i < 64; i++) put(head + 16 + 4 * i, same, 4);
    }
    }
}

static void change_track(snapshot *s, size_t track, bytes *in) {
    const uint64_t by = odd_number(in);
    const uint32_t what = take(in, 4);
    if (what == 3) {
        put(s->data + track + 16 + 4 * take(in, 2), by, 4);
        return;
    }
    if (what != 1) add(s->data + track, by, 8);
    if (what != 2) add(s->data + track + 8, by, 8);
}

static void change(snapshot *s, bytes *in) {
    const uint32_t what = take(in, 8);
    if (what < 2) {
        const size_t at = s->numbers[take(in, (uint32_t)s->n_numbers)];
        put(s->data + at, odd_number(in), what ? 4 : at + 8 <= s->n ? 8 : 4);
    } else if (what < 4) {
        change_track(s, s->tracks[take(in, (uint32_t)s->n_tracks)], in);
    } else if (what < 6 && s->n_pages) {
        change_page(s, &s->pages[take(in, (uint32_t)s->n_pages)], in);
    } else if (s->n_pages) { /* stored data: codes, scales, floats */
        const snapshot_page *page = &s->pages[take(in, (uint32_t)s->n_pages)];
        size_t at = take(in, (uint32_t)page->data_bytes - 3);
        if (what == 7) at &= ~(size_t)3;
        put(s->data + page->data + at, odd_number(in), 4);
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

static float *values(size_t n, uint32_t seed) {
    float *x = malloc(n ? n * sizeof *x : 1); /* exact, for sanitizers */
    if (!x) abort();
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * (1.0f / 2147483648.0f);
    }
    return x;
}

static uint64_t length_of(const ggufx_kv *kv, uint32_t sequence) {
    uint64_t length = 0;
    if (ggufx_kv_length(&length, kv, sequence, NULL) != GGUFX_OK) abort();
    return length;
}

static void call_append(ggufx_kv *kv, const ggufx_kv_options *o, uint32_t sequence, bytes *in) {
    const uint32_t n = 1 + take(in, 130);
    const bool given = take(in, 2) != 0;
    const size_t nk = (size_t)n * o->n_kv_heads * o->head_dim_k;
    const size_t nv = o->flags & GGUFX_KV_V_IN_K ? 0 : (size_t)n * o->n_kv_heads * o->head_dim_v;
    int32_t positions[130], p = (int32_t)odd_number(in);
    for (uint32_t i = 0; i < n; i++)
        positions[i] = p < INT32_MAX - (int32_t)i / 2 ? p + (int32_t)i / 2 : p;
    float *k = values(nk, n), *v = values(nv, n + 1);
    for (uint32_t layer = 0; layer < o->n_layers; layer++)
        if (kv_append_rows(kv, layer, sequence, n, given ? positions : NULL, k, nk, nv ? v : NULL,
                           nv, NULL) != GGUFX_OK)
            break;
    free(k);
    free(v);
}

static void call_attend(ggufx_kv *kv, const ggufx_kv_options *o, uint32_t sequence, bytes *in) {
    const uint32_t n = 1 + take(in, 9), layer = take(in, o->n_layers);
    const size_t n_out = (size_t)n * o->n_q_heads * o->head_dim_v;
    const size_t nq = (size_t)n * o->n_q_heads * o->head_dim_k;
    float *q = values(nq, n), *out = malloc(n_out * sizeof *out);
    int32_t positions[9];
    ggufx_attend_options options = {.struct_size = sizeof options};
    if (!out) abort();
    options.flags = take(in, 3) == 0 ? GGUFX_ATTEND_ALL : 0;
    options.window = take(in, 3) == 0 ? take(in, 100) : 0;
    const bool given = take(in, 2) != 0;
    for (uint32_t i = 0; i < n; i++) positions[i] = (int32_t)odd_number(in);
    (void)kv_attend_rows(out, n_out, NULL, 0, kv, layer, sequence, q, nq, n,
                         given ? positions : NULL, &options, NULL);
    free(q);
    free(out);
}

static void call_scores(ggufx_kv *kv, const ggufx_kv_options *o, uint32_t sequence, bytes *in) {
    const uint32_t layer = take(in, o->n_layers);
    const uint64_t length = length_of(kv, sequence);
    if (length > 1u << 16) return; /* too much memory */
    const size_t n_out = (size_t)length * o->n_q_heads, nq = (size_t)o->n_q_heads * o->head_dim_k;
    float *q = values(nq, 1), *out = values(n_out, 2);
    (void)kv_score_rows(out, n_out, kv, layer, sequence, q, nq, 1, 0, NULL);
    free(q);
    free(out);
}

static void call_read(ggufx_kv *kv, const ggufx_kv_options *o, uint32_t sequence, bytes *in) {
    const uint32_t layer = take(in, o->n_layers), n = 1 + take(in, 100);
    const uint64_t length = length_of(kv, sequence), back = take(in, 400);
    const uint64_t first = take(in, 8) ? (length > back ? length - back : 0) : odd_number(in);
    const size_t nk = (size_t)n * o->n_kv_heads * o->head_dim_k;
    const size_t nv = (size_t)n * o->n_kv_heads * o->head_dim_v;
    float *k = values(nk, 1), *v = values(nv, 2);
    int32_t *positions = malloc(n * sizeof *positions);
    if (!positions) abort();
    (void)kv_read_rows(k, nk, v, nv, kv, layer, sequence, first, n, NULL);
    (void)ggufx_kv_positions(positions, kv, sequence, first, n, NULL);
    free(positions);
    free(k);
    free(v);
}

static void call_sequences(ggufx_kv *kv, const ggufx_kv_options *o, uint32_t sequence, bytes *in) {
    const uint32_t what = take(in, 8), to = take(in, o->n_sequences);
    const uint64_t first = take(in, 2) ? take(in, 400) : odd_number(in);
    const uint64_t n = take(in, 2) ? take(in, 400) : odd_number(in);
    const int32_t delta = (int32_t)(take(in, 2) ? take(in, 200) - 100 : odd_number(in));
    const uint64_t length = length_of(kv, sequence), less = take(in, 300);
    switch (what) {
    case 0:
        (void)ggufx_kv_truncate(kv, sequence, length > less ? length - less : 0, NULL);
        break;
    case 1:
        (void)ggufx_kv_rollback(kv, sequence, NULL);
        break;
    case 2:
    case 3:
        (void)ggufx_kv_remove(kv, sequence, first, n, NULL);
        break;
    case 4:
        (void)ggufx_kv_copy(kv, sequence, to, first, n, NULL);
        break;
    case 5:
    case 6:
        (void)ggufx_kv_shift(kv, sequence, first, n, delta, NULL);
        break;
    default:
        (void)ggufx_kv_keep(kv, sequence, NULL);
    }
}

static void call_rebuild(ggufx_kv *kv, bytes *in) {
    const uint32_t *types = snapshot_types(), what = take(in, 3), type = take(in, 16);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    if (what == 0) (void)ggufx_kv_compact(kv, GGUFX_ALL_SEQUENCES, NULL, NULL);
    if (what == 1)
        (void)ggufx_kv_requantize(kv, GGUFX_KV_ALL_LAYERS, types[type], GGUFX_TYPE_KEEP, NULL,
                                  NULL);
    if (what == 2) (void)ggufx_kv_reserve(kv, 0, take(in, 1000), NULL);
    if (ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, NULL) != GGUFX_OK) abort();
}

/* A saved snapshot can be loaded by the same cache. */
static void call_save(ggufx_kv *kv) {
    snapshot saved = {0};
    ggufx_error error;
    if (ggufx_kv_save(kv, GGUFX_ALL_SEQUENCES, snapshot_write, &saved, NULL) != GGUFX_OK) abort();
    if (ggufx_kv_load(kv, GGUFX_ALL_SEQUENCES, snapshot_read, &saved, &error) != GGUFX_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    snapshot_free(&saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    ggufx_error error;
    const snapshot_seed *seed = snapshot_seed_at(take(&in, 256));
    snapshot s = snapshot_copy(&seed->saved);
    for (uint32_t n = take(&in, 4); n; n--) change(&s, &in);
    snapshot_seal(&s);
    ggufx_kv *kv = snapshot_cache(seed);
    error.message[0] = 0;
    if (ggufx_kv_load(kv, GGUFX_ALL_SEQUENCES, snapshot_read, &s, &error) == GGUFX_OK) {
        snapshot_loaded();
        for (uint32_t n = 0; in.n && n < 24; n++) {
            const uint32_t what = take(&in, 16), sequence = take(&in, seed->shape.n_sequences);
            if (what < 4)
                call_append(kv, &seed->shape, sequence, &in);
            else if (what < 7)
                call_attend(kv, &seed->shape, sequence, &in);
            else if (what < 9)
                call_scores(kv, &seed->shape, sequence, &in);
            else if (what < 11)
                call_read(kv, &seed->shape, sequence, &in);
            else if (what < 14)
                call_sequences(kv, &seed->shape, sequence, &in);
            else if (what < 15)
                call_rebuild(kv, &in);
            else
                call_save(kv);
        }
    } else if (!memchr(error.message, 0, sizeof error.message) || !error.message[0]) {
        abort(); /* every error has a message */
    }
    ggufx_kv_destroy(kv);
    snapshot_free(&s);
    return 0;
}
