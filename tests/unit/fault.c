/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include "test_step.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Guard bytes after each block, to detect writes beyond it; sanitizers have their own. */
enum { GUARD = 128 };
#if defined(__SANITIZE_ADDRESS__)
#define GUARDED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDED 0
#endif
#endif
#ifndef GUARDED
#define GUARDED 1
#endif

/* Protects all counters: several threads read files at once. */
static pthread_mutex_t counters = PTHREAD_MUTEX_INITIALIZER;

/* Returns whether this call fails. */
static int count_call(fault *f) {
    pthread_mutex_lock(&counters);
    f->calls++;
    const int fails = f->fail_at && f->calls == f->fail_at;
    pthread_mutex_unlock(&counters);
    return fails;
}

static void count_block(fault *f, int n, long long n_bytes) {
    pthread_mutex_lock(&counters);
    f->live += n;
    f->live_bytes += n_bytes;
    if (f->live_bytes > f->peak_bytes) f->peak_bytes = f->live_bytes;
    pthread_mutex_unlock(&counters);
}

static void *fault_alloc(void *user, size_t size, size_t align) {
    fault *f = user;
    void *p = NULL;
    const size_t guard = GUARDED ? GUARD : 0;
    if (count_call(f)) return NULL;
    if (size > SIZE_MAX - guard) return NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size + guard))
        return NULL;
    memset(p, 0xa5, size < 65536 ? size : 65536); /* callers must not rely on zeros */
    memset((unsigned char *)p + size, 0xa5, guard);
    count_block(f, 1, (long long)size);
    return p;
}

static void fault_free(void *user, void *ptr, size_t size, size_t align) {
    fault *f = user;
    (void)align;
    for (size_t i = 0; GUARDED && i < GUARD; i++)
        if (((const unsigned char *)ptr)[size + i] != 0xa5)
            fail_msg("byte %zu behind a block of %zu was written", i, size);
    count_block(f, -1, -(long long)size);
    free(ptr);
}

static void fault_destroy(void *user) {
    ((fault *)user)->destroyed++;
}

void fault_init(fault *f) {
    memset(f, 0, sizeof *f);
    f->allocator.struct_size = sizeof f->allocator;
    f->allocator.user = f;
    f->allocator.alloc = fault_alloc;
    f->allocator.free = fault_free;
    f->allocator.destroy = fault_destroy;
}

ggufx_runtime *fault_runtime(fault *f, uint32_t threads) {
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.allocator = &f->allocator;
    options.threads = threads;
    if (ggufx_runtime_create(&rt, &options, &error) != GGUFX_OK) fail_msg("%s", error.message);
    return rt;
}

void fault_reset(fault *f) {
    f->calls = 0;
    f->fail_at = 0;
    f->peak_bytes = f->live_bytes;
}

long fault_run(fault_body body, void *context) {
    ggufx_status status = GGUFX_E_MEMORY;
    long k = 1, calls = 0;
    for (; status != GGUFX_OK; k += (long)test_step_sanitized()) {
        fault f;
        ggufx_runtime *rt;
        ggufx_error error;
        long live;
        fault_init(&f);
        rt = fault_runtime(&f, 1);
        fault_reset(&f);
        live = f.live;
        f.fail_at = k;
        memset(&error, 0, sizeof error);
        status = body(context, rt, &error);
        calls = f.calls;
        if (status != GGUFX_OK && status != GGUFX_E_MEMORY)
            fail_msg("allocation %ld: status %s: %s", k, ggufx_status_name(status), error.message);
        assert_int_equal(error.status, status);
        if (f.live != live) fail_msg("allocation %ld: %ld blocks leaked", k, f.live - live);
        ggufx_runtime_destroy(rt);
        assert_int_equal(f.live, 0);
        assert_int_equal(f.live_bytes, 0);
        assert_int_equal(f.destroyed, 1);
        assert_true(k < 100000);
    }
    return calls;
}
