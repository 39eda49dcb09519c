/*
 * The session part of the run on the demo model: sequences, batches, copies, snapshots.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTokens = 5 };

static ggufx_status use_snapshots(exercise *e, ggufx_session *session) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    exercise_snapshot *saved = calloc(1, sizeof *saved);
    char path[] = "/tmp/ggufx-exercise-XXXXXX"; /* unique: runs are concurrent */
    const int fd = mkstemp(path);
    MUST(saved && fd >= 0 && close(fd) == 0);
    TRY(a->session_save(session, 1, exercise_write_piece, saved, &e->error));
    TRY(a->session_load(session, 0, exercise_read_piece, saved, &e->error));
    MUST(a->session_length(session, 0) == kTokens && saved->at == saved->n);
    TRY(a->session_save_file(session, 2, path, &e->error));
    TRY(a->session_load_file(session, 1, path, &e->error));
    MUST(a->session_length(session, 1) == 3);
end:
    MUST(unlink(path) == 0);
    free(saved);
    return status;
}

/* Starts two sequences; a third one continues a copy of the second after three tokens. */
static ggufx_status use_sequences(exercise *e, ggufx_session *session, const int32_t *ids,
                                  float *logits, uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_session_facts facts = {.struct_size = sizeof facts};
    ggufx_decode_options options = {.struct_size = sizeof options};
    int32_t last[2] = {0, 0};
    ggufx_decode_item items[3] = {{.struct_size = sizeof(ggufx_decode_item),
                                   .sequence = 0,
                                   .flags = GGUFX_DECODE_LOGITS,
                                   .tokens = ids,
                                   .n_tokens = 2},
                                  {.struct_size = sizeof(ggufx_decode_item),
                                   .sequence = 1,
                                   .flags = GGUFX_DECODE_LOGITS | GGUFX_DECODE_CHECKPOINT,
                                   .tokens = ids + 1,
                                   .n_tokens = kTokens},
                                  {.struct_size = sizeof(ggufx_decode_item),
                                   .sequence = 2,
                                   .flags = GGUFX_DECODE_ALL_LOGITS,
                                   .tokens = ids + 7,
                                   .n_tokens = 1}};
    options.progress = e->progress;
    options.logits = logits;
    options.n_logits = (size_t)2 * n_vocab;
    TRY(a->session_decode(session, items, 2, &options, &e->error));
    exercise_mix(e, logits, options.n_logits, sizeof *logits);
    TRY(a->session_copy(session, 1, 2, 3, &e->error));
    TRY(a->session_info(&facts, session, &e->error));
    MUST(facts.n_tokens == 2 + kTokens + 3 && facts.n_shared_pages > 0);
    TRY(a->session_truncate(session, 0, 1, &e->error));
    items[0].n_tokens = items[1].n_tokens = 1;
    options.flags = GGUFX_DECODE_HAS_MATMUL_FLAGS;
    options.matmul_flags = GGUFX_MATMUL_TILED;
    options.n_logits = (size_t)3 * n_vocab;
    TRY(a->session_decode(session, items, 3, &options, &e->error));
    exercise_mix(e, logits, options.n_logits, sizeof *logits);
    TRY(a->session_remove(session, 1, 1, 2, &e->error));
    TRY(a->session_shift(session, 1, 1, kTokens - 2, -2, &e->error));
    TRY(a->session_tokens(last, last + 1, session, 1, kTokens - 2, 1, &e->error));
    MUST(last[0] == ids[1] && last[1] == kTokens - 2);
    TRY(a->session_truncate(session, 1, 0, &e->error));
    TRY(a->session_copy(session, 2, 1, 3, &e->error));
    options.n_logits = 0;
    options.logits = NULL;
    items[1].flags = 0;
    items[1].n_tokens = kTokens - 3;
    TRY(a->session_decode(session, items + 1, 1, &options, &e->error));
    TRY(a->session_truncate(session, 2, 3, &e->error));
    TRY(use_snapshots(e, session));
end:
    return status;
}

ggufx_status exercise_batch(exercise *e, const ggufx_model *model, const int32_t *ids,
                            uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_session *session = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    float *logits = calloc((size_t)3 * n_vocab, sizeof *logits);
    MUST(logits);
    options.n_context = 16;
    options.n_batch = 4;
    options.n_sequences = 3;
    TRY(a->session_create(&session, model, &options, &e->error));
    TRY(use_sequences(e, session, ids, logits, n_vocab));
end:
    a->session_destroy(session);
    free(logits);
    return status;
}
