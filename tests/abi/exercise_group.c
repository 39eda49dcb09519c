/*
 * The group part of the run: a tensor-parallel group of one rank, whose messages come back to it.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

static ggufx_status on_allgather(void *user, void *out, const void *in, size_t n,
                                 uint32_t timeout_ms, ggufx_error *error) {
    CALLED();
    (void)user, (void)timeout_ms, (void)error;
    memcpy(out, in, n);
    return GGUFX_OK;
}

static ggufx_status on_allgatherv(void *user, void *out, const void *in, const size_t *n,
                                  const size_t *offsets, uint32_t timeout_ms, ggufx_error *error) {
    return on_allgather(user, (uint8_t *)out + offsets[0], in, n[0], timeout_ms, error);
}

static ggufx_status on_broadcast(void *user, void *data, size_t n, uint32_t root,
                                 uint32_t timeout_ms, ggufx_error *error) {
    CALLED();
    (void)user, (void)data, (void)n, (void)root, (void)timeout_ms, (void)error;
    return GGUFX_OK;
}

static ggufx_status on_barrier(void *user, uint32_t timeout_ms, ggufx_error *error) {
    CALLED();
    (void)user, (void)timeout_ms, (void)error;
    return GGUFX_OK;
}

static void on_abort(void *user, const ggufx_error *why) {
    (void)user, (void)why;
}

static void on_destroy(void *user) {
    --*(int *)user;
}

ggufx_status exercise_group(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                            const int32_t *ids, uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    int n_groups = 1;
    const ggufx_group group = {.struct_size = sizeof group,
                               .user = &n_groups,
                               .size = 1,
                               .allgather = on_allgather,
                               .allgatherv = on_allgatherv,
                               .broadcast = on_broadcast,
                               .barrier = on_barrier,
                               .abort = on_abort,
                               .destroy = on_destroy};
    ggufx_group_options how = {.struct_size = sizeof how};
    ggufx_model_options options = {.struct_size = sizeof options};
    ggufx_session_options sizes = {.struct_size = sizeof sizes};
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_writer *writer = NULL;
    ggufx_writer_facts made = {.struct_size = sizeof made};
    float *logits = calloc(n_vocab, sizeof *logits);
    MUST(logits);
    how.group = &group;
    options.group = &how;
    sizes.n_context = 16;
    TRY(a->model_create(&model, rt, file, &options, &e->error));
    TRY(a->session_create(&session, model, &sizes, &e->error));
    TRY(exercise_decode(a, session, ids, 5, logits, n_vocab, e->progress, &e->error));
    exercise_mix(e, logits, n_vocab, sizeof *logits);
    TRY(a->writer_create(&writer, rt, NULL, &e->error));
    TRY(a->writer_copy_shard(writer, file, 1, 2, NULL, GGUFX_GROUP_PIPELINE, &e->error));
    TRY(a->writer_info(&made, writer, NULL, &e->error));
    MUST(made.n_bytes > 0);
end:
    a->writer_destroy(writer);
    a->session_destroy(session);
    a->model_destroy(model);
    MUST(n_groups == 0);
    free(logits);
    return status;
}
