/*
 * The importance matrix and quantization job part of exercise_run().
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Entries of a .dat file: name, calls, values. */
static const unsigned char kDat[] = {2, 0,    0,    0, 1, 0, 0,    0,    'a', 1, 0, 0,    0,
                                     1, 0,    0,    0, 0, 0, 0x80, 0x3f, 1,   0, 0, 0,    'b',
                                     2, 0,    0,    0, 2, 0, 0,    0,    0,   0, 0, 0x40, 0,
                                     0, 0x40, 0x40, 3, 0, 0, 0,    1,    0,   0, 0, 't'};

static ggufx_status look(exercise *e, const ggufx_imatrix *imatrix) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    ggufx_text text = {NULL, 0};
    size_t at = 0;
    TRY(a->imatrix_info(&facts, imatrix, &e->error));
    TRY(a->imatrix_find(&at, imatrix, "b", 1, &e->error));
    TRY(a->imatrix_entry_at(&entry, imatrix, at, &e->error));
    TRY(a->imatrix_dataset_at(&text, imatrix, 0, &e->error));
    MUST(facts.n_datasets == 1 && text.size == 1 && entry.n_columns == 2);
    exercise_mix(e, entry.values, 2, sizeof *entry.values);
end:
    return status;
}

ggufx_status exercise_imatrix(exercise *e, const ggufx_runtime *rt) {
    static const uint8_t kKeep[2] = {0, 1};
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_imatrix *imatrix = NULL, *again = NULL;
    char path[] = "/tmp/ggufx-exercise-XXXXXX";
    const int fd = mkstemp(path);
    MUST(fd >= 0 && close(fd) == 0);
    TRY(a->imatrix_open_memory(&imatrix, rt, kDat, sizeof kDat, &e->error));
    for (int32_t format = GGUFX_IMATRIX_GGUF; format <= GGUFX_IMATRIX_DAT; format++) {
        TRY(a->imatrix_write(imatrix, path, format, e->progress, &e->error));
        a->imatrix_destroy(again);
        again = NULL;
        TRY(a->imatrix_open(&again, rt, path, e->progress, &e->error));
        TRY(a->imatrix_merge(imatrix, again, &e->error));
        TRY(look(e, imatrix));
    }
    TRY(a->imatrix_keep_entries(imatrix, kKeep, 2, &e->error));
    TRY(look(e, imatrix));
end:
    a->imatrix_destroy(imatrix);
    a->imatrix_destroy(again);
    MUST(unlink(path) == 0);
    return status;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

enum { kColumns = 64, kRows = 8 };

/* Converts to the byte order of files: little-endian on any host. */
static void to_file_order(float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char bytes[4];
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        for (int k = 0; k < 4; k++) bytes[k] = (unsigned char)(bits >> 8 * k);
        memcpy(x + i, bytes, 4);
    }
}

/* Writes a model with one f32 tensor that is quantized and one that is not. */
static ggufx_status make_model(exercise *e, const ggufx_runtime *rt, const char *path,
                               const float *x) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_writer *w = NULL;
    ggufx_tensor *rows = NULL, *norm = NULL;
    ggufx_tensor_options shape = {
        .struct_size = sizeof shape, .n_dims = 2, .ne = {kColumns, kRows}};
    shape.data = x;
    shape.n_bytes = kColumns * kRows * 4;
    shape.name = "blk.0.ffn_up.weight";
    TRY(a->writer_create(&w, rt, NULL, &e->error));
    TRY(a->writer_set_string(w, "general.architecture", 20, "llama", 5, &e->error));
    TRY(a->tensor_create(&rows, rt, &shape, &e->error));
    shape.n_dims = 1;
    shape.ne[1] = 0;
    shape.name = "output_norm.weight";
    TRY(a->tensor_create(&norm, rt, &shape, &e->error));
    TRY(a->writer_add_tensor(w, rows, NULL, 0, &e->error));
    TRY(a->writer_add_tensor(w, norm, NULL, 0, &e->error));
    TRY(a->writer_write(w, path, NULL, &e->error));
end:
    a->tensor_destroy(rows);
    a->tensor_destroy(norm);
    a->writer_destroy(w);
    return status;
}

static ggufx_status mix_tensor(void *user, size_t index,
                               const ggufx_quantizer_tensor_facts *tensor) {
    exercise_mix(user, &index, 1, sizeof index == 8 ? 8 : 4);
    exercise_mix(user, &tensor->bytes_out, 1, sizeof tensor->bytes_out);
    return GGUFX_OK;
}

static ggufx_status plan_job(exercise *e, ggufx_quantizer *job) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_quantizer_facts facts = {.struct_size = sizeof facts};
    ggufx_quantizer_tensor_facts tensor = {.struct_size = sizeof tensor};
    const uint32_t types[2] = {GGUFX_QUANTIZER_DEFAULT_TYPE, GGUFX_TYPE_IQ4_NL};
    double rmse = 0;
    TRY(a->quantizer_info(&facts, job, &e->error));
    MUST(facts.n_tensors == 2 && facts.n_parts == 1);
    TRY(a->quantizer_tensor_error(&rmse, job, 1, GGUFX_TYPE_Q4_0, kColumns, e->progress,
                                  &e->error));
    MUST(rmse > 0);
    TRY(a->quantizer_override_types(job, types, 2, &e->error));
    TRY(a->quantizer_tensor_at(&tensor, job, 1, &e->error));
    MUST(tensor.to == GGUFX_TYPE_IQ4_NL && tensor.reason == GGUFX_QUANTIZER_REASON_OVERRIDE);
end:
    return status;
}

/* Runs the job in one piece, then as two shards; both give the same file. */
static ggufx_status run_job(exercise *e, const ggufx_runtime *rt, ggufx_quantizer *job,
                            char *path) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *file = NULL;
    ggufx_quantizer_run_options run = {.struct_size = sizeof run};
    size_t at = 0;
    run.progress = e->progress;
    run.user = e;
    run.tensor_done = mix_tensor;
    run.flags = GGUFX_QUANTIZER_MEASURE;
    TRY(a->quantizer_run(job, path, &run, &e->error));
    run.n_shards = 2;
    for (run.shard = 1; run.shard <= 2; run.shard++)
        TRY(a->quantizer_run(job, path, &run, &e->error));
    TRY(a->quantizer_finish(job, path, e->progress, &e->error));
    TRY(a->open(&file, rt, path, NULL, &e->error));
    TRY(a->file_tensor_find(&at, file, "blk.0.ffn_up.weight", 19, &e->error));
    exercise_mix(e, a->tensor_data(a->file_tensor(file, at)), kRows * kColumns / 32 * 18, 1);
end:
    a->file_destroy(file);
    return status;
}

static ggufx_status look_at_recipes(exercise *e, uint32_t *file_type) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file_type_facts facts = {.struct_size = sizeof facts};
    TRY(a->file_type_find(file_type, "q4_0", &e->error));
    TRY(a->file_type_at(&facts, a->file_type_count() - 1, &e->error));
    MUST(facts.name != NULL && *file_type == 2);
end:
    return status;
}

ggufx_status exercise_job(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *file = NULL;
    ggufx_imatrix *imatrix = NULL;
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    uint32_t file_type = 0;
    float x[kColumns * kRows];
    char in[] = "/tmp/ggufx-exercise-XXXXXX", out[40], part[48], log[52];
    const int fd = mkstemp(in);
    MUST(fd >= 0 && close(fd) == 0);
    snprintf(out, sizeof out, "%s.out", in);
    snprintf(part, sizeof part, "%s.part", out);
    snprintf(log, sizeof log, "%s.log", part);
    exercise_fill(x, kColumns * kRows);
    to_file_order(x, kColumns * kRows);
    TRY(look_at_recipes(e, &file_type));
    TRY(make_model(e, rt, in, x));
    TRY(a->open(&file, rt, in, NULL, &e->error));
    TRY(a->imatrix_open_memory(&imatrix, rt, kDat, sizeof kDat, &e->error));
    options.imatrix = imatrix;
    options.imatrix_name = "exercise";
    TRY(a->quantizer_create(&job, rt, file, file_type, &options, &e->error));
    a->file_destroy(file); /* the job keeps its own references */
    a->imatrix_destroy(imatrix);
    file = NULL;
    imatrix = NULL;
    TRY(plan_job(e, job));
    TRY(run_job(e, rt, job, out));
end:
    a->quantizer_destroy(job);
    a->imatrix_destroy(imatrix);
    a->file_destroy(file);
    unlink(part); /* the shard's partial file */
    unlink(log);
    unlink(out);
    MUST(unlink(in) == 0);
    return status;
}
