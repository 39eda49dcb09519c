/*
 * Perplexity with strides, saved logits and the KL divergence from them, continuations. Compared
 * with the tiny model's reference in binary64; any batch, damage, cancellation and failing
 * allocation.
 * SPDX-License-Identifier: MIT
 */
#include "measure_fixture.h"
#include "ok.h"
#include "temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

/* ---- the same figures in binary64 ----------------------------------------------------------- */

typedef struct expected {
    int n, n_same;
    double loss, base_loss, kl[MOST], dp2;
} expected;

static double log_sum(const double *logits) {
    double sum = 0;
    for (int i = 0; i < TINY_VOCAB; i++) sum += exp(logits[i]);
    return log(sum);
}

static int top_of(const double *logits) {
    int top = 0;
    for (int i = 1; i < TINY_VOCAB; i++)
        if (logits[i] > logits[top]) top = i;
    return top;
}

static void compare_row(expected *e, const double *p, const double *q, int32_t next) {
    const double sum_p = log_sum(p), sum_q = log_sum(q);
    double kl = 0, dp = exp(q[next] - sum_q) - exp(p[next] - sum_p);
    for (int i = 0; i < TINY_VOCAB; i++) kl += exp(p[i] - sum_p) * (p[i] - sum_p - q[i] + sum_q);
    e->kl[e->n++] = kl;
    e->n_same += top_of(p) == top_of(q);
    e->base_loss += sum_p - p[next];
    e->loss += sum_q - q[next];
    e->dp2 += dp * dp;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static expected *expect(uint32_t stride) {
    const tiny_options other = other_model();
    const int step = stride ? (int)stride : CHUNK;
    const int first = stride ? CHUNK - (int)stride - 1 : CHUNK / 2;
    int32_t tokens[N];
    expected *e = calloc(1, sizeof *e);
    double *p = malloc(CHUNK * TINY_VOCAB * sizeof *p), *q = malloc(CHUNK * TINY_VOCAB * sizeof *q);
    make_tokens(tokens);
    for (int begin = 0; begin + CHUNK <= N; begin += step) {
        int32_t chunk[CHUNK];
        memcpy(chunk, tokens + begin, sizeof chunk);
        chunk[0] = TINY_BOS;
        tiny_reference(p, chunk, CHUNK, NULL);
        tiny_reference(q, chunk, CHUNK, &other);
        for (int i = first; i <= CHUNK - 2; i++)
            compare_row(e, p + i * TINY_VOCAB, q + i * TINY_VOCAB, chunk[i + 1]);
    }
    qsort(e->kl, (size_t)e->n, sizeof *e->kl, by_size);
    free(p);
    free(q);
    return e;
}

static double quantile(const expected *e, double rank) {
    const double last = e->n - 1, place = rank < 0 ? 0 : rank > last ? last : rank;
    const int low = (int)place, high = low + 1 < e->n ? low + 1 : low;
    return e->kl[low] + (e->kl[high] - e->kl[low]) * (place - low);
}

/* For one row, relative. 16-bit codes are off by half a step, 4e-4 here. Divergences of 1 and more,
 * for models this far apart, err as much as the logits. */
static const double kRow = 1e-4;

static void near(double got, double want, double within) {
    if (fabs(got - want) <= within) return;
    print_message("got %.10g, want %.10g within %g\n", got, want, within);
    fail();
}

static void check_quantile(const expected *e, double q, double got, double error) {
    const double rank = q * (e->n - 1), spread = sqrt(e->n * q * (1 - q));
    near(got, quantile(e, rank), kRow * (1 + got));
    near(error, (quantile(e, rank + spread) - quantile(e, rank - spread)) / 2, kRow * (1 + got));
}

static void check_figures(uint32_t stride) {
    const tiny_options other = other_model();
    saved_file *file = save(stride);
    expected *e = expect(stride);
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    fixture f;
    double mean = 0, square = 0, same = (double)e->n_same / e->n;
    for (int i = 0; i < e->n; i++) mean += e->kl[i] / e->n, square += e->kl[i] * e->kl[i] / e->n;
    begin_rows(&f, &other, 0);
    options.stride = stride;
    options.read = read_piece;
    options.read_user = file;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    assert_int_equal(file->at, file->n);
    assert_int_equal(facts.n_scored, e->n);
    assert_true(facts.flags & GGUFX_EVAL_COMPARED);
    near(facts.perplexity / exp(e->loss / e->n), 1, 1e-5);
    near(facts.reference_perplexity / exp(e->base_loss / e->n), 1, 1e-5);
    near(facts.log_ratio, (e->loss - e->base_loss) / e->n, 1e-5);
    assert_true(mean > 1e-5); /* the models do differ */
    near(facts.kl, mean, 1e-3 * mean + 1e-7);
    near(facts.kl_error, sqrt((square - mean * mean) / (e->n - 1)), kRow * (1 + mean));
    near(facts.kl_max, e->kl[e->n - 1], kRow * (1 + e->kl[e->n - 1]));
    near(facts.same_top_token, same, 1e-12);
    near(facts.same_top_token_error, sqrt(same * (1 - same) / (e->n - 1)), 1e-12);
    near(facts.rms_delta_p, sqrt(e->dp2 / e->n), 1e-5);
    check_quantile(e, 0.5, facts.kl_median, facts.kl_median_error);
    check_quantile(e, 0.99, facts.kl_99, facts.kl_99_error);
    assert_true(facts.reference_error > 0 && facts.log_ratio_error > 0 &&
                facts.rms_delta_p_error > 0);
    end(&f);
    free(e);
    free(file);
}

static void test_figures_are_those_of_binary64(void **state) {
    (void)state;
    check_figures(0);
    check_figures(7);
    check_figures(CHUNK - 1);
}

static void test_a_model_does_not_differ_from_itself(void **state) {
    saved_file *file = save(0);
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    begin_rows(&f, NULL, 0);
    options.read = read_piece;
    options.read_user = file;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    assert_int_equal(facts.flags, GGUFX_EVAL_COMPARED | GGUFX_EVAL_SAME_MODEL);
    assert_true(facts.perplexity == facts.reference_perplexity);
    assert_true(facts.log_ratio == 0 && facts.rms_delta_p == 0 && facts.same_top_token == 1);
    assert_true(facts.kl >= 0 && facts.kl_max < 1e-8);
    end(&f);
    free(file);
}

static void test_neither_batches_nor_fewer_chunks_change_a_bit(void **state) {
    static const uint32_t batches[] = {0, 1, 5};
    const tiny_options other = other_model();
    saved_file *file = save(0), *again = calloc(1, sizeof *again);
    ggufx_eval_facts facts[3], running;
    (void)state;
    for (int i = 0; i < 3; i++) {
        ggufx_eval_options options = {.struct_size = sizeof options};
        fixture f;
        begin_rows(&f, &other, batches[i]);
        options.read = read_piece;
        options.read_user = file;
        file->at = 0;
        MUST(&f, measure(&f, &facts[i], N, TINY_BOS, &options));
        assert_memory_equal(&facts[i], &facts[0], sizeof facts[0]);
        file->at = 0; /* two of the three saved chunks */
        MUST(&f, measure(&f, &running, 2 * CHUNK, TINY_BOS, &options));
        assert_int_equal(running.n_chunks, 2);
        end(&f);
        begin_rows(&f, NULL, batches[i]);
        options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
        options.write = write_piece;
        options.write_user = again;
        again->n = 0;
        MUST(&f, measure(&f, &running, N, TINY_BOS, &options));
        assert_int_equal(again->n, file->n);
        assert_memory_equal(again->bytes, file->bytes, file->n);
        end(&f);
    }
    free(again);
    free(file);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_damage_is_found_wherever_it_is(void **state) {
    saved_file *file = save(0);
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    begin_rows(&f, NULL, 0);
    options.read = read_piece;
    options.read_user = file;
    for (size_t at = 0; at < file->n; at += at < 100 ? 1 : 617) {
        file->bytes[at] ^= 0x41;
        file->at = 0;
        assert_int_not_equal(measure(&f, &facts, N, TINY_BOS, &options), GGUFX_OK);
        assert_true(facts.n_chunks == 0 && ggufx_session_length(f.session, 0) == 0);
        file->bytes[at] ^= 0x41;
    }
    const size_t n = file->n;
    for (file->n = 0; file->n < n; file->n += 611) {
        file->at = 0;
        FAILS(&f, GGUFX_E_TRUNCATED, "read callback", measure(&f, &facts, N, TINY_BOS, &options));
    }
    file->n = n;
    file->at = 0;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    end(&f);
    free(file);
}

static void test_logits_of_something_else_are_a_mismatch(void **state) {
    saved_file *file = save(0);
    tiny_options duplicates = {0};
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    int32_t tokens[N];
    fixture f;
    (void)state;
    options.read = read_piece;
    options.read_user = file;
#define MISMATCH(text, call)                                                                       \
    do {                                                                                           \
        file->at = 0;                                                                              \
        FAILS(&f, GGUFX_E_MISMATCH, text, call);                                                   \
    } while (0)
    begin_rows(&f, NULL, 0);
    MISMATCH("first token 1, not", measure(&f, &facts, N, -1, &options));
    options.stride = 5;
    MISMATCH("stride", measure(&f, &facts, N, TINY_BOS, &options));
    options.stride = 0;
    make_tokens(tokens);
    tokens[CHUNK + 3] ^= 1;
    facts.struct_size = sizeof facts;
    file->at = 0;
    assert_int_equal(
        ggufx_eval_perplexity(&facts, f.session, tokens, N, CHUNK, TINY_BOS, &options, &f.error),
        GGUFX_E_MISMATCH);
    assert_int_equal(f.error.index, 1);
    MISMATCH("chunks of", ggufx_eval_perplexity(&facts, f.session, tokens, N, CHUNK + 2, TINY_BOS,
                                                &options, &f.error));
    end(&f);
    duplicates.vocab_fault = TINY_VOCAB_DUPLICATES;
    begin_rows(&f, &duplicates, 0);
    MISMATCH("vocabulary", measure(&f, &facts, N, TINY_BOS, &options));
    end(&f);
    saved_file *fewer = calloc(1, sizeof *fewer);
    begin_rows(&f, NULL, 0);
    options.read = NULL;
    options.read_user = NULL;
    options.write = write_piece;
    options.write_user = fewer;
    MUST(&f, measure(&f, &facts, 2 * CHUNK, TINY_BOS, &options));
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.read = read_piece;
    options.read_user = fewer;
    FAILS(&f, GGUFX_E_MISMATCH, "2 chunks", measure(&f, &facts, N, TINY_BOS, &options));
    end(&f);
    free(fewer);
    free(file);
}

static void test_bad_arguments_are_refused(void **state) {
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    begin_rows(&f, NULL, 0);
    options.stride = CHUNK;
    FAILS(&f, GGUFX_E_ARGUMENT, "stride", measure(&f, &facts, N, 1, &options));
    options.stride = 0;
    FAILS(&f, GGUFX_E_ARGUMENT, "fewer", measure(&f, &facts, CHUNK - 1, 1, &options));
    options.save_path = "a";
    options.write = write_piece;
    FAILS(&f, GGUFX_E_ARGUMENT, "exclude", measure(&f, &facts, N, 1, &options));
    options.write = NULL;
    options.save_path = "";
    FAILS(&f, GGUFX_E_ARGUMENT, "save_path", measure(&f, &facts, N, 1, &options));
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.reference_path = "a";
    options.read = read_piece;
    FAILS(&f, GGUFX_E_ARGUMENT, "exclude", measure(&f, &facts, N, 1, &options));
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.reference_path = "/nonexistent/logits";
    FAILS(&f, GGUFX_E_IO, "/nonexistent/logits", measure(&f, &facts, N, 1, &options));
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.flags = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "flags", measure(&f, &facts, N, 1, &options));
    FAILS(&f, GGUFX_E_ARGUMENT, "out",
          ggufx_eval_perplexity(NULL, f.session, (int32_t[]){1}, 1, CHUNK, 1, NULL, &f.error));
    end(&f);
}

/* ---- files, cancelling, memory --------------------------------------------------------------- */

typedef struct reports {
    int n, stop_at;
} reports;

static int32_t on_report(void *user, const ggufx_eval_facts *running) {
    reports *r = user;
    assert_int_equal(running->n_chunks, ++r->n);
    return r->n == r->stop_at;
}

static int32_t on_progress(void *user, uint64_t done, uint64_t total) {
    reports *r = user;
    assert_true(done <= total);
    return ++r->n == r->stop_at;
}

static int exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* Multiplies all weights of a matrix by a factor, in the file's memory. */
static void scale_weights(const fixture *f, const char *name, float by) {
    size_t index = 0;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_file_tensor_find(&index, f->file, name, strlen(name), ok_error()));
    const ggufx_tensor *const t = ggufx_file_tensor(f->file, index);
    OK(ggufx_tensor_info(&facts, t, ok_error()));
    float *const values = (float *)(uintptr_t)ggufx_tensor_data(t);
    for (uint64_t i = 0; i < facts.n_bytes / sizeof *values; i++) values[i] *= by;
}

/* Nor are logits so far apart that the step between them becomes infinite. */
static void test_logits_that_are_no_numbers_are_not_saved(void **state) {
    static const char *const names[] = {"output_norm.weight", "output.weight"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const tiny_options broken = {.untied = 1, .nan_tensor = i < 2 ? names[i] : NULL};
        saved_file *const saved = calloc(1, sizeof *saved);
        ggufx_eval_options options = {.struct_size = sizeof options};
        ggufx_eval_facts facts;
        fixture f;
        begin_rows(&f, &broken, 0);
        if (i == 2) scale_weights(&f, "output.weight", 4e37f);
        options.write = write_piece;
        options.write_user = saved;
        FAILS(&f, GGUFX_E_VALUE, i == 2 ? "an infinite logit" : "the model computed",
              measure(&f, &facts, N, 1, &options));
        end(&f);
        free(saved);
    }
}

static void test_a_file_appears_whole_or_not_at_all(void **state) {
    char path[TEMPORARY_PATH], part[TEMPORARY_PATH + 8];
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    reports stop = {0, 2};
    fixture f;
    (void)state;
    temporary_path(path, "logits");
    snprintf(part, sizeof part, "%s.part", path);
    begin_rows(&f, NULL, 0);
    options.save_path = path;
    options.report = on_report;
    options.report_user = &stop;
    FAILS(&f, GGUFX_E_CANCELLED, "2 chunks", measure(&f, &facts, N, TINY_BOS, &options));
    assert_false(exists(path) || exists(part));
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    options.report = NULL;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    assert_true(exists(path) && !exists(part));
    options.save_path = NULL;
    options.reference_path = path;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    assert_true(facts.flags & GGUFX_EVAL_SAME_MODEL);
    FILE *file = fopen(path, "ab"); /* bytes after the last chunk */
    fputc('x', file);
    fclose(file);
    assert_int_not_equal(measure(&f, &facts, N, TINY_BOS, &options), GGUFX_OK);
    remove(path);
    end(&f);
}

static void test_it_stops_at_each_poll_and_at_each_write(void **state) {
    saved_file *file = calloc(1, sizeof *file);
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    reports stop = {0, 0};
    ggufx_progress progress = {on_progress, &stop};
    fixture f;
    (void)state;
    begin_rows(&f, NULL, 5);
    options.progress = &progress;
    MUST(&f, measure(&f, &facts, N, TINY_BOS, &options));
    for (int n = stop.n; n > 0; n -= 7) {
        stop = (reports){0, n};
        assert_int_equal(measure(&f, &facts, N, TINY_BOS, &options), GGUFX_E_CANCELLED);
        assert_int_equal(ggufx_session_length(f.session, 0), 0);
    }
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.write = write_piece;
    options.write_user = file;
    for (file->fail_at = 1; file->fail_at < 20000; file->fail_at += 4111) {
        file->n = 0;
        FAILS(&f, GGUFX_E_IO, "write callback", measure(&f, &facts, N, TINY_BOS, &options));
    }
    free(file);
    end(&f);
}

static ggufx_status use_measure(void *context, ggufx_runtime *rt, ggufx_error *error) {
    int32_t tokens[N];
    double scores[2];
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts = {.struct_size = sizeof facts};
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    saved_file *saved = context;
    make_tokens(tokens);
    options.write = write_piece;
    options.write_user = saved;
    saved->n = saved->at = 0;
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, NULL, error);
    if (status == GGUFX_OK)
        status = ggufx_eval_perplexity(&facts, session, tokens, CHUNK, CHUNK, 1, &options, error);
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.read = read_piece;
    options.read_user = saved;
    if (status == GGUFX_OK)
        status = ggufx_eval_perplexity(&facts, session, tokens, CHUNK, CHUNK, 1, &options, error);
    if (status == GGUFX_OK)
        status = ggufx_eval_continuations(
            scores, session, tokens, 4,
            (const ggufx_token_list[]){{tokens + 4, 2}, {tokens + 6, 3}}, 2, NULL, error);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

static void test_it_survives_each_failing_allocation(void **state) {
    saved_file *file = calloc(1, sizeof *file);
    (void)state;
    assert_true(fault_run(use_measure, file) > 16);
    free(file);
}

/* ---- continuations --------------------------------------------------------------------------- */

enum { CONTEXT = 9, ENDINGS = 3 };
static const size_t kLengths[ENDINGS] = {1, 5, 40}; /* one id; more than 32 rows */

static void make_endings(int32_t *context, int32_t *endings) {
    int32_t tokens[N];
    make_tokens(tokens);
    tokens[0] = TINY_BOS;
    memcpy(context, tokens, CONTEXT * sizeof *context);
    memcpy(endings, tokens + CONTEXT, 46 * sizeof *endings);
}

typedef struct token_lists {
    ggufx_token_list of[ENDINGS];
} token_lists;

static token_lists lists_of(const int32_t *endings, const size_t *lengths) {
    token_lists lists;
    for (size_t i = 0; i < ENDINGS; endings += kLengths[i++])
        lists.of[i] = (ggufx_token_list){endings, lengths[i]};
    return lists;
}

static void test_endings_have_the_probabilities_of_binary64(void **state) {
    static const uint32_t batches[] = {0, 1, 7};
    int32_t context[CONTEXT], endings[46];
    double scores[3][ENDINGS], *logits = malloc(64 * TINY_VOCAB * sizeof *logits);
    (void)state;
    make_endings(context, endings);
    for (int b = 0; b < 3; b++) {
        fixture f;
        begin_rows(&f, NULL, batches[b]);
        MUST(&f, ggufx_eval_continuations(scores[b], f.session, context, CONTEXT,
                                          lists_of(endings, kLengths).of, ENDINGS, NULL, &f.error));
        assert_int_equal(ggufx_session_length(f.session, 0), 0);
        assert_memory_equal(scores[b], scores[0], sizeof scores[0]);
        end(&f);
    }
    for (size_t e = 0, at = 0; e < ENDINGS; at += kLengths[e++]) {
        int32_t all[64];
        double sum = 0;
        memcpy(all, context, sizeof context);
        memcpy(all + CONTEXT, endings + at, kLengths[e] * sizeof *endings);
        tiny_reference(logits, all, CONTEXT + kLengths[e], NULL);
        for (size_t i = CONTEXT; i < CONTEXT + kLengths[e]; i++)
            sum += logits[(i - 1) * TINY_VOCAB + (size_t)all[i]] -
                   log_sum(logits + (i - 1) * TINY_VOCAB);
        near(scores[0][e], sum, 1e-4);
    }
    free(logits);
}

static void test_endings_that_cannot_be_are_refused(void **state) {
    int32_t context[CONTEXT], endings[46];
    double scores[ENDINGS] = {7, 7, 7};
    size_t lengths[ENDINGS] = {1, 0, 2};
    reports stop = {0, 3};
    ggufx_progress progress = {on_progress, &stop};
    fixture f;
    (void)state;
    make_endings(context, endings);
    begin_rows(&f, NULL, 0);
#define SCORE(out, session, n_context, n_tokens, n)                                                \
    ggufx_eval_continuations(out, session, context, n_context, lists_of(endings, n_tokens).of, n,  \
                             NULL, &f.error)
    FAILS(&f, GGUFX_E_ARGUMENT, "out", SCORE(NULL, f.session, CONTEXT, kLengths, 3));
    FAILS(&f, GGUFX_E_ARGUMENT, "session", SCORE(scores, NULL, CONTEXT, kLengths, 3));
    FAILS(&f, GGUFX_E_ARGUMENT, "context", SCORE(scores, f.session, 0, kLengths, 3));
    FAILS(&f, GGUFX_E_ARGUMENT, "continuation", SCORE(scores, f.session, CONTEXT, kLengths, 0));
    FAILS(&f, GGUFX_E_ARGUMENT, "continuation 1", SCORE(scores, f.session, CONTEXT, lengths, 3));
    assert_int_equal(SCORE(scores, f.session, CONTEXT, lengths, 3), GGUFX_E_ARGUMENT);
    assert_true(f.error.offset == GGUFX_NONE && f.error.index == 1);
    lengths[1] = SIZE_MAX;
    assert_int_not_equal(SCORE(scores, f.session, CONTEXT, lengths, 3), GGUFX_OK);
    lengths[1] = TINY_CONTEXT - CONTEXT + 2;
    FAILS(&f, GGUFX_E_CAPACITY, "room", SCORE(scores, f.session, CONTEXT, lengths, 2));
    FAILS(&f, GGUFX_E_CANCELLED, "",
          ggufx_eval_continuations(scores, f.session, context, CONTEXT,
                                   lists_of(endings, kLengths).of, ENDINGS, &progress, &f.error));
    endings[45] = TINY_VOCAB;
    assert_int_equal(SCORE(scores, f.session, CONTEXT, kLengths, 3), GGUFX_E_ARGUMENT);
    for (int i = 0; i < ENDINGS; i++) assert_true(scores[i] == 7);
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    MUST(&f, decode_ids(f.session, context, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_STATE, "2 tokens", SCORE(scores, f.session, CONTEXT, kLengths, 2));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_those_of_binary64),
        cmocka_unit_test(test_a_model_does_not_differ_from_itself),
        cmocka_unit_test(test_neither_batches_nor_fewer_chunks_change_a_bit),
        cmocka_unit_test(test_damage_is_found_wherever_it_is),
        cmocka_unit_test(test_logits_of_something_else_are_a_mismatch),
        cmocka_unit_test(test_bad_arguments_are_refused),
        cmocka_unit_test(test_logits_that_are_no_numbers_are_not_saved),
        cmocka_unit_test(test_a_file_appears_whole_or_not_at_all),
        cmocka_unit_test(test_it_stops_at_each_poll_and_at_each_write),
        cmocka_unit_test(test_it_survives_each_failing_allocation),
        cmocka_unit_test(test_endings_have_the_probabilities_of_binary64),
        cmocka_unit_test(test_endings_that_cannot_be_are_refused),
    };
    if (temporary_make() != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_clean();
    return temporary_remove() != 0 || failed;
}
