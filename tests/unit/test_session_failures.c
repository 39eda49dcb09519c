/*
 * Sessions: cancelled at each poll, each allocation failing, no allocation while decoding.
 * SPDX-License-Identifier: MIT
 */
#include "job_polls.h"
#include "session_fixture.h"

#include <string.h>

static void test_decode_can_be_cancelled_at_each_poll(void **state) {
    int32_t tokens[N];
    float want[TINY_VOCAB], got[TINY_VOCAB];
    ggufx_status status = GGUFX_E_CANCELLED;
    int cancel_at = 0;
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 8);
    decode(&f, tokens, 10, NULL);
    decode(&f, tokens + 10, 30, want);
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    decode(&f, tokens, 10, NULL);
    while (status != GGUFX_OK) {
        polls p = {0, 0, 0, 0};
        ggufx_progress progress;
        ggufx_decode_options options = {.logits = got, .n_logits = TINY_VOCAB};
        memset(&progress, 0, sizeof progress);
        progress.user = &p;
        progress.report = count_polls;
        options.progress = &progress;
        p.stop_at = ++cancel_at;
        status = decode_with(f.session, tokens + 10, 30, GGUFX_DECODE_LOGITS, &options, &f.error);
        if (status == GGUFX_OK) {
            assert_int_equal(p.total, 30);
            break;
        }
        assert_int_equal(status, GGUFX_E_CANCELLED);
        assert_int_equal(ggufx_session_length(f.session, 0), 10);
    }
    assert_true(cancel_at > 8); /* 4 batches of 2 layers */
    assert_memory_equal(got, want, sizeof got);
    end(&f);
}

static void test_decode_does_not_allocate(void **state) {
    int32_t tokens[N];
    float logits[TINY_VOCAB];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    fault_reset(&f.memory);
    decode(&f, tokens, N, NULL);
    decode(&f, tokens, 1, logits);
    MUST(&f, ggufx_session_truncate(f.session, 0, 3, &f.error));
    decode(&f, tokens, N, NULL);
    assert_int_equal(decode_ids(f.session, tokens, 1000, NULL, 0, NULL), GGUFX_E_CAPACITY);
    assert_int_equal(f.memory.calls, 0);
    end(&f);
}

static ggufx_status use_session(void *context, ggufx_runtime *rt, ggufx_error *error) {
    static const int32_t tokens[5] = {1, 2, 3, 4, 5};
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    (void)context;
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, NULL, error);
    if (status == GGUFX_OK) status = decode_ids(session, tokens, 5, NULL, 0, error);
    ggufx_file_destroy(file);
    ggufx_model_destroy(model);
    ggufx_session_destroy(session);
    return status;
}

static void test_session_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(use_session, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_can_be_cancelled_at_each_poll),
        cmocka_unit_test(test_decode_does_not_allocate),
        cmocka_unit_test(test_session_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
