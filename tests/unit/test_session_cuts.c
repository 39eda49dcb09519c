/*
 * Sessions: logits have the same bits for any split into calls and batches, and after cancelled
 * calls and truncations, with every cache type.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "session_fixture.h"
#include "test_step.h"

#include <string.h>

enum { kTokens = 300, kContext = 320 };

static const uint32_t kTypes[] = {GGUFX_TYPE_F32,      GGUFX_TYPE_F16,        GGUFX_TYPE_BF16,
                                  GGUFX_TYPE_Q8_0,     GGUFX_TYPE_Q5_1,       GGUFX_TYPE_Q5_0,
                                  GGUFX_TYPE_Q4_1,     GGUFX_TYPE_Q4_0,       GGUFX_TYPE_IQ4_NL,
                                  GGUFX_TYPE_ROT_Q5_0, GGUFX_TYPE_ROT_IQ4_NL, GGUFX_TYPE_TQ3_0};
enum { kTypeCount = sizeof kTypes / sizeof *kTypes };

static ggufx_session *session_of(fixture *f, uint32_t type, uint32_t n_batch) {
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_session *session = NULL;
    options.n_context = kContext;
    options.n_batch = n_batch;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = type;
    options.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT;
    MUST(f, ggufx_session_create(&session, f->model, &options, &f->error));
    return session;
}

static void assert_logits(const float *got, const float *want, uint32_t type, const char *how,
                          uint32_t n) {
    if (memcmp(got, want, TINY_VOCAB * sizeof *got) != 0)
        fail_msg("type %u, %s %u: other bits", type, how, n);
}

static int32_t countdown(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user == 0;
}

/* Decodes in calls of random sizes, with calls of other tokens between them that are cancelled or
 * truncated. Gives the logits of the last token. */
static void decode_in_pieces(float *logits, fixture *f, ggufx_session *session,
                             const int32_t *tokens, uint32_t seed) {
    int32_t other[90];
    uint64_t random = seed;
    for (size_t i = 0; i < 90; i++) other[i] = (int32_t)(5 + i * 11 % 200);
    for (size_t done = 0; done < kTokens;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t draw = (size_t)(random >> 33), left = kTokens - done;
        size_t n = draw % 3 ? 1 + draw / 3 % 9 : 1 + draw / 3 % 120;
        const size_t drafts = 1 + draw / 7 % 8;
        if (n > left) n = left;
        int polls = 1 + (int)(draw / 11 % 7);
        ggufx_progress progress = {.user = &polls, .report = countdown};
        const ggufx_decode_options options = {.progress = &progress};
        if (draw % 2 && done + 90 <= kContext) {
            const ggufx_status status = decode_with(session, other, 90, 0, &options, &f->error);
            assert_true(status == GGUFX_E_CANCELLED || status == GGUFX_OK);
            if (status == GGUFX_OK) /* truncates to the start of the call */
                MUST(f, ggufx_session_truncate(session, 0, done, &f->error));
        }
        if (draw % 5 == 0 && done && done + drafts <= kContext) {
            MUST(f, decode_ids(session, other, drafts, NULL, 0, &f->error));
            MUST(f, ggufx_session_truncate(session, 0, done, &f->error));
        }
        assert_int_equal(ggufx_session_length(session, 0), done);
        MUST(f, decode_ids(session, tokens + done, n, logits, TINY_VOCAB, &f->error));
        done += n;
    }
}

static void test_cuts_and_lost_calls_change_no_bit(void **state) {
    (void)state;
    static const uint32_t batches[] = {512, 100, 64, 37, 16, 3, 1};
    fixture f;
    int32_t tokens[kTokens];
    float want[TINY_VOCAB], got[TINY_VOCAB];
    begin_session(&f, NULL, 0);
    make_tokens(tokens, kTokens);
    for (size_t t = 0; t < kTypeCount; t += test_step()) {
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            ggufx_session *session = session_of(&f, kTypes[t], batches[b]);
            float *const logits = b ? got : want;
            MUST(&f, decode_ids(session, tokens, kTokens, logits, TINY_VOCAB, &f.error));
            assert_logits(logits, want, kTypes[t], "n_batch", batches[b]);
            ggufx_session_destroy(session);
        }
        for (uint32_t seed = 1; seed <= 4; seed++) {
            ggufx_session *session = session_of(&f, kTypes[t], batches[seed]);
            decode_in_pieces(got, &f, session, tokens, seed);
            assert_logits(got, want, kTypes[t], "pieces of seed", seed);
            ggufx_session_destroy(session);
        }
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts_and_lost_calls_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
