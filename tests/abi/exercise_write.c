/*
 * The writer part of exercise_run(): keys of every kind, tensors from a file, memory and callbacks.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <unistd.h>

#define S(text) (text), sizeof(text) - 1

static ggufx_status mix_bytes(void *user, uint32_t part, const void *data, size_t n) {
    CALLED();
    exercise_mix(user, &part, 1, sizeof part);
    exercise_mix(user, data, n, 1);
    return GGUFX_OK;
}

static ggufx_status make_bytes(void *user, uint64_t offset, void *dst, size_t n) {
    CALLED();
    (void)user;
    for (size_t i = 0; i < n; i++) ((uint8_t *)dst)[i] = (uint8_t)(offset + i);
    return GGUFX_OK;
}

static ggufx_status set_keys(exercise *e, ggufx_writer *w) {
    static const char *const kTexts[2] = {"first", "second"};
    static const size_t kLengths[2] = {5, 6};
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    TRY(a->writer_set_u64(w, S("w.u"), GGUFX_VALUE_U32, 7, &e->error));
    TRY(a->writer_set_i64(w, S("w.i"), GGUFX_VALUE_I16, -7, &e->error));
    TRY(a->writer_set_f64(w, S("w.f"), GGUFX_VALUE_F32, 0.1, &e->error)); /* rounds to f32 */
    TRY(a->writer_set_bool(w, S("w.b"), 1, &e->error));
    TRY(a->writer_set_string(w, S("w.s"), S("text"), &e->error));
    TRY(a->writer_set_array(w, S("w.a"), GGUFX_VALUE_U8, "\1\2\3", 3, &e->error));
    TRY(a->writer_set_array_string(w, S("w.t"), kTexts, kLengths, 2, &e->error));
    TRY(a->writer_set_value(w, S("w.v"), GGUFX_VALUE_U16, "\1\2", 2, &e->error));
    TRY(a->writer_rename(w, S("w.v"), S("w.w"), &e->error));
    TRY(a->writer_unset(w, S("w.a"), &e->error));
end:
    return status;
}

static ggufx_status add_tensors(exercise *e, ggufx_writer *w, const ggufx_file *file) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    const uint64_t ne[2] = {1000, 700};
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .read = make_bytes};
    TRY(a->writer_copy_meta(w, file, &e->error));
    TRY(a->writer_copy_tensors(w, file, &e->error));
    TRY(a->writer_add_tensor(w, a->file_tensor(file, 0), S("again"), &e->error));
    TRY(a->writer_add_stream(w, S("made"), GGUFX_TYPE_I8, 2, ne, &stream, &e->error));
end:
    return status;
}

/* Writes a complete file, or none. */
static ggufx_status write_file(exercise *e, const ggufx_runtime *rt, ggufx_writer *w,
                               const ggufx_write_options *options, uint64_t n_bytes) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *file = NULL;
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    char path[] = "/tmp/ggufx-exercise-XXXXXX"; /* unique, because runs are concurrent */
    const int fd = mkstemp(path);
    MUST(fd >= 0 && close(fd) == 0);
    TRY(a->writer_write(w, path, options, &e->error));
    TRY(a->open(&file, rt, path, NULL, &e->error));
    TRY(a->file_info(&facts, file, &e->error));
    MUST(facts.file_size == n_bytes);
end:
    a->file_destroy(file);
    MUST(unlink(path) == 0);
    return status;
}

/* Adds a key in the reserved header space, then by rewriting the file. */
static ggufx_status edit_file(exercise *e, const ggufx_runtime *rt, ggufx_writer *w) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *file = NULL;
    ggufx_writer *edit = NULL;
    ggufx_edit_options how = {.struct_size = sizeof how};
    ggufx_edit_facts facts = {.struct_size = sizeof facts};
    int32_t found = 1;
    char path[] = "/tmp/ggufx-exercise-XXXXXX";
    const int fd = mkstemp(path);
    how.progress = e->progress;
    MUST(fd >= 0 && close(fd) == 0);
    TRY(a->writer_write(w, path, NULL, &e->error));
    TRY(a->file_recover_edit(&found, rt, path, &e->error));
    MUST(found == 0);
    TRY(a->open(&file, rt, path, NULL, &e->error));
    TRY(a->writer_create(&edit, rt, NULL, &e->error));
    TRY(a->writer_copy_meta(edit, file, &e->error));
    TRY(a->writer_copy_tensors(edit, file, &e->error));
    TRY(a->writer_set_string(edit, S("w.more"), S("more"), &e->error));
    TRY(a->writer_edit_info(&facts, edit, file, &how, &e->error));
    MUST(facts.in_place == 1);
    TRY(a->writer_edit(&facts, edit, file, path, &how, &e->error));
    MUST(facts.in_place == 1 && facts.n_written > 0);
    how.flags = GGUFX_EDIT_REWRITE;
    TRY(a->writer_edit(NULL, edit, file, path, &how, &e->error));
end:
    a->writer_destroy(edit);
    a->file_destroy(file);
    MUST(unlink(path) == 0);
    return status;
}

ggufx_status exercise_write(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_file *file = NULL;
    ggufx_writer *w = NULL;
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_write_options how = {.struct_size = sizeof how};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    how.progress = e->progress;
    options.reserve_bytes = 100;
    TRY(a->open_memory(&file, rt, e->small, e->n_small, NULL, NULL, NULL, &e->error));
    TRY(a->writer_create(&w, rt, &options, &e->error));
    TRY(set_keys(e, w));
    TRY(add_tensors(e, w, file));
    TRY(a->writer_info(&facts, w, &how, &e->error));
    MUST(facts.n_tensors == a->file_tensor_count(file) + 2 && facts.n_parts == 1);
    TRY(write_file(e, rt, w, &how, facts.n_bytes));
    TRY(edit_file(e, rt, w));
    how.max_part_tensors = 2;
    TRY(a->writer_write_stream(w, mix_bytes, e, &how, &e->error));
end:
    a->writer_destroy(w);
    a->file_destroy(file);
    return status;
}
