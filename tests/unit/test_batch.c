/*
 * Sequences of a session: refused calls, which change nothing; items of other struct sizes;
 * sessions of one model on many threads.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "ok.h"
#include "session_fixture.h"

#include <pthread.h>
#include <string.h>

enum { SEQUENCES = 3, THREADS = 8, CROWD = 8, CALLS = 5 };

/* The rest of an item is 0. */
#define ITEM(s, f, t, n)                                                                           \
    {                                                                                              \
        .struct_size = sizeof(ggufx_decode_item), .flags = (f), .sequence = (s), .tokens = (t),    \
        .n_tokens = (n)                                                                            \
    }

static void begin_batch(fixture *f, const tiny_options *tiny) {
    ggufx_session_options options = {.struct_size = sizeof options};
    begin_session(f, tiny, 0);
    ggufx_session_destroy(f->session);
    f->session = NULL;
    options.n_sequences = SEQUENCES;
    assert_int_equal(ggufx_session_create(&f->session, f->model, &options, &f->error), GGUFX_OK);
}

static ggufx_decode_options batch_options(float *logits, size_t n_rows) {
    ggufx_decode_options options = {.struct_size = sizeof options};
    options.logits = logits;
    options.n_logits = n_rows * TINY_VOCAB;
    return options;
}

static void assert_lengths(const fixture *f, uint64_t a, uint64_t b, uint64_t c) {
    assert_int_equal(ggufx_session_length(f->session, 0), a);
    assert_int_equal(ggufx_session_length(f->session, 1), b);
    assert_int_equal(ggufx_session_length(f->session, 2), c);
}

static void test_items_are_refused_with_their_number(void **state) {
    int32_t tokens[TINY_CONTEXT + 1];
    const ggufx_decode_item good = ITEM(1, 0, tokens, 2);
    const struct {
        ggufx_decode_item item;
        ggufx_status status;
        const char *text;
    } cases[] = {
        {ITEM(SEQUENCES, 0, tokens, 1), GGUFX_E_ARGUMENT, "sequence 3"},
        {ITEM(UINT32_MAX, 0, tokens, 1), GGUFX_E_ARGUMENT, "sequence 4294967295"},
        {ITEM(1, 0, tokens, 1), GGUFX_E_ARGUMENT, "an earlier item"},
        {ITEM(0, 0, NULL, 1), GGUFX_E_ARGUMENT, "at least one"},
        {ITEM(0, 0, tokens, 0), GGUFX_E_ARGUMENT, "at least one"},
        {ITEM(0, 32, tokens, 1), GGUFX_E_ARGUMENT, "unknown bits 0x20"},
        {ITEM(0, 0, tokens, TINY_CONTEXT + 1), GGUFX_E_CAPACITY, "do not fit"},
        {ITEM(0, 0, tokens, SIZE_MAX), GGUFX_E_CAPACITY, "do not fit"},
        {ITEM(0, 0, tokens + TINY_CONTEXT, 1), GGUFX_E_ARGUMENT, "vocabulary"},
    };
    fixture f;
    (void)state;
    make_tokens(tokens, TINY_CONTEXT);
    tokens[TINY_CONTEXT] = TINY_VOCAB;
    begin_batch(&f, NULL);
    const ggufx_decode_options options = batch_options(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ggufx_decode_item items[] = {good, cases[i].item};
        const ggufx_status status = ggufx_session_decode(f.session, items, 2, &options, &f.error);
        assert_int_equal(f.error.index, 1);
        FAILS(&f, cases[i].status, cases[i].text, status);
        assert_lengths(&f, 0, 0, 0);
    }
    const ggufx_decode_item many[SEQUENCES + 1] = {good, good, good, good};
    FAILS(&f, GGUFX_E_ARGUMENT, "4 items",
          ggufx_session_decode(f.session, many, SEQUENCES + 1, &options, &f.error));
    assert_int_equal(ggufx_session_decode(f.session, NULL, 0, &options, &f.error), GGUFX_OK);
    assert_int_equal(ggufx_session_decode(f.session, &good, 1, &options, &f.error), GGUFX_OK);
    assert_lengths(&f, 0, 2, 0);
    end(&f);
}

static void test_options_are_refused_by_name(void **state) {
    int32_t tokens[4];
    float logits[2 * TINY_VOCAB];
    ggufx_decode_item item = ITEM(1, GGUFX_DECODE_LOGITS, tokens, 4);
    ggufx_decode_options options;
    fixture f;
    (void)state;
    make_tokens(tokens, 4);
    begin_batch(&f, NULL);
#define REFUSED(text)                                                                              \
    FAILS(&f, GGUFX_E_ARGUMENT, text, ggufx_session_decode(f.session, &item, 1, &options, &f.error))
    options = batch_options(logits, 1);
    item.struct_size = 0;
    REFUSED("ggufx_decode_item.struct_size is 0");
    item.struct_size = sizeof item - 1;
    REFUSED("ggufx_decode_item.struct_size");
    item.struct_size = 0xa5a5a5a0u;
    REFUSED("ggufx_decode_item.struct_size");
    item.struct_size = sizeof item;
    item.reserved = 1;
    REFUSED("ggufx_decode_item.reserved");
    item.reserved = 0;
    options = batch_options(logits, 2);
    REFUSED("1 rows");
    options = batch_options(NULL, 1);
    REFUSED("1 rows");
    options = batch_options(logits, 1);
    options.matmul_flags = GGUFX_MATMUL_TILED;
    REFUSED("GGUFX_DECODE_HAS_MATMUL_FLAGS");
    options.flags = GGUFX_DECODE_HAS_MATMUL_FLAGS;
    options.matmul_flags = GGUFX_MATMUL_TILED | GGUFX_MATMUL_BATCH_INVARIANT;
    REFUSED("exclude each other");
    options.matmul_flags = 16;
    REFUSED("unknown flags 0x10");
    options = batch_options(logits, 1);
    options.flags = 4;
    REFUSED("flags");
#undef REFUSED
    assert_lengths(&f, 0, 0, 0);
    options = batch_options(logits, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "session",
          ggufx_session_decode(NULL, &item, 1, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "items",
          ggufx_session_decode(f.session, NULL, 1, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "options",
          ggufx_session_decode(f.session, &item, 1, NULL, &f.error));
    end(&f);
}

/* Items of a host that was built with a later header. */
static void test_larger_items_are_taken_where_the_rest_is_0(void **state) {
    struct {
        ggufx_decode_item item;
        uint64_t later[2];
    } items[2];
    int32_t tokens[4];
    float logits[2 * TINY_VOCAB], want[2 * TINY_VOCAB];
    const ggufx_decode_item plain[2] = {ITEM(2, GGUFX_DECODE_LOGITS, tokens, 3),
                                        ITEM(0, GGUFX_DECODE_LOGITS, tokens + 1, 3)};
    fixture f;
    (void)state;
    make_tokens(tokens, 4);
    memset(items, 0, sizeof items);
    items[0].item = plain[0];
    items[1].item = plain[1];
    items[0].item.struct_size = items[1].item.struct_size = sizeof items[0];
    begin_batch(&f, NULL);
    ggufx_decode_options options = batch_options(want, 2);
    assert_int_equal(ggufx_session_decode(f.session, plain, 2, &options, &f.error), GGUFX_OK);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        assert_int_equal(ggufx_session_truncate(f.session, i, 0, &f.error), GGUFX_OK);
    options = batch_options(logits, 2);
    const void *given = items;
    items[1].later[1] = 1;
    const ggufx_status status = ggufx_session_decode(f.session, given, 2, &options, &f.error);
    FAILS(&f, GGUFX_E_VERSION, "ggufx_decode_item has", status);
    items[1].later[1] = 0;
    assert_int_equal(ggufx_session_decode(f.session, given, 2, &options, &f.error), GGUFX_OK);
    assert_memory_equal(logits, want, sizeof want);
    assert_lengths(&f, 3, 0, 3);
    end(&f);
}

static void test_calls_on_sequences_refuse_bad_arguments(void **state) {
    int32_t tokens[4];
    const ggufx_decode_item items[2] = {ITEM(0, 0, tokens, 4), ITEM(1, 0, tokens, 2)};
    ggufx_session_facts memory = {.struct_size = sizeof memory};
    fixture f;
    (void)state;
    make_tokens(tokens, 4);
    begin_batch(&f, NULL);
    ggufx_session *const s = f.session;
    const ggufx_decode_options options = batch_options(NULL, 0);
    assert_int_equal(ggufx_session_decode(s, items, 2, &options, &f.error), GGUFX_OK);
    FAILS(&f, GGUFX_E_ARGUMENT, "5 tokens of 4", ggufx_session_copy(s, 0, 2, 5, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 3", ggufx_session_copy(s, 3, 2, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 3", ggufx_session_copy(s, 0, 3, 1, &f.error));
    FAILS(&f, GGUFX_E_STATE, "sequence 1", ggufx_session_copy(s, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_STATE, "sequence 2", ggufx_session_copy(s, 2, 2, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "session", ggufx_session_copy(NULL, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "5 tokens", ggufx_session_truncate(s, 0, 5, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 3", ggufx_session_truncate(s, 3, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_truncate(NULL, 0, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "write", ggufx_session_save(s, 0, NULL, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "read", ggufx_session_load(s, 0, NULL, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "path", ggufx_session_save_file(s, 0, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "path", ggufx_session_load_file(s, 0, NULL, &f.error));
    FAILS(&f, GGUFX_E_IO, "/absent/", ggufx_session_save_file(s, 0, "/absent/x", &f.error));
    FAILS(&f, GGUFX_E_IO, "/absent/", ggufx_session_load_file(s, 0, "/absent/x", &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 9", ggufx_session_save_file(s, 9, "x", &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 9", ggufx_session_load_file(s, 9, "x", &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_session_info(NULL, s, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "session", ggufx_session_info(&memory, NULL, &f.error));
    assert_int_equal(ggufx_session_length(s, 3), 0);
    assert_int_equal(ggufx_session_length(NULL, 0), 0);
    assert_lengths(&f, 4, 2, 0);
    assert_int_equal(ggufx_session_info(&memory, s, &f.error), GGUFX_OK);
    assert_int_equal(memory.n_tokens, 6);
    assert_true(memory.n_pages > 0 && memory.cache_bytes > 0 && memory.n_shared_pages == 0);
    assert_int_equal(ggufx_session_copy(s, 0, 2, 3, &f.error), GGUFX_OK);
    assert_int_equal(ggufx_session_info(&memory, s, &f.error), GGUFX_OK);
    assert_int_equal(memory.n_tokens, 9);
    assert_true(memory.n_shared_pages > 0);
    end(&f);
}

static void test_a_nan_changes_no_sequence(void **state) {
    int32_t tokens[4];
    float logits[2 * TINY_VOCAB];
    const ggufx_decode_item items[2] = {ITEM(0, 0, tokens, 4),
                                        ITEM(2, GGUFX_DECODE_LOGITS, tokens, 2)};
    tiny_options tiny;
    fixture f;
    (void)state;
    make_tokens(tokens, 4);
    memset(&tiny, 0, sizeof tiny);
    tiny.nan_tensor = "output_norm.weight";
    begin_batch(&f, &tiny);
    const ggufx_decode_options options = batch_options(logits, 1);
    FAILS(&f, GGUFX_E_VALUE, "NaN", ggufx_session_decode(f.session, items, 2, &options, &f.error));
    assert_lengths(&f, 0, 0, 0);
    end(&f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct churn {
    fault memory;
    ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_model *model;
    ggufx_session *session;
    int32_t tokens[TINY_CONTEXT];
    uint64_t lengths[CROWD];
    uint32_t random;
    long failed;
} churn;

static ggufx_session *make_churn_session(const churn *c, uint32_t n_sequences) {
    ggufx_session *session = NULL;
    ggufx_error error;
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_sequences = n_sequences;
    options.type_k = options.type_v = GGUFX_TYPE_Q8_0;
    options.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT;
    must(ggufx_session_create(&session, c->model, &options, &error), &error, "session");
    return session;
}

static void begin_churn(churn *c) {
    ggufx_error error;
    memset(c, 0, sizeof *c);
    c->random = 7;
    fault_init(&c->memory);
    c->rt = fault_runtime(&c->memory, 1);
    make_tokens(c->tokens, TINY_CONTEXT);
    must(open_tiny(&c->file, c->rt, NULL, &error), &error, "open");
    must(ggufx_model_create(&c->model, c->rt, c->file, NULL, &error), &error, "model");
    c->session = make_churn_session(c, CROWD);
}

static void end_churn(churn *c) {
    ggufx_session_destroy(c->session);
    ggufx_model_destroy(c->model);
    ggufx_file_destroy(c->file);
    ggufx_runtime_destroy(c->rt);
    assert_int_equal(c->memory.live, 0);
}

static uint32_t below(churn *c, uint32_t limit) {
    c->random = c->random * 1664525u + 1013904223u;
    return (c->random >> 16) % limit;
}

static void check_churn(churn *c, ggufx_status status) {
    c->memory.fail_at = 0;
    c->failed += status == GGUFX_E_MEMORY;
    assert_true(status == GGUFX_OK || status == GGUFX_E_MEMORY);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(ggufx_session_length(c->session, i), c->lengths[i]);
}

/* All sequences decode the same tokens, so that any can continue a copy of another. */
static void churn_decode(churn *c, float *logits) {
    ggufx_decode_item items[CROWD];
    size_t n = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        const uint64_t room = TINY_CONTEXT - c->lengths[i];
        if (room == 0 || below(c, 3) == 0) continue;
        items[n++] = (ggufx_decode_item)ITEM(i, GGUFX_DECODE_LOGITS, c->tokens + c->lengths[i],
                                             1 + below(c, (uint32_t)room));
    }
    const ggufx_decode_options options = batch_options(n ? logits : NULL, n);
    const ggufx_status status = ggufx_session_decode(c->session, items, n, &options, NULL);
    for (size_t i = 0; status == GGUFX_OK && i < n; i++)
        c->lengths[items[i].sequence] += items[i].n_tokens;
    check_churn(c, status);
}

static void churn_copy(churn *c) {
    const uint32_t from = below(c, CROWD), to = below(c, CROWD);
    if (from == to || c->lengths[to]) return;
    const uint64_t n = c->lengths[from] - below(c, 3) * (c->lengths[from] / 4);
    const ggufx_status status = ggufx_session_copy(c->session, from, to, n, NULL);
    if (status == GGUFX_OK) c->lengths[to] = n;
    check_churn(c, status);
}

static void churn_truncate(churn *c) {
    const uint32_t i = below(c, CROWD);
    const uint64_t n = below(c, 3) ? 0 : c->lengths[i] / 2;
    const ggufx_status status = ggufx_session_truncate(c->session, i, n, NULL);
    assert_int_equal(status, GGUFX_OK);
    c->lengths[i] = n;
    check_churn(c, status);
}

static void run_churn(churn *c, int n, int copies, int fails) {
    static float logits[CROWD * TINY_VOCAB];
    for (int i = 0; i < n; i++) {
        fault_reset(&c->memory);
        if (fails) c->memory.fail_at = 1 + below(c, 2);
        const uint32_t which = below(c, 5);
        if (which == 0)
            churn_truncate(c);
        else if (which < 3 && copies)
            churn_copy(c);
        else
            churn_decode(c, logits);
        if (!copies) assert_int_equal(c->memory.calls, 0);
    }
}

static void test_sequences_take_memory_only_where_they_shared_some(void **state) {
    float logits[TINY_VOCAB], want[TINY_VOCAB];
    ggufx_decode_item item = ITEM(0, GGUFX_DECODE_LOGITS, NULL, 1);
    const ggufx_decode_options options = batch_options(logits, 1);
    churn c;
    (void)state;
    begin_churn(&c);
    const long long bytes = c.memory.live_bytes;
    run_churn(&c, 100, 0, 0);
    assert_int_equal(c.memory.live_bytes, bytes);
    run_churn(&c, 100, 1, 0);
    run_churn(&c, 900, 1, 1);
    assert_true(c.failed > 5);
    assert_true(c.memory.live_bytes <= bytes + bytes / 8);
    ggufx_session *alone = make_churn_session(&c, 1);
    for (uint32_t i = 0; i < CROWD; i++) { /* unchanged */
        OK(ggufx_session_truncate(c.session, i, 0, ok_error()));
        item.sequence = i;
        item.tokens = c.tokens;
        item.n_tokens = TINY_CONTEXT;
        OK(ggufx_session_decode(c.session, &item, 1, &options, ok_error()));
        OK(ggufx_session_truncate(alone, 0, 0, ok_error()));
        OK(decode_ids(alone, c.tokens, TINY_CONTEXT, want, TINY_VOCAB, ok_error()));
        assert_memory_equal(logits, want, sizeof want);
    }
    ggufx_session_destroy(alone);
    end_churn(&c);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct worker {
    const ggufx_model *model;
    ggufx_status status;
    float logits[CROWD * TINY_VOCAB]; /* logits of the last call */
} worker;

/* Eight sequences: each call has some of them in another order, with truncations and copies between
 * calls. */
static ggufx_status run_crowd(worker *w, ggufx_session *session) {
    int32_t tokens[CROWD + 2 * CALLS];
    ggufx_decode_options options = batch_options(w->logits, CROWD);
    make_tokens(tokens, CROWD + 2 * CALLS);
    for (uint32_t call = 0; call < CALLS; call++) {
        ggufx_decode_item items[CROWD];
        for (uint32_t i = 0; i < CROWD; i++) {
            const uint32_t s = (3 * i + call) % CROWD;
            items[i] =
                (ggufx_decode_item)ITEM(s, GGUFX_DECODE_LOGITS, tokens + s + call, 1 + s % 3);
        }
        ggufx_status status = ggufx_session_decode(session, items, CROWD, &options, NULL);
        if (status == GGUFX_OK) status = ggufx_session_truncate(session, call, 0, NULL);
        if (status == GGUFX_OK) status = ggufx_session_copy(session, CROWD - 1, call, 1, NULL);
        if (status != GGUFX_OK) return status;
    }
    return GGUFX_OK;
}

static void *crowd_thread(void *arg) {
    worker *w = arg;
    ggufx_session *session = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_sequences = CROWD;
    options.matmul_flags = GGUFX_MATMUL_TILED;
    w->status = ggufx_session_create(&session, w->model, &options, NULL);
    if (w->status == GGUFX_OK) w->status = run_crowd(w, session);
    ggufx_session_destroy(session);
    return NULL;
}

static void test_sessions_of_one_model_run_on_many_threads(void **state) {
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    ggufx_runtime *rt = NULL; /* one per thread: counting allocators are single-threaded */
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    (void)state;
    OK(ggufx_runtime_create(&rt, NULL, ok_error()));
    assert_int_equal(open_tiny(&file, rt, NULL, NULL), GGUFX_OK);
    OK(ggufx_model_create(&model, rt, file, NULL, ok_error()));
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].model = model;
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_thread, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(workers[i].status, GGUFX_OK);
        assert_memory_equal(workers[i].logits, workers[0].logits, sizeof workers[0].logits);
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_are_refused_with_their_number),
        cmocka_unit_test(test_options_are_refused_by_name),
        cmocka_unit_test(test_larger_items_are_taken_where_the_rest_is_0),
        cmocka_unit_test(test_calls_on_sequences_refuse_bad_arguments),
        cmocka_unit_test(test_a_nan_changes_no_sequence),
        cmocka_unit_test(test_sequences_take_memory_only_where_they_shared_some),
        cmocka_unit_test(test_sessions_of_one_model_run_on_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
