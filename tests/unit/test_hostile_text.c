/*
 * A text that breaks terminals and UTF-8, at every position of a file that messages quote. Messages
 * are valid UTF-8 in one line, without cursor-moving characters.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "temporary.h"
#include "vocab_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Invalid UTF-8, an escape sequence, a newline, NUL, C1's CSI, a change of text direction. */
#define HOSTILE "\xff\xc3\x1b[31m\nx\0y\x7f\xc2\x9b\xe2\x80\xae\xed\xa0\x80\xf0\x9f"
static const size_t kSizes[] = {sizeof HOSTILE - 1, 300};
static char hostile[300];
static size_t size;

static int is_character(const unsigned char *p, size_t *n) {
    const unsigned char c = p[0];
    *n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4) return 0;
    for (size_t i = 1; i < *n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f)) return 0;
    if ((c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f)) return 0;
    if (c == 0xc2 && p[1] < 0xa0) return 0; /* C1 */
    return !(c == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae);
}

static void assert_clean(const char *text, size_t n) {
    size_t step = 1;
    for (size_t i = 0; i < n; i += step)
        if (!is_character((const unsigned char *)text + i, &step))
            fail_msg("byte %zu of \"%s\" is 0x%02x", i, text, (unsigned char)text[i]);
}

/* Expects a failing call whose message quotes the hostile text and is clean. */
#define QUOTES(call)                                                                               \
    do {                                                                                           \
        ggufx_error e = {0};                                                                       \
        const ggufx_status status = (call);                                                        \
        if (status == GGUFX_OK) fail_msg("%s succeeded", #call);                                   \
        assert_clean(e.message, strlen(e.message));                                                \
        if (!strstr(e.message, "\\xff")) fail_msg("%s: \"%s\" quotes nothing", #call, e.message);  \
    } while (0)

static void key(gb *b, uint32_t type) {
    gb_string_n(b, hostile, size);
    gb_u32(b, type);
    b->n_keys++;
}

static void key_text(gb *b, const char *name) {
    gb_key(b, name, GGUFX_VALUE_STRING);
    gb_string_n(b, hostile, size);
}

static ggufx_status open_built(ggufx_file **file, gb *b, ggufx_error *e) {
    ggufx_open_options options = {.struct_size = sizeof options};
    options.flags = GGUFX_OPEN_COPY;
    gb_data(b);
    const ggufx_status status = ggufx_open_memory(file, rt, b->data, b->n, NULL, NULL, &options, e);
    gb_free(b);
    return status;
}

/* A log line, which is clean, too. */
static int n_quoting;
static void hear(void *user, int32_t level, const char *text, size_t n) {
    (void)user, (void)level;
    assert_int_equal(strlen(text), n);
    assert_clean(text, n);
    n_quoting += strstr(text, "\\xff") != NULL;
}

static ggufx_file *opened(gb *b) {
    ggufx_file *file = NULL;
    ggufx_error e;
    if (open_built(&file, b, &e) != GGUFX_OK) fail_msg("%s", e.message);
    return file;
}

static void test_errors_quote_hostile_keys(void) {
    ggufx_file *file = NULL;
    gb b;
    gb_begin(&b, 3, 0), key(&b, 99);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), key(&b, GGUFX_VALUE_STRING), gb_u64(&b, 1 << 20);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), key(&b, GGUFX_VALUE_ARRAY), gb_u32(&b, 99), gb_u64(&b, 1);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), key(&b, GGUFX_VALUE_U8), gb_u8(&b, 1), key(&b, GGUFX_VALUE_U8),
        gb_u8(&b, 1);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), key(&b, GGUFX_VALUE_F32), gb_f32(&b, 1);
    file = opened(&b);
    uint64_t n = 0;
    ggufx_text text = {NULL, 0};
    QUOTES(ggufx_file_meta_u64(&n, file, 0, &e));
    QUOTES(ggufx_file_meta_string(&text, file, 0, &e));
    ggufx_file_destroy(file);
}

static void test_errors_quote_hostile_tensor_names(void) {
    const uint64_t ne[] = {31};
    ggufx_file *file = NULL;
    char name[64];
    const size_t n = size < 63 ? size : 63;
    memcpy(name, hostile, n);
    for (size_t i = 0; i < n; i++)
        if (!name[i]) name[i] = 1; /* gb_tensor_at ends names there */
    name[n] = 0;
    gb b;
    gb_begin(&b, 3, 0), gb_tensor_at(&b, name, GGUFX_TYPE_Q8_0, 1, ne, 0);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), gb_tensor_at(&b, name, 99, 1, ne, 0);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), gb_tensor_at(&b, name, GGUFX_TYPE_F32, 1, ne, 3);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), gb_tensor_at(&b, name, GGUFX_TYPE_F32, 1, ne, 1 << 20);
    QUOTES(open_built(&file, &b, &e));
    gb_begin(&b, 3, 0), gb_tensor_at(&b, name, GGUFX_TYPE_F32, 1, ne, 0);
    gb_tensor_at(&b, name, GGUFX_TYPE_F32, 1, ne, 128);
    QUOTES(open_built(&file, &b, &e));
}

static void test_errors_quote_hostile_model_keys(void) {
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_imatrix *imatrix = NULL;
    ggufx_estimate_facts facts = {.struct_size = sizeof facts};
    gb b;
    gb_begin(&b, 3, 0), key_text(&b, "general.architecture");
    key_text(&b, "tokenizer.ggml.model");
    ggufx_file *file = opened(&b);
    QUOTES(ggufx_model_create(&model, rt, file, NULL, &e));
    QUOTES(ggufx_estimate(&facts, rt, file, NULL, &e));
    QUOTES(ggufx_tokenizer_create(&tokenizer, file, &e));
    ggufx_file_destroy(file);
    gb_begin(&b, 3, 0), key_text(&b, "general.type"), gb_data(&b);
    QUOTES(ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e));
    gb_free(&b);
    const vocab_token tokens[] = {{hostile, size, 0, 6}}; /* no byte token */
    file = vocab_file(tokens, 1);
    QUOTES(ggufx_tokenizer_create(&tokenizer, file, &e));
    ggufx_file_destroy(file);
}

static void test_errors_of_writers_quote_hostile_names(void) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    QUOTES(ggufx_writer_unset(w, hostile, size, &e));
    QUOTES(ggufx_writer_set_u64(w, hostile, size, GGUFX_VALUE_U8, 256, &e));
    QUOTES(ggufx_writer_set_value(w, hostile, size, GGUFX_VALUE_U32, "", 0, &e));
    OK(ggufx_writer_set_bool(w, hostile, size, 1, ok_error()));
    OK(ggufx_writer_set_bool(w, S("k"), 1, ok_error()));
    QUOTES(ggufx_writer_rename(w, S("k"), hostile, size, &e));
    ggufx_writer_destroy(w);
}

static void test_paths_and_names(void) {
    ggufx_file *file = NULL;
    uint32_t type = 0;
    char text[sizeof hostile + 1] = "absent-";
    for (size_t i = 0; i + 8 < size; i++) text[7 + i] = hostile[i] ? hostile[i] : '_';
    if (size < 100) QUOTES(ggufx_open(&file, rt, text, NULL, &e));
    QUOTES(ggufx_file_type_find(&type, text + 7, &e));
    QUOTES(ggufx_type_find(&type, text + 7, &e));
}

static void put_whole(const char *name, const void *data, size_t n) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Reports the leftover of an interrupted edit of a model with such a name. */
static void test_lines_of_the_log(void) {
    static const unsigned char model[600] = {'G', 'G', 'U', 'F', 3}; /* no keys, no tensors */
    unsigned char journal[32 + 24] = "GGUFXP01"; /* size of the file, offset, length, bytes */
    char name[TEMPORARY_PATH] = "", path[2 * TEMPORARY_PATH];
    ggufx_log log = {.struct_size = sizeof log, .write = hear};
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_runtime *own = NULL;
    int32_t found = 0;
    options.log = &log;
    OK(ggufx_runtime_create(&own, &options, ok_error()));
    journal[8] = sizeof model & 255, journal[9] = sizeof model >> 8, journal[24] = 24;
    memcpy(journal + 32, model, 24);
    snprintf(name, sizeof name, "%s", "\xff\xc3\x1b[31m\ny\x7f\xc2\x9b\xe2\x80\xae\xed\xa0\x80");
    snprintf(path, sizeof path, "%s/%s", temporary_folder(), name);
    put_whole(path, model, sizeof model);
    strcat(path, ".patch");
    put_whole(path, journal, sizeof journal);
    path[strlen(path) - 6] = 0;
    OK(ggufx_file_recover_edit(&found, own, path, ok_error()));
    assert_int_equal(found, 1);
    assert_int_equal(n_quoting, 1);
    strcat(path, ".patch");
    put_whole(path, "something else that is longer than a header", 43);
    path[strlen(path) - 6] = 0;
    QUOTES(ggufx_file_recover_edit(&found, own, path, &e));
    ggufx_runtime_destroy(own);
    temporary_clean();
}

static void test_every_message_is_clean(void **state) {
    (void)state;
    assert_int_equal(temporary_make(), 0);
    for (size_t i = 0; i < sizeof hostile; i++) hostile[i] = HOSTILE[i % (sizeof HOSTILE - 1)];
    for (size_t i = 0; i < 2; i++) {
        size = kSizes[i];
        test_errors_quote_hostile_keys();
        test_errors_quote_hostile_tensor_names();
        test_errors_quote_hostile_model_keys();
        test_errors_of_writers_quote_hostile_names();
        test_paths_and_names();
    }
    test_lines_of_the_log();
    assert_int_equal(temporary_remove(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_message_is_clean)};
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
