/*
 * Seeds of the fuzz target for snapshots: caches that are filled, edited and shifted, then saved.
 * SPDX-License-Identifier: MIT
 */
#include "snapshot_seeds.h"

#include "../unit/kv_calls.h"

#include <stdlib.h>
#include <string.h>

enum { kTypes = 17, kSeeds = 6 * kTypes, kIdentity = 11, kPerLayer = 4, kPageSlots = 64 };

static const uint32_t kv_types[kTypes] = {
    GGUFX_TYPE_F16,           GGUFX_TYPE_Q8_0,   GGUFX_TYPE_GX4,        GGUFX_TYPE_TQ3_0,
    GGUFX_TYPE_F32,           GGUFX_TYPE_Q5_1,   GGUFX_TYPE_Q5_0,       GGUFX_TYPE_Q4_1,
    GGUFX_TYPE_Q4_0,          GGUFX_TYPE_IQ4_NL, GGUFX_TYPE_ROT_Q5_0,   GGUFX_TYPE_GX3,
    GGUFX_TYPE_ROT_Q4_0,      GGUFX_TYPE_GX2,    GGUFX_TYPE_ROT_IQ4_NL, GGUFX_TYPE_BF16,
    GGUFX_TYPE_TQ3_0_RESIDUAL};

static snapshot_seed seeds[kSeeds];
static long n_loaded;

const uint32_t *snapshot_types(void) {
    return kv_types;
}
size_t snapshot_seeds(void) {
    return kSeeds;
}
void snapshot_loaded(void) {
    n_loaded++;
}
long snapshot_n_loaded(void) {
    return n_loaded;
}

static void *need(void *memory) {
    if (!memory) abort();
    return memory;
}

/* ---- bytes --------------------------------------------------------------------------------- */

ggufx_status snapshot_write(void *user, const void *data, size_t n) {
    snapshot *s = user;
    if (s->capacity - s->n < n) {
        s->capacity = 2 * (s->n + n);
        s->data = need(realloc(s->data, s->capacity));
    }
    if (s->n_pieces % 1024 == 0)
        s->pieces = need(realloc(s->pieces, (s->n_pieces + 1024) * sizeof *s->pieces));
    s->pieces[s->n_pieces++] = s->n;
    memcpy(s->data + s->n, data, n);
    s->n += n;
    return GGUFX_OK;
}

ggufx_status snapshot_read(void *user, void *data, size_t n) {
    snapshot *s = user;
    if (s->n - s->at < n) return GGUFX_E_TRUNCATED;
    memcpy(data, s->data + s->at, n);
    s->at += n;
    return GGUFX_OK;
}

snapshot snapshot_copy(const snapshot *from) {
    snapshot s = *from;
    s.data = need(malloc(s.n));
    memcpy(s.data, from->data, s.n);
    s.pieces = NULL;
    s.at = 0;
    return s;
}

void snapshot_free(snapshot *s) {
    free(s->data);
    free(s->pieces);
}

static uint64_t crc64(const uint8_t *data, size_t n) {
    static uint64_t table[256];
    uint64_t crc = ~0ull;
    for (size_t i = table[255] ? 256 : 0; i < 256; i++) {
        uint64_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0xc96c5795d7870f42ull : 0);
        table[i] = c;
    }
    while (n--) crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
    return ~crc;
}

/* Size of the header without its checksum; it has a flag per sequence and layer for the centering
 * of pages. */
static size_t header_bytes(const snapshot *s) {
    const size_t n_sequences = s->data[12]; /* at most a few */
    return 16 + 4 * (kIdentity + (kPerLayer + n_sequences) * (size_t)s->n_layers);
}

static void put64(uint8_t *to, uint64_t value) {
    for (size_t i = 0; i < 8; i++) to[i] = (uint8_t)(value >> 8 * i);
}

void snapshot_seal(snapshot *s) {
    const size_t header = header_bytes(s);
    put64(s->data + header, crc64(s->data, header));
    put64(s->data + s->n - 8, crc64(s->data, s->n - 8));
}

/* ---- locations of numbers ------------------------------------------------------------------ */

static void add_number(snapshot *s, size_t at) {
    s->numbers[s->n_numbers++] = at;
}

static uint32_t number_at(const snapshot *s, size_t at) {
    return s->data[at] | (uint32_t)s->data[at + 1] << 8 | (uint32_t)s->data[at + 2] << 16 |
           (uint32_t)s->data[at + 3] << 24;
}

/* Records the track at `piece` with its pages; returns the first piece after it. */
static size_t find_pages(snapshot *s, size_t piece) {
    const size_t track = s->pieces[piece], n = number_at(s, track + 24);
    s->tracks[s->n_tracks++] = track;
    for (size_t i = 0; i < 8; i++) add_number(s, s->pieces[piece++]);
    for (size_t page = 0; page < n; page++) {
        snapshot_page *to = &s->pages[s->n_pages++];
        to->at = s->pieces[piece];
        to->track = track;
        for (size_t i = 0; i < 4 + kPageSlots; i++, piece++)
            if (i < 4 || i % 13 == 4) add_number(s, s->pieces[piece]);
        to->data = s->pieces[piece];
        do piece++; /* the metadata before the page's data has at most 8 bytes */
        while (s->pieces[piece + 1] - s->pieces[piece] > 8);
        to->data_bytes = s->pieces[piece] - to->data;
    }
    return piece;
}

static void find_numbers(snapshot *s, uint32_t n_tracks) {
    const size_t header = header_bytes(s);
    size_t piece = 0, first;
    s->numbers = need(malloc(s->n_pieces * sizeof *s->numbers));
    s->tracks = need(malloc(n_tracks * sizeof *s->tracks));
    s->pages = need(malloc(s->n_pieces * sizeof *s->pages));
    for (; s->pieces[piece] < header; piece++)
        if (s->pieces[piece] >= 8) add_number(s, s->pieces[piece]);
    piece += 2; /* skip the checksum */
    /* Means and equalizers precede the tracks; the first larger piece belongs to the first page. */
    for (first = piece; s->pieces[first + 1] - s->pieces[first] == 4; first++) {}
    first -= 8 + 4 + kPageSlots;
    for (; piece < first; piece++) add_number(s, s->pieces[piece]);
    for (uint32_t i = 0; i < n_tracks; i++) piece = find_pages(s, piece);
    if (piece + 2 != s->n_pieces || s->n_pages == 0) abort(); /* only the checksum is left */
}

/* ---- caches -------------------------------------------------------------------------------- */

static const ggufx_runtime *runtime(void) {
    static ggufx_runtime *rt;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.threads = 1;
    if (!rt && ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) abort();
    return rt;
}

static void set_shape(snapshot_seed *seed, size_t index) {
    static const uint32_t windows[] = {16, 0, 64, 10}, sinks[] = {0, GGUFX_KV_NO_SINK_TOKENS, 4};
    static const double frequencies[] = {1.0, 0.3, 0.01, 0.002};
    ggufx_kv_options *o = &seed->shape;
    *o = (ggufx_kv_options){.struct_size = sizeof *o,
                            .flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V};
    o->n_layers = 2;
    o->n_kv_heads = 1 + index % 2;
    o->n_q_heads = 2 * o->n_kv_heads;
    o->head_dim_k = index % 3 ? 16 : 32;
    o->head_dim_v = index % 7 == 3 ? 48 : o->head_dim_k;
    o->type_k = kv_types[index % kTypes];
    o->type_v = kv_types[(index * 5 + index / kTypes) % kTypes];
    o->n_sequences = 2;
    o->n_sink_tokens = sinks[index / 2 % 3];
    o->rope_style = GGUFX_ROPE_NEOX;
    o->max_tokens = index % 11 == 10 ? 600 : 0;
    if (index % 5 == 1) o->flags |= GGUFX_KV_CENTRE_ALL;
    if (index % 5 == 3) o->flags |= GGUFX_KV_FIT_TQ3_0;
    if (index % 6 == 5) {
        o->flags = (o->flags | GGUFX_KV_V_IN_K) & ~GGUFX_KV_HAS_TYPE_V;
        o->type_v = 0;
        o->head_dim_v = o->head_dim_k / 2;
    }
    if (index % 4 == 2) { /* RoPE with custom frequencies on half of each head */
        o->rope_dims = o->head_dim_k / 4;
        o->rope_frequencies = frequencies;
        o->n_rope_frequencies = o->rope_dims / 2;
    }
    for (uint32_t l = 0; l < 2; l++) {
        const uint32_t window = windows[(index / 4 + l) % 4];
        seed->layers[l] =
            (ggufx_kv_layer_options){.struct_size = sizeof(ggufx_kv_layer_options),
                                     .window = window,
                                     .window_kind = window ? (uint32_t)(index + l) % 3 : 0};
    }
    o->layers = seed->layers;
    o->n_layer_options = 2;
}

ggufx_kv *snapshot_cache(const snapshot_seed *seed) {
    ggufx_kv *kv = NULL;
    if (ggufx_kv_create(&kv, runtime(), &seed->shape, NULL) != GGUFX_OK) abort();
    return kv;
}

/* Refused calls, e.g. on tokens dropped by a window, still leave a useful seed. */
static void fill(ggufx_kv *kv, const ggufx_kv_options *o, size_t index) {
    static const uint32_t steps[] = {70, 1, 17, 64, 5, 33};
    const size_t row = (size_t)o->n_kv_heads * o->head_dim_k;
    const size_t row_v = o->flags & GGUFX_KV_V_IN_K ? 0 : (size_t)o->n_kv_heads * o->head_dim_v;
    float *x = need(malloc(70 * 2 * 48 * sizeof *x));
    for (size_t i = 0; i < 70 * 2 * 48; i++) x[i] = (float)((i * 37 + index) % 101) * 0.02f - 1.0f;
    for (size_t step = 0; step < 5; step++) {
        const uint32_t n = steps[(index + step) % 6];
        for (uint32_t layer = 0; layer < 2; layer++)
            if (kv_append_rows(kv, layer, 0, n, NULL, x, n * row, row_v ? x : NULL, n * row_v,
                               NULL) != GGUFX_OK)
                abort();
        if (step == 1 && index % 2) (void)ggufx_kv_remove(kv, 0, 20, 10, NULL);
        if (step == 1 && index % 4 == 1) (void)ggufx_kv_copy(kv, 0, 1, 0, 60, NULL);
    }
    if (index % 3 == 1) (void)ggufx_kv_shift(kv, 0, 90, kv_rest(kv, 0, 90), 5, NULL);
    (void)ggufx_kv_copy(kv, 0, 1, index % 2 ? 0 : 10, 140, NULL);
    free(x);
}

const snapshot_seed *snapshot_seed_at(size_t index) {
    snapshot_seed *seed = &seeds[index % kSeeds];
    if (seed->saved.data) return seed;
    set_shape(seed, index % kSeeds);
    ggufx_kv *kv = snapshot_cache(seed);
    fill(kv, &seed->shape, index % kSeeds);
    if (ggufx_kv_save(kv, GGUFX_ALL_SEQUENCES, snapshot_write, &seed->saved, NULL) != GGUFX_OK)
        abort();
    ggufx_kv_destroy(kv);
    seed->saved.n_layers = 2;
    find_numbers(&seed->saved, 4);
    return seed;
}
