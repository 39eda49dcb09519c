/*
 * Importance matrices of a model: the same sums for any batch and threads, cancelled at each poll,
 * each allocation failing, misuse. cli/imatrix.py compares the sums with binary64.
 * SPDX-License-Identifier: MIT
 */
#include "job_polls.h"
#include "model_fixture.h"
#include "ok.h"
#include "temporary.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 24, N = 3 * CHUNK + 5 };

static void make_tokens(int32_t *tokens) {
    for (size_t i = 0; i < N; i++) tokens[i] = (int32_t)((i * i * 17 + 3 * i + 9) % TINY_VOCAB);
}

static void assert_same(const ggufx_imatrix *a, const ggufx_imatrix *b) {
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_imatrix_info(&facts, a, ok_error()));
    for (size_t i = 0; i < facts.n_entries; i++) {
        ggufx_imatrix_entry x = {.struct_size = sizeof x}, y = {.struct_size = sizeof y};
        OK(ggufx_imatrix_entry_at(&x, a, i, ok_error()));
        OK(ggufx_imatrix_entry_at(&y, b, i, ok_error()));
        assert_int_equal(x.n_columns, y.n_columns);
        assert_memory_equal(x.sums, y.sums, x.n_columns * x.n_matrices * sizeof *x.sums);
        assert_memory_equal(x.counts, y.counts, x.n_matrices * sizeof *x.counts);
    }
}

static ggufx_imatrix *collect(fixture *f, uint32_t n_batch, uint32_t flags) {
    int32_t tokens[N];
    ggufx_imatrix *made = NULL;
    ggufx_imatrix_options options = {.struct_size = sizeof options};
    make_tokens(tokens);
    begin_session(f, NULL, n_batch);
    options.flags = flags;
    MUST(f, ggufx_imatrix_create(&made, f->session, tokens, N, CHUNK, 1, &options, &f->error));
    assert_int_equal(ggufx_session_length(f->session, 0), 0);
    return made;
}

static void test_batches_change_no_count_and_hardly_a_sum(void **state) {
    fixture f, g;
    ggufx_imatrix *whole = collect(&f, 0, 0), *again = collect(&g, 0, 0);
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    (void)state;
    assert_same(whole, again);
    ggufx_imatrix_destroy(again);
    end(&g);
    MUST(&f, ggufx_imatrix_info(&facts, whole, &f.error));
    assert_int_equal(facts.n_chunks, 3);
    assert_int_equal(facts.chunk_tokens, CHUNK);
    assert_int_equal(facts.n_datasets, 0);
    again = collect(&g, 5, 0);
    for (size_t i = 0; i < facts.n_entries; i++) {
        ggufx_imatrix_entry x = {.struct_size = sizeof x}, y = {.struct_size = sizeof y};
        MUST(&f, ggufx_imatrix_entry_at(&x, whole, i, &f.error));
        MUST(&f, ggufx_imatrix_entry_at(&y, again, i, &f.error));
        assert_true(x.counts[0] == 3 * CHUNK && y.counts[0] == 3 * CHUNK);
        for (size_t k = 0; k < x.n_columns; k++) {
            const float d = x.sums[k] - y.sums[k], limit = 1e-3f * x.sums[k] + 1e-6f;
            assert_true(d <= limit && -d <= limit);
        }
    }
    ggufx_imatrix_destroy(again);
    ggufx_imatrix_destroy(whole);
    end(&g);
    end(&f);
}

static ggufx_imatrix *collect_chunks(fixture *f, size_t first, size_t n) {
    int32_t tokens[N];
    ggufx_imatrix *made = NULL;
    make_tokens(tokens);
    MUST(f, ggufx_imatrix_create(&made, f->session, tokens + first * CHUNK, n * CHUNK, CHUNK, 1,
                                 NULL, &f->error));
    return made;
}

static void assert_merged(fixture *f, ggufx_imatrix *into, ggufx_imatrix *part,
                          const ggufx_imatrix *whole) {
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_imatrix_merge(into, part, &f->error));
    MUST(f, ggufx_imatrix_info(&facts, into, &f->error));
    assert_int_equal(facts.n_chunks, 3);
    assert_same(whole, into);
    ggufx_imatrix_destroy(part);
    ggufx_imatrix_destroy(into);
}

static void test_parts_in_any_order_make_the_whole(void **state) {
    char path[TEMPORARY_PATH];
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    ggufx_imatrix *whole = collect_chunks(&f, 0, 3), *read = NULL;
    assert_merged(&f, collect_chunks(&f, 0, 1), collect_chunks(&f, 1, 2), whole);
    assert_merged(&f, collect_chunks(&f, 2, 1), collect_chunks(&f, 0, 2), whole);
    ggufx_imatrix *last = collect_chunks(&f, 2, 1), *first = collect_chunks(&f, 0, 1);
    MUST(&f, ggufx_imatrix_merge(last, first, &f.error));
    assert_merged(&f, last, collect_chunks(&f, 1, 1), whole);
    ggufx_imatrix_destroy(first);
    /* Through a file with exact sums, which older readers read as one without. */
    temporary_path(path, "exact");
    ggufx_imatrix *part = collect_chunks(&f, 1, 2);
    MUST(&f,
         ggufx_imatrix_write(part, path, GGUFX_IMATRIX_GGUF | GGUFX_IMATRIX_EXACT, NULL, &f.error));
    MUST(&f, ggufx_imatrix_open(&read, f.rt, path, NULL, &f.error));
    assert_same(part, read);
    assert_merged(&f, read, collect_chunks(&f, 0, 1), whole);
    FAILS(&f, GGUFX_E_ARGUMENT, "exact",
          ggufx_imatrix_write(part, path, GGUFX_IMATRIX_DAT | GGUFX_IMATRIX_EXACT, NULL, &f.error));
    remove(path);
    ggufx_imatrix_destroy(part);
    ggufx_imatrix_destroy(whole);
    end(&f);
}

static void test_the_matrix_of_the_logits_is_one_more(void **state) {
    fixture f, g;
    ggufx_imatrix *plain = collect(&f, 0, 0), *more = collect(&g, 0, GGUFX_IMATRIX_OUTPUT);
    ggufx_imatrix_facts a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
    (void)state;
    MUST(&f, ggufx_imatrix_info(&a, plain, &f.error));
    MUST(&f, ggufx_imatrix_info(&b, more, &f.error));
    assert_int_equal(b.n_entries, a.n_entries + 1);
    ggufx_imatrix_destroy(plain);
    ggufx_imatrix_destroy(more);
    end(&g);
    end(&f);
}

static void test_it_can_be_cancelled_at_each_poll(void **state) {
    int32_t tokens[N];
    fixture f, g;
    ggufx_imatrix *want = collect(&g, 0, GGUFX_IMATRIX_OUTPUT), *made = NULL;
    ggufx_status status = GGUFX_E_CANCELLED;
    int cancel_at = 0;
    (void)state;
    make_tokens(tokens);
    begin_session(&f, NULL, 0);
    while (status == GGUFX_E_CANCELLED) {
        polls p = {0, ++cancel_at, 0, 0};
        ggufx_progress progress = {count_polls, &p};
        ggufx_imatrix_options options = {.struct_size = sizeof options};
        options.flags = GGUFX_IMATRIX_OUTPUT;
        options.progress = &progress;
        status = ggufx_imatrix_create(&made, f.session, tokens, N, CHUNK, 1, &options, &f.error);
        assert_int_equal(ggufx_session_length(f.session, 0), 0);
        assert_true((made != NULL) == (status == GGUFX_OK));
        assert_int_equal(p.total, 3 * CHUNK);
    }
    assert_int_equal(status, GGUFX_OK);
    assert_true(cancel_at > 6); /* 3 chunks of 2 layers */
    assert_same(want, made);
    ggufx_imatrix_destroy(want);
    ggufx_imatrix_destroy(made);
    end(&f);
    end(&g);
}

static void test_bad_arguments_are_refused(void **state) {
    int32_t tokens[N];
    ggufx_imatrix *made = NULL;
    ggufx_imatrix_options options = {.struct_size = sizeof options};
    fixture f;
    (void)state;
    make_tokens(tokens);
    begin_session(&f, NULL, 0);
#define RUN(out, session, ids, n, context, bos)                                                    \
    ggufx_imatrix_create(out, session, ids, n, context, bos, &options, &f.error)
    FAILS(&f, GGUFX_E_ARGUMENT, "out", RUN(NULL, f.session, tokens, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "session", RUN(&made, NULL, tokens, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "tokens", RUN(&made, f.session, NULL, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "fewer", RUN(&made, f.session, tokens, CHUNK - 1, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_context", RUN(&made, f.session, tokens, N, 3, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "bos", RUN(&made, f.session, tokens, N, CHUNK, -2));
    options.flags = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "flags", RUN(&made, f.session, tokens, N, CHUNK, 1));
    options.flags = 0;
    tokens[60] = TINY_VOCAB;
    assert_int_equal(RUN(&made, f.session, tokens, N, CHUNK, 1), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 60);
    tokens[60] = 3;
    MUST(&f, decode_ids(f.session, tokens, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_STATE, "2 tokens", RUN(&made, f.session, tokens, N, CHUNK, 1));
    assert_null(made);
    end(&f);
}

static void test_a_nan_is_no_sum(void **state) {
    int32_t tokens[N];
    tiny_options tiny;
    ggufx_imatrix *made = NULL;
    ggufx_imatrix_options options = {.struct_size = sizeof options};
    fixture f;
    (void)state;
    make_tokens(tokens);
    memset(&tiny, 0, sizeof tiny);
    tiny.nan_tensor = "output_norm.weight";
    begin_session(&f, &tiny, 0);
    options.flags = GGUFX_IMATRIX_OUTPUT;
    FAILS(&f, GGUFX_E_VALUE, "NaN", RUN(&made, f.session, tokens, N, CHUNK, 1));
    assert_null(made);
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    end(&f);
}

static ggufx_status use_collect(void *context, ggufx_runtime *rt, ggufx_error *error) {
    int32_t tokens[N];
    ggufx_imatrix *made = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_imatrix_options options = {.struct_size = sizeof options};
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    (void)context;
    make_tokens(tokens);
    options.dataset = "a text";
    options.flags = GGUFX_IMATRIX_OUTPUT;
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, NULL, error);
    if (status == GGUFX_OK) {
        status = ggufx_imatrix_create(&made, session, tokens, N, CHUNK, 1, &options, error);
        assert_int_equal(ggufx_session_length(session, 0), 0);
    }
    ggufx_imatrix_destroy(made);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

static void test_it_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(use_collect, NULL) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_change_no_count_and_hardly_a_sum),
        cmocka_unit_test(test_parts_in_any_order_make_the_whole),
        cmocka_unit_test(test_the_matrix_of_the_logits_is_one_more),
        cmocka_unit_test(test_it_can_be_cancelled_at_each_poll),
        cmocka_unit_test(test_bad_arguments_are_refused),
        cmocka_unit_test(test_a_nan_is_no_sum),
        cmocka_unit_test(test_it_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
