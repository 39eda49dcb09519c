/*
 * Runtimes with the host's allocator, executor and log: each is destroyed exactly once.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ggufx/ggufx.h>

typedef struct counters {
    long live, live_bytes, allocations, fail_at, destroyed, parallel_calls, lines;
} counters;

static void *count_alloc(void *user, size_t size, size_t align) {
    counters *c = user;
    if (++c->allocations == c->fail_at) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof p ? sizeof p : align, size)) return NULL;
    c->live++;
    c->live_bytes += (long)size;
    return p;
}
static void count_free(void *user, void *ptr, size_t size, size_t align) {
    counters *c = user;
    (void)align;
    c->live--;
    c->live_bytes -= (long)size;
    free(ptr);
}
static void count_destroy(void *user) {
    ((counters *)user)->destroyed++;
}
static void count_line(void *user, int32_t level, const char *text, size_t length) {
    (void)level;
    assert_int_equal(strlen(text), length);
    ((counters *)user)->lines++;
}
static ggufx_status run_serially(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                                 void *ctx) {
    ((counters *)user)->parallel_calls++;
    for (uint32_t i = n; i-- > 0;) task(ctx, i, 0);
    return GGUFX_OK;
}

typedef struct hooks {
    ggufx_allocator allocator;
    ggufx_log log;
    ggufx_executor executor;
    ggufx_runtime_options options;
} hooks;

static void set_hooks(hooks *h, counters *c) {
    memset(h, 0, sizeof *h);
    h->allocator.struct_size = sizeof h->allocator;
    h->allocator.user = c;
    h->allocator.alloc = count_alloc;
    h->allocator.free = count_free;
    h->allocator.destroy = count_destroy;
    h->log.struct_size = sizeof h->log;
    h->log.user = c;
    h->log.write = count_line;
    h->log.destroy = count_destroy;
    h->executor.struct_size = sizeof h->executor;
    h->executor.max_workers = 3;
    h->executor.user = c;
    h->executor.parallel_for = run_serially;
    h->executor.destroy = count_destroy;
    h->options = (ggufx_runtime_options){.struct_size = sizeof(ggufx_runtime_options)};
    h->options.allocator = &h->allocator;
    h->options.log = &h->log;
    h->options.executor = &h->executor;
}

static void test_hooks_are_destroyed_exactly_once(void **state) {
    (void)state;
    counters c = {0};
    hooks h;
    set_hooks(&h, &c);
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, &h.options, ok_error()));
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_runtime_info(&facts, rt, ok_error()));
    assert_string_equal(facts.allocator_name, "host");
    assert_int_equal(facts.threads, 3);
    assert_int_equal(c.destroyed, 0);
    ggufx_runtime_destroy(rt);
    assert_int_equal(c.destroyed, 3);
    assert_int_equal(c.live, 0);
    assert_int_equal(c.live_bytes, 0);
    assert_int_equal(c.lines, 0);
}

static void test_hooks_are_destroyed_when_create_fails(void **state) {
    (void)state;
    counters c = {0};
    hooks h;
    set_hooks(&h, &c);
    ggufx_runtime *rt = NULL;
    h.options.isa = 77;
    assert_int_equal(ggufx_runtime_create(&rt, &h.options, NULL), GGUFX_E_UNSUPPORTED);
    assert_int_equal(c.destroyed, 3);
    h.options.isa = 0;
    assert_int_equal(ggufx_runtime_create(NULL, &h.options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(c.destroyed, 6);
    h.options.flags = 8;
    assert_int_equal(ggufx_runtime_create(&rt, &h.options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(c.destroyed, 9);
    h.options.flags = 0;
    h.executor.max_workers = 0;
    assert_int_equal(ggufx_runtime_create(&rt, &h.options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(c.destroyed, 12);
    h.executor.max_workers = 1;
    h.allocator.alloc = NULL;
    assert_int_equal(ggufx_runtime_create(&rt, &h.options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(c.destroyed, 15);
    assert_int_equal(c.live, 0);
}

static void test_create_survives_each_failing_allocation(void **state) {
    (void)state;
    int own_pool;
    for (own_pool = 0; own_pool < 2; own_pool++) {
        ggufx_status status = GGUFX_E_MEMORY;
        long k;
        for (k = 1; status != GGUFX_OK; k++) {
            counters c = {0};
            hooks h;
            set_hooks(&h, &c);
            if (own_pool) h.options.executor = NULL;
            c.fail_at = k;
            ggufx_runtime *rt = NULL;
            ggufx_error error;
            status = ggufx_runtime_create(&rt, &h.options, &error);
            if (status != GGUFX_OK) {
                assert_int_equal(status, GGUFX_E_MEMORY);
                assert_int_equal(error.status, GGUFX_E_MEMORY);
                assert_null(rt);
            }
            ggufx_runtime_destroy(rt);
            assert_int_equal(c.live, 0);
            assert_int_equal(c.destroyed, own_pool ? 2 : 3);
            assert_true(k < 1000);
        }
        assert_true(k > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_are_destroyed_exactly_once),
        cmocka_unit_test(test_hooks_are_destroyed_when_create_fails),
        cmocka_unit_test(test_create_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
