/*
 * Snapshot seeds of every KV type, with windows, sinks, centered layers, partial and shared pages,
 * and the locations of their numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef SNAPSHOT_SEEDS_H
#define SNAPSHOT_SEEDS_H

#include <ggufx/kv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct snapshot_page {
    size_t at, data, data_bytes; /* offsets of its metadata and its data */
    size_t track;                /* offset of its track */
} snapshot_page;

typedef struct snapshot {
    uint8_t *data;
    size_t n, capacity, at; /* at: read position */
    uint32_t n_layers;
    size_t *pieces, n_pieces;   /* offset of each piece */
    size_t *numbers, n_numbers; /* four bytes each, without checksums and most positions */
    size_t *tracks, n_tracks;   /* tokens, dropped tokens, their positions, pages */
    snapshot_page *pages;
    size_t n_pages;
} snapshot;

typedef struct snapshot_seed {
    ggufx_kv_options shape;
    ggufx_kv_layer_options layers[2];
    snapshot saved;
} snapshot_seed;

const uint32_t *snapshot_types(void); /* 16 of GGUFX_KV_* */
size_t snapshot_seeds(void);
const snapshot_seed *snapshot_seed_at(size_t index); /* modulo their number; lazy */
ggufx_kv *snapshot_cache(const snapshot_seed *seed); /* an empty cache that can load it */

ggufx_status snapshot_write(void *user, const void *data, size_t n);
ggufx_status snapshot_read(void *user, void *data, size_t n);
snapshot snapshot_copy(const snapshot *from); /* copies the data; shares the lists of `from` */
void snapshot_seal(snapshot *s);              /* recomputes both checksums */
void snapshot_free(snapshot *s);              /* for copies and the results of snapshot_write */

void snapshot_loaded(void); /* counts a changed snapshot that loaded */
long snapshot_n_loaded(void);

#endif
