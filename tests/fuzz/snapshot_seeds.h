/*
 * Snapshots to begin with, of every KV type, with windows, sinks, centred layers, parts of pages
 * and shared ones, and where their numbers lie.
 * SPDX-License-Identifier: MIT
 */
#ifndef SNAPSHOT_SEEDS_H
#define SNAPSHOT_SEEDS_H

#include <ggufx/kv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct snapshot_page {
    size_t at, data, data_bytes; /* its form; what it stores */
    size_t track;                /* that holds it */
} snapshot_page;

typedef struct snapshot {
    uint8_t *data;
    size_t n, capacity, at; /* at: how far reading has come */
    uint32_t n_layers;
    size_t *pieces, n_pieces;   /* where each piece began */
    size_t *numbers, n_numbers; /* of four bytes, without checksums and most positions */
    size_t *tracks, n_tracks;   /* tokens, dropped tokens, their positions, pages */
    snapshot_page *pages;
    size_t n_pages;
} snapshot;

typedef struct snapshot_seed {
    ggufx_kv_options shape;
    ggufx_kv_layer layers[2];
    snapshot saved;
} snapshot_seed;

const uint32_t *snapshot_types(void); /* 16 of GGUFX_KV_* */
size_t snapshot_seeds(void);
const snapshot_seed *snapshot_seed_at(size_t index); /* modulo their number; made when asked for */
ggufx_kv *snapshot_cache(const snapshot_seed *seed); /* an empty one that takes it */

ggufx_status snapshot_write(void *user, const void *data, size_t n);
ggufx_status snapshot_read(void *user, void *data, size_t n);
snapshot snapshot_copy(const snapshot *from); /* of the data; the lists are those of `from` */
void snapshot_seal(snapshot *s);              /* makes both checksums right */
void snapshot_free(snapshot *s);              /* of a copy, or of what was written */

void snapshot_loaded(void); /* counts a changed one that was taken */
long snapshot_n_loaded(void);

#endif
