/*
 * A file that changes in place while a host has it mapped. Data copied at open stay; other data may
 * change, and no access leaves the file.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"
#include "ok.h"
#include "temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_look.h"

enum { LONG = 5000, TOKENS = 300 };

/* All kinds of file contents, including copied strings and one that is not copied. */
static void rich_file(gb *b, int big_endian) {
    const uint64_t ne[1] = {8};
    char text[LONG + 1];
    int i;
    memset(text, 'x', LONG);
    text[LONG] = 0;
    gb_begin(b, 3, big_endian);
    gb_key_u32(b, "general.alignment", 64);
    b->alignment = 64;
    gb_key_string(b, "short", "kept as it was");
    gb_key_string(b, "long", text);
    gb_key(b, "i64", GGUFX_VALUE_I64), gb_u64(b, UINT64_C(0) - 5);
    gb_key_array(b, "numbers", GGUFX_VALUE_U32, 100);
    for (i = 0; i < 100; i++) gb_u32(b, (uint32_t)i);
    gb_key_array(b, "bools", GGUFX_VALUE_BOOL, 3), gb_bytes(b, "\0\1\1", 3);
    gb_key_array(b, "texts", GGUFX_VALUE_STRING, TOKENS);
    for (i = 0; i < TOKENS; i++) snprintf(text, sizeof text, "<%d>", i), gb_string(b, text);
    gb_key_array(b, "one", GGUFX_VALUE_STRING, 1), gb_string(b, "alone");
    gb_key_array(b, "nested", GGUFX_VALUE_ARRAY, 3);
    gb_array(b, GGUFX_VALUE_ARRAY, 2);
    gb_array(b, GGUFX_VALUE_U8, 1), gb_u8(b, 3);
    gb_array(b, GGUFX_VALUE_STRING, 2), gb_string(b, "a"), gb_string(b, "bc");
    gb_array(b, GGUFX_VALUE_U16, 2), gb_u16(b, 1), gb_u16(b, 2);
    gb_array(b, GGUFX_VALUE_ARRAY, 0);
    gb_tensor(b, "first", GGUFX_TYPE_F32, 1, ne, 32);
    gb_tensor(b, "second", GGUFX_TYPE_F32, 1, ne, 32);
    gb_data(b);
    for (i = 0; i < 8; i++) gb_f32(b, (float)i);
    gb_pad(b);
    for (i = 0; i < 8; i++) gb_f32(b, (float)i);
    gb_pad(b);
}

static uint32_t seed = 1;
static unsigned dice(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 24;
}

/* Fills with one value 0 or 1, or with random ones, single bytes or all. */
static void damage(unsigned char *data, size_t n, int how) {
    size_t i;
    if (how == 0) memset(data, 0xff, n);
    if (how == 1) memset(data, 0, n);
    if (how == 2)
        for (i = 0; i < n; i++) data[i] = (unsigned char)dice();
    if (how > 2)
        for (i = 0; i < 20; i++) data[(dice() << 8 | dice()) % n] = (unsigned char)(dice() % how);
}

static void check_kept(const ggufx_file *f) {
    ggufx_tensor_facts t = {.struct_size = sizeof t};
    ggufx_text text;
    uint64_t u;
    int64_t s;
    OK(ggufx_file_meta_u64(&u, f, find(f, "general.alignment"), ok_error()));
    assert_int_equal(u, 64);
    OK(ggufx_file_meta_i64(&s, f, find(f, "i64"), ok_error()));
    assert_int_equal(s, -5);
    OK(ggufx_file_meta_string(&text, f, find(f, "short"), ok_error()));
    assert_int_equal(text.size, 14);
    assert_memory_equal(text.data, "kept as it was", 14);
    OK(ggufx_file_meta_string(&text, f, find(f, "long"), ok_error()));
    assert_int_equal(text.size, LONG);
    OK(ggufx_tensor_info(&t, ggufx_file_tensor(f, 1), ok_error()));
    assert_int_equal(t.name.size, 6);
    assert_memory_equal(t.name.data, "second", 6);
}

/* Views into the file are within it. */
static void check_views(const ggufx_file *f, const unsigned char *data, size_t n) {
    const size_t texts = find(f, "texts");
    unsigned i;
    for (i = 0; i < TOKENS; i++) {
        ggufx_text text;
        ggufx_error error;
        const ggufx_status status = ggufx_file_meta_array_string(&text, f, texts, i, &error);
        if (status != GGUFX_OK) {
            assert_int_equal(status, GGUFX_E_MALFORMED);
            assert_true(error.offset < n);
            assert_null(text.data);
            continue;
        }
        assert_true((const unsigned char *)text.data >= data);
        assert_true((const unsigned char *)text.data + text.size <= data + n);
    }
}

static int32_t swallow(void *user, uint32_t part, const void *data, size_t n) {
    (void)user, (void)part, (void)data, (void)n;
    return 0;
}

static void copy_keys(const ggufx_file *f) {
    ggufx_writer *w = NULL;
    ggufx_error error;
    ggufx_status status;
    OK(ggufx_writer_create(&w, rt, NULL, ok_error()));
    status = ggufx_writer_copy_meta(w, f, &error);
    if (status == GGUFX_OK) OK(ggufx_writer_write_stream(w, swallow, NULL, NULL, ok_error()));
    ggufx_writer_destroy(w);
}

static void test_bytes_may_change_before_and_after_each_access(void **state) {
    int how, touched, big_endian;
    (void)state;
    for (how = 0; how < 6; how++)
        for (touched = 0; touched < 2; touched++)
            for (big_endian = 0; big_endian < 2; big_endian++) {
                gb b;
                unsigned char *data; /* exact, so that ASan detects reads past the end */
                ggufx_file *f = NULL;
                int round;
                rich_file(&b, big_endian);
                data = malloc(b.n);
                memcpy(data, b.data, b.n);
                OK(ggufx_open_memory(&f, rt, data, b.n, NULL, NULL, NULL, ok_error()));
                if (touched) look_at_file(f, rt);
                for (round = 0; round < (how < 2 ? 1 : 3); round++) {
                    damage(data, how == 2 ? b.data_start : b.n, how < 3 ? how : 3 + 20 * how);
                    check_kept(f);
                    check_views(f, data, b.n);
                    look_at_file(f, rt);
                    copy_keys(f);
                }
                ggufx_file_destroy(f);
                free(data);
                gb_free(&b);
            }
}

static int new_file(char name[TEMPORARY_PATH]) {
    int fd;
    temporary_path(name, "changed.gguf");
    fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void test_a_mapped_file_may_be_overwritten(void **state) {
    char name[TEMPORARY_PATH];
    const int fd = new_file(name);
    int how;
    (void)state;
    for (how = 0; how < 8; how++) {
        gb b;
        ggufx_open_options o = {.struct_size = sizeof o};
        ggufx_file *f = NULL;
        rich_file(&b, 0);
        assert_int_equal(pwrite(fd, b.data, b.n, 0), b.n);
        o.io = GGUFX_IO_MAP;
        OK(ggufx_open(&f, rt, name, &o, ok_error()));
        if (how & 1) look_at_file(f, rt);
        damage(b.data, b.n, how / 2 < 3 ? how / 2 : 99);
        assert_int_equal(pwrite(fd, b.data, b.n, 0), b.n);
        check_kept(f);
        look_at_file(f, rt);
        copy_keys(f);
        ggufx_file_destroy(f);
        gb_free(&b);
    }
    close(fd);
    remove(name);
}

/* A file opened without mapping keeps its former contents. */
static void test_a_file_that_is_read_does_not_change(void **state) {
    char name[TEMPORARY_PATH];
    const int fd = new_file(name);
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_file *f = NULL;
    ggufx_text text;
    gb b;
    (void)state;
    rich_file(&b, 0);
    assert_int_equal(pwrite(fd, b.data, b.n, 0), b.n);
    o.io = GGUFX_IO_READ;
    OK(ggufx_open(&f, rt, name, &o, ok_error()));
    memset(b.data, 0xff, b.n);
    for (int is_cut = 0; is_cut < 2; is_cut++) { /* a mapping would raise SIGBUS */
        if (is_cut)
            assert_int_equal(ftruncate(fd, 0), 0);
        else
            assert_int_equal(pwrite(fd, b.data, b.n, 0), b.n);
        OK(ggufx_file_meta_array_string(&text, f, find(f, "texts"), 299, ok_error()));
        assert_int_equal(text.size, 5);
        assert_memory_equal(text.data, "<299>", 5);
    }
    ggufx_file_destroy(f);
    gb_free(&b);
    close(fd);
    remove(name);
}

/* Strings of up to 4 KiB are copied, longer ones are views. */
static void test_what_is_copied_ends_at_4_kib(void **state) {
    unsigned n;
    (void)state;
    for (n = 4096; n <= 4097; n++) {
        char *text = calloc(1, n + 1);
        ggufx_file *f;
        ggufx_text got;
        gb b;
        memset(text, 'a', n);
        gb_begin(&b, 3, 0);
        gb_key_string(&b, "k", text);
        gb_data(&b);
        f = open_bytes(&b, 0);
        memset(b.data, 'b', b.n);
        OK(ggufx_file_meta_string(&got, f, 0, ok_error()));
        assert_int_equal(got.size, n);
        assert_int_equal(got.data[0], n == 4096 ? 'a' : 'b');
        ggufx_file_destroy(f);
        gb_free(&b);
        free(text);
    }
}

/* A tokenizer copies its texts. */
static void test_a_tokenizer_keeps_its_texts(void **state) {
    static const char *const texts[] = {"<unk>", "<s>", "</s>", "<0x41>", "word"};
    static const int32_t kinds[] = {2, 3, 3, 6, 1}, ids[] = {3, 4};
    ggufx_tokenizer *t = NULL;
    ggufx_file *f;
    char out[16];
    size_t n = 0;
    gb b;
    int i;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "tokenizer.ggml.model", "llama");
    gb_key_array(&b, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, 5);
    for (i = 0; i < 5; i++) gb_string(&b, texts[i]);
    gb_key_array(&b, "tokenizer.ggml.scores", GGUFX_VALUE_F32, 5);
    for (i = 0; i < 5; i++) gb_f32(&b, (float)-i);
    gb_key_array(&b, "tokenizer.ggml.token_type", GGUFX_VALUE_I32, 5);
    for (i = 0; i < 5; i++) gb_u32(&b, (uint32_t)kinds[i]);
    gb_data(&b);
    f = open_bytes(&b, 0);
    OK(ggufx_tokenizer_create(&t, f, ok_error()));
    memset(b.data, 0xff, b.n);
    OK(ggufx_detokenize(out, sizeof out, &n, t, ids, 2, 0, ok_error()));
    assert_int_equal(n, 5);
    assert_memory_equal(out, "Aword", 5);
    ggufx_tokenizer_destroy(t);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static int setup(void **state) {
    return temporary_make() == 0 ? file_setup(state) : -1;
}

static int teardown(void **state) {
    file_teardown(state);
    return temporary_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_may_change_before_and_after_each_access),
        cmocka_unit_test(test_a_mapped_file_may_be_overwritten),
        cmocka_unit_test(test_a_file_that_is_read_does_not_change),
        cmocka_unit_test(test_what_is_copied_ends_at_4_kib),
        cmocka_unit_test(test_a_tokenizer_keeps_its_texts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
