/*
 * Runtime, option structs, hooks and status codes through the public headers.
 * SPDX-License-Identifier: MIT
 */
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
static void count_destroy(void *user) { ((counters *)user)->destroyed++; }
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
    ggufx_runtime_options_init(&h->options);
    h->options.allocator = &h->allocator;
    h->options.log = &h->log;
    h->options.executor = &h->executor;
}

static void test_status_names_are_those_of_the_codes(void **state) {
    (void)state;
    assert_string_equal(ggufx_status_name(GGUFX_OK), "OK");
    assert_string_equal(ggufx_status_name(GGUFX_E_TRUNCATED), "TRUNCATED");
    assert_string_equal(ggufx_status_name(GGUFX_E_MISSING), "MISSING");
    assert_non_null(ggufx_status_name(12345));
    assert_non_null(ggufx_status_name(INT32_MIN));
}

static void test_version_texts_and_numbers_agree(void **state) {
    (void)state;
    assert_string_equal(ggufx_version(), "0.1.0");
    assert_int_equal(ggufx_abi_version(), GGUFX_ABI_VERSION);
    assert_int_equal(ggufx_has("type:Q4_k"), 1);
    assert_int_equal(ggufx_has("type:q4_2"), 0);
    assert_int_equal(ggufx_has("kv:f16"), 1);
    assert_int_equal(ggufx_has("isa:scalar"), 1);
    assert_int_equal(ggufx_has("isa:vax"), 0);
    assert_int_equal(ggufx_has("arch:llama"), 1);
    assert_int_equal(ggufx_has(""), 0);
    assert_int_equal(ggufx_has(NULL), 0);
}

static void test_runtime_describes_itself(void **state) {
    (void)state;
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_create(&rt, NULL, &error), GGUFX_OK);
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_runtime_info(&facts, rt, &error), GGUFX_OK);
    assert_true(facts.threads >= 1);
    assert_true(facts.isa >= GGUFX_ISA_SCALAR);
    assert_non_null(facts.isa_name);
    assert_non_null(facts.allocator_name);
    assert_non_null(ggufx_runtime_kernel_name(rt, GGUFX_TYPE_Q4_K));
    assert_null(ggufx_runtime_kernel_name(rt, 4));
    assert_null(ggufx_runtime_kernel_name(rt, 4000000000u));
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(NULL);
}

static void test_isa_can_be_lowered_and_absent_ones_are_refused(void **state) {
    (void)state;
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.isa = GGUFX_ISA_SCALAR;
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_create(&rt, &options, &error), GGUFX_OK);
    assert_string_equal(ggufx_runtime_kernel_name(rt, GGUFX_TYPE_Q4_0), "scalar");
    ggufx_runtime_destroy(rt);
    rt = (ggufx_runtime *)&options;
    options.isa = 77;
    assert_int_equal(ggufx_runtime_create(&rt, &options, &error), GGUFX_E_UNSUPPORTED);
    assert_null(rt);
    assert_int_equal(error.status, GGUFX_E_UNSUPPORTED);
    assert_true(error.offset == GGUFX_NONE && error.index == GGUFX_NONE);
    assert_non_null(strstr(error.message, "77"));
#if defined(__x86_64__)
    options.isa = GGUFX_ISA_NEON;
#else
    options.isa = GGUFX_ISA_AVX2;
#endif
    assert_int_equal(ggufx_runtime_create(&rt, &options, NULL), GGUFX_E_UNSUPPORTED);
}

static void test_hooks_are_destroyed_exactly_once(void **state) {
    (void)state;
    counters c = {0};
    hooks h;
    set_hooks(&h, &c);
    ggufx_runtime *rt = NULL;
    assert_int_equal(ggufx_runtime_create(&rt, &h.options, NULL), GGUFX_OK);
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_runtime_info(&facts, rt, NULL), GGUFX_OK);
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

static void test_option_structs_may_be_shorter_or_longer_with_zeros(void **state) {
    (void)state;
    struct {
        ggufx_runtime_options options;
        unsigned char more[16];
    } big;
    memset(&big, 0, sizeof big);
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    big.options.struct_size = sizeof big;
    big.options.isa = GGUFX_ISA_SCALAR;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_OK);
    ggufx_runtime_destroy(rt);
    big.more[3] = 1;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_E_VERSION);
    big.options.struct_size = 8; /* struct_size and flags alone: all default */
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_OK);
    ggufx_runtime_destroy(rt);
    big.options.struct_size = 0;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(error.message, "struct_size"));
    big.options.struct_size = sizeof big.options;
    {
        const uint32_t extension[4] = {9, 16, 0, 0};
        big.options.next = extension;
        assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_E_UNSUPPORTED);
    }
}

static void test_facts_fill_only_what_the_caller_has(void **state) {
    (void)state;
    ggufx_runtime *rt = NULL;
    assert_int_equal(ggufx_runtime_create(&rt, NULL, NULL), GGUFX_OK);
    ggufx_runtime_facts facts;
    memset(&facts, 0x55, sizeof facts);
    facts.struct_size = 16;
    assert_int_equal(ggufx_runtime_info(&facts, rt, NULL), GGUFX_OK);
    assert_int_equal(facts.struct_size, 16);
    assert_true(facts.threads >= 1 && facts.threads != 0x55555555u);
    assert_true(facts.features == UINT64_C(0x5555555555555555));
    facts.struct_size = 4;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_info(&facts, rt, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_runtime_info(NULL, rt, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_runtime_info(&facts, NULL, &error), GGUFX_E_ARGUMENT);
    ggufx_runtime_destroy(rt);
}

static void test_error_is_untouched_on_success(void **state) {
    (void)state;
    ggufx_error error, before;
    memset(&error, 0x5a, sizeof error);
    before = error;
    uint64_t bytes = 0;
    assert_int_equal(ggufx_row_bytes(&bytes, GGUFX_TYPE_Q4_K, 512, &error), GGUFX_OK);
    assert_int_equal(bytes, 288);
    assert_memory_equal(&error, &before, sizeof error);
}

static void test_types_are_found_by_id_and_name(void **state) {
    (void)state;
    ggufx_error error;
    uint32_t id;
    int live = 0, removed = 0;
    for (id = 0; id < 64; id++) {
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        const ggufx_status status = ggufx_type_info(&facts, id, &error);
        if (status == GGUFX_OK) {
            uint32_t found = 99;
            assert_int_equal(facts.id, id);
            assert_int_equal(ggufx_type_from_name(&found, facts.name, &error), GGUFX_OK);
            assert_int_equal(found, id);
            live++;
        } else {
            assert_int_equal(status, GGUFX_E_TYPE);
            removed += strstr(error.message, "removed") != NULL;
        }
    }
    assert_int_equal(live, 35);
    assert_int_equal(removed, 8);
    assert_int_equal(ggufx_type_from_name(&id, "q4_j", &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "q4_"));
    assert_int_equal(ggufx_type_from_name(NULL, "q4_0", &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_type_from_name(&id, NULL, &error), GGUFX_E_ARGUMENT);
}

static void test_row_bytes_refuses_broken_rows(void **state) {
    (void)state;
    uint64_t bytes = 1;
    ggufx_error error;
    assert_int_equal(ggufx_row_bytes(&bytes, GGUFX_TYPE_Q4_K, 255, &error), GGUFX_E_SHAPE);
    assert_int_equal(ggufx_row_bytes(&bytes, GGUFX_TYPE_F64, UINT64_MAX, &error),
                     GGUFX_E_OVERFLOW);
    assert_int_equal(ggufx_row_bytes(&bytes, 5, 32, &error), GGUFX_E_TYPE);
    assert_int_equal(ggufx_row_bytes(NULL, 0, 32, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_row_bytes(&bytes, GGUFX_TYPE_F32, 0, &error), GGUFX_OK);
    assert_int_equal(bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names_are_those_of_the_codes),
        cmocka_unit_test(test_version_texts_and_numbers_agree),
        cmocka_unit_test(test_runtime_describes_itself),
        cmocka_unit_test(test_isa_can_be_lowered_and_absent_ones_are_refused),
        cmocka_unit_test(test_hooks_are_destroyed_exactly_once),
        cmocka_unit_test(test_hooks_are_destroyed_when_create_fails),
        cmocka_unit_test(test_create_survives_each_failing_allocation),
        cmocka_unit_test(test_option_structs_may_be_shorter_or_longer_with_zeros),
        cmocka_unit_test(test_facts_fill_only_what_the_caller_has),
        cmocka_unit_test(test_error_is_untouched_on_success),
        cmocka_unit_test(test_types_are_found_by_id_and_name),
        cmocka_unit_test(test_row_bytes_refuses_broken_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
