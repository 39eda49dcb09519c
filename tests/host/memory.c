/*
 * The engine's allocator: counts the library's memory, and refuses allocations beyond a cap.
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

static void *take(void *user, size_t size, size_t align) {
    memory *m = user;
    void *p = NULL;
    const size_t used = atomic_fetch_add(&m->used, size) + size;
    if (used > atomic_load(&m->cap) ||
        posix_memalign(&p, align < sizeof p ? sizeof p : align, size) != 0) {
        atomic_fetch_sub(&m->used, size);
        atomic_fetch_add(&m->n_refused, 1);
        return NULL;
    }
    size_t peak = atomic_load(&m->peak);
    while (used > peak && !atomic_compare_exchange_weak(&m->peak, &peak, used)) {}
    atomic_fetch_add(&m->live, 1);
    memset(p, 0xcd, size); /* an engine's memory is not zeroed */
    return p;
}

static void give(void *user, void *p, size_t size, size_t align) {
    memory *m = user;
    (void)align;
    if (!p) return;
    memset(p, 0xdd, size);
    atomic_fetch_sub(&m->used, size);
    atomic_fetch_sub(&m->live, 1);
    free(p);
}

static void destroy(void *user) {
    atomic_fetch_add(&((memory *)user)->n_destroyed, 1);
}

void memory_init(memory *m, size_t cap) {
    memset(m, 0, sizeof *m);
    atomic_store(&m->cap, cap);
}

ggufx_allocator memory_hooks(memory *m) {
    const ggufx_allocator hooks = {
        .struct_size = sizeof hooks, .user = m, .alloc = take, .free = give, .destroy = destroy};
    return hooks;
}
