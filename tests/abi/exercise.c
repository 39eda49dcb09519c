/*
 * Calls every public function once, on small inputs; coverage.py checks that none is missing. This
 * file has the runtime, types and files. exercise_compute.c, exercise_kv.c and exercise_write.c
 * have the rest.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include "../unit/gguf_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ggufx_status (*exercise_called)(void);

static uint64_t element(const void *data, size_t i, size_t width) {
    switch (width) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

void exercise_mix(exercise *e, const void *data, size_t n, size_t width) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = element(data, i, width);
        for (size_t b = 0; b < width; b++)
            e->hash = (e->hash ^ (value >> 8 * b & 0xff)) * 1099511628211u;
    }
}

/* ---- runtime and types ---------------------------------------------------------------------- */

static ggufx_status run_runtime(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    ggufx_type_facts type = {.struct_size = sizeof type};
    uint32_t id = 0;
    uint64_t bytes = 0;
    MUST(a->abi_version() == GGUFX_ABI_VERSION && a->version()[0] != 0);
    MUST(a->struct_size("ggufx_error") == sizeof(ggufx_error) && a->struct_size("x") == 0);
    MUST(a->has("type:q4_K") == 1 && a->has("type:none") == 0);
    MUST(strcmp(a->status_name(GGUFX_E_MEMORY), "MEMORY") == 0 && a->status_name(-999) != NULL);
    TRY(a->runtime_info(&facts, rt, &e->error));
    MUST(facts.threads >= 1 && a->runtime_kernel_name(rt, GGUFX_TYPE_Q4_0) != NULL);
    TRY(a->type_find(&id, "Q4_K", &e->error));
    TRY(a->type_info(&type, id, &e->error));
    TRY(a->type_row_bytes(&bytes, id, 512, &e->error));
    MUST(bytes == 2 * type.block_bytes);
end:
    return status;
}

/* ---- files ---------------------------------------------------------------------------------- */

static ggufx_status io_size(void *user, uint64_t *out) {
    CALLED();
    *out = ((const exercise *)user)->n_small;
    return GGUFX_OK;
}
static ggufx_status io_read_at(void *user, uint64_t offset, void *dst, size_t n) {
    CALLED();
    const exercise *e = user;
    if (offset > e->n_small || n > e->n_small - offset) return GGUFX_E_IO;
    memcpy(dst, (const char *)e->small + offset, n);
    return GGUFX_OK;
}

static ggufx_status run_open(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *by_path = NULL, *by_fd = NULL, *by_memory = NULL, *by_io = NULL;
    ggufx_open_options options = {.struct_size = sizeof options};
    ggufx_io io = {.struct_size = sizeof io, .user = e, .size = io_size, .read_at = io_read_at};
    const int fd = open(e->path, O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0);
    options.progress = e->progress;
    options.flags = GGUFX_OPEN_HUGE_PAGES;
    TRY(a->open_fd(&by_fd, rt, fd, 0, 0, &options, &e->error));
    options.flags = 0;
    options.io = GGUFX_IO_READ;
    TRY(a->open(&by_path, rt, e->path, &options, &e->error));
    options.io = GGUFX_IO_AUTO;
    options.flags = GGUFX_OPEN_COPY;
    TRY(a->open_memory(&by_memory, rt, e->small, e->n_small, NULL, NULL, &options, &e->error));
    options.flags = 0;
    TRY(a->open_io(&by_io, rt, &io, &options, &e->error));
    MUST(a->file_tensor_count(by_memory) == a->file_tensor_count(by_io));
end:
    close(fd);
    a->file_destroy(by_path);
    a->file_destroy(by_fd);
    a->file_destroy(by_memory);
    a->file_destroy(by_io);
    return status;
}

/* Reads key i with the scalar getters that fit its type. */
static ggufx_status read_scalar(exercise *e, const ggufx_file *file, size_t i, int32_t type) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    uint64_t u = 0;
    int64_t s = 0;
    double f = 0;
    int32_t b = 0;
    ggufx_text text = {NULL, 0};
    if (type == GGUFX_VALUE_STRING) {
        TRY(a->file_meta_string(&text, file, i, &e->error));
        exercise_mix(e, text.data, text.size, 1);
    } else if (type == GGUFX_VALUE_BOOL) {
        TRY(a->file_meta_bool(&b, file, i, &e->error));
    } else if (type == GGUFX_VALUE_F32 || type == GGUFX_VALUE_F64) {
        TRY(a->file_meta_f64(&f, file, i, &e->error));
    } else if (type == GGUFX_VALUE_U8 || type == GGUFX_VALUE_U32) {
        TRY(a->file_meta_u64(&u, file, i, &e->error));
    } else if (type == GGUFX_VALUE_I8 || type == GGUFX_VALUE_I32) {
        TRY(a->file_meta_i64(&s, file, i, &e->error));
    }
end:
    exercise_mix(e, &u, 1, sizeof u);
    exercise_mix(e, &s, 1, sizeof s);
    exercise_mix(e, &f, 1, sizeof f);
    return status;
}

static ggufx_status read_array(exercise *e, const ggufx_file *file, size_t i, int32_t element) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    uint64_t u = 0;
    int64_t s = 0;
    double f = 0;
    size_t nested = 0;
    ggufx_text text = {NULL, 0};
    if (element == GGUFX_VALUE_STRING) {
        TRY(a->file_meta_array_string(&text, file, i, 0, &e->error));
    } else if (element == GGUFX_VALUE_ARRAY) {
        TRY(a->file_meta_array_nested(&nested, file, i, 0, &e->error));
    } else if (element == GGUFX_VALUE_F32 || element == GGUFX_VALUE_F64) {
        TRY(a->file_meta_array_f64(&f, file, i, 0, 1, &e->error));
    } else if (element == GGUFX_VALUE_U8 || element == GGUFX_VALUE_U32) {
        TRY(a->file_meta_array_u64(&u, file, i, 0, 1, &e->error));
    } else if (element == GGUFX_VALUE_I8 || element == GGUFX_VALUE_I32) {
        TRY(a->file_meta_array_i64(&s, file, i, 0, 1, &e->error));
    }
end:
    exercise_mix(e, &u, 1, sizeof u);
    exercise_mix(e, &s, 1, sizeof s);
    exercise_mix(e, &f, 1, sizeof f);
    return status;
}

static int32_t on_finding(void *user, const ggufx_finding_facts *finding) {
    const ggufx_progress *progress = ((exercise *)user)->progress;
    return progress ? progress->report(progress->user, finding->offset, 0) : 0;
}

static ggufx_status run_files(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_file *file = NULL;
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    ggufx_file_memory_facts memory = {.struct_size = sizeof memory};
    ggufx_sampling_facts sampling = {.struct_size = sizeof sampling};
    int32_t suppressed[4];
    size_t found = 0;
    ggufx_status status = run_open(e, rt);
    if (status != GGUFX_OK) return status;
    TRY(a->open_memory(&file, rt, e->small, e->n_small, NULL, NULL, NULL, &e->error));
    TRY(a->file_info(&facts, file, &e->error));
    MUST(facts.n_meta == a->file_meta_count(file) && facts.n_meta > 4);
    TRY(a->file_memory(&memory, file, &e->error));
    MUST(memory.mapped_bytes > 0 && memory.copied_bytes == 0); /* borrowed */
    TRY(a->file_sampling(&sampling, suppressed, 4, file, &e->error));
    MUST(sampling.flags == 0 && sampling.n_suppressed == 0);
    for (size_t i = 0; i < a->file_meta_count(file); i++) {
        ggufx_meta_facts entry = {.struct_size = sizeof entry};
        TRY(a->file_meta_at(&entry, file, i, &e->error));
        TRY(a->file_meta_find(&found, file, entry.key.data, entry.key.size, &e->error));
        MUST(found == i);
        if (entry.type != GGUFX_VALUE_ARRAY)
            TRY(read_scalar(e, file, i, entry.type));
        else if (entry.count)
            TRY(read_array(e, file, i, entry.element_type));
    }
    TRY(a->file_validate(file, GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT, on_finding, e,
                         e->progress, &e->error));
end:
    a->file_destroy(file);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------ */

ggufx_status exercise_run(exercise *e) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    e->hash = 14695981039346656037u;
    e->where = "";
    memset(&e->error, 0, sizeof e->error);
    TRY(a->runtime_create(&rt, &e->options, &e->error));
    TRY(run_runtime(e, rt));
    if (e->parts & EXERCISE_FILES) TRY(run_files(e, rt));
    if (e->parts & (EXERCISE_PRODUCTS | EXERCISE_MODEL))
        TRY(a->open(&file, rt, e->path, NULL, &e->error));
    if (e->parts & EXERCISE_PRODUCTS) TRY(exercise_products(e, rt, file));
    if (e->parts & EXERCISE_KV) TRY(exercise_kv(e, rt));
    if (e->parts & EXERCISE_WRITE) TRY(exercise_write(e, rt));
    if (e->parts & EXERCISE_WRITE) TRY(exercise_imatrix(e, rt));
    if (e->parts & EXERCISE_WRITE) TRY(exercise_job(e, rt));
    if (e->parts & EXERCISE_WRITE) TRY(exercise_chat(e, rt));
    if (e->parts & EXERCISE_MODEL) TRY(exercise_model(e, rt, file));
    if (e->parts & EXERCISE_MODEL) TRY(exercise_chat_tokens(e, rt, file));
#ifdef EXERCISE_DEVICE
    if (e->parts & EXERCISE_DEVICE) TRY(exercise_device(e, rt));
#endif
end:
    a->file_destroy(file);
    a->runtime_destroy(rt);
    return status;
}

static gb small;

void exercise_prepare(void) {
    if (!small.data) gb_everything(&small, 3, 0);
}

void exercise_init(exercise *e, const ggufx_functions *api, const char *path) {
    exercise_prepare();
    memset(e, 0, sizeof *e);
    e->api = api;
    e->path = path;
    e->small = small.data;
    e->n_small = small.n;
    e->parts = EXERCISE_ALL;
    e->options = (ggufx_runtime_options){.struct_size = sizeof(ggufx_runtime_options)};
    e->options.threads = 1;
}
