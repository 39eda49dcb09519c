/*
 * Large vocabularies and many keys: memory, threads, lookups.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "file_fixture.h"
#include "ok.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 262144 };

static void big_vocabulary(gb *b) {
    unsigned i;
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "test");
    gb_key_array(b, "tokens", GGUFX_VALUE_STRING, TOKENS);
    for (i = 0; i < TOKENS; i++) {
        char text[16];
        snprintf(text, sizeof text, "%x", i * 2654435761u);
        gb_string(b, text);
    }
    gb_data(b);
}

static void test_a_large_vocabulary_opens_with_a_few_kib_of_heap(void **state) {
    fault memory;
    ggufx_runtime *own;
    gb b;
    ggufx_file *f = NULL;
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_text text;
    long long before;
    (void)state;
    big_vocabulary(&b);
    fault_init(&memory);
    own = fault_runtime(&memory, 1);
    fault_reset(&memory);
    before = memory.live_bytes;
    o.flags = GGUFX_OPEN_METADATA_ONLY;
    OK(ggufx_open_memory(&f, own, b.data, b.n, NULL, NULL, &o, ok_error()));
    assert_true(memory.peak_bytes - before < 8192);
    /* the table of offsets is sparse */
    OK(ggufx_file_meta_array_string(&text, f, find(f, "tokens"), TOKENS - 1, ok_error()));
    assert_true(memory.live_bytes - before < 128 * 1024);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live_bytes, 0);
    gb_free(&b);
}

typedef struct reader {
    const ggufx_file *f;
    unsigned start;
    long wrong;
} reader;

static void *read_tokens(void *context) {
    reader *r = context;
    unsigned i;
    for (i = 0; i < 20000; i++) {
        const unsigned at = (r->start + i * 7919u) % TOKENS;
        char want[16];
        ggufx_text text = {NULL, 0};
        snprintf(want, sizeof want, "%x", at * 2654435761u);
        if (ggufx_file_meta_array_string(&text, r->f, 1, at, NULL) != GGUFX_OK ||
            text.size != strlen(want) || memcmp(text.data, want, text.size) != 0)
            r->wrong++;
    }
    return NULL;
}

static void test_threads_may_index_one_array_at_once(void **state) {
    gb b;
    ggufx_file *f;
    pthread_t threads[4];
    reader readers[4];
    int i;
    (void)state;
    big_vocabulary(&b);
    f = open_bytes(&b, GGUFX_OPEN_METADATA_ONLY);
    for (i = 0; i < 4; i++) {
        readers[i] = (reader){f, (unsigned)i * 65536u, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_tokens, &readers[i]), 0);
    }
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_many_keys_are_found_quickly(void **state) {
    gb b;
    ggufx_file *f;
    unsigned i;
    char key[32];
    (void)state;
    gb_begin(&b, 3, 0);
    for (i = 0; i < 50000; i++) {
        snprintf(key, sizeof key, "key.%u", i * 7919u);
        gb_key_u32(&b, key, i);
    }
    gb_data(&b);
    f = open_bytes(&b, 0);
    for (i = 0; i < 50000; i += 13) {
        uint64_t u = 0;
        snprintf(key, sizeof key, "key.%u", i * 7919u);
        assert_int_equal(find(f, key), i);
        OK(ggufx_file_meta_u64(&u, f, i, ok_error()));
        assert_int_equal(u, i);
    }
    ggufx_file_destroy(f);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_large_vocabulary_opens_with_a_few_kib_of_heap),
        cmocka_unit_test(test_threads_may_index_one_array_at_once),
        cmocka_unit_test(test_many_keys_are_found_quickly),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
