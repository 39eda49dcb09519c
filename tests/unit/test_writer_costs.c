/*
 * Cost of a writer with many keys and tensors, with names in no order.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct job {
    size_t n;
    ggufx_file *file;
    ggufx_writer *writer;
} job;

static const char *name_of(char *out, size_t n, size_t i) {
    snprintf(out, n, "%016llx", (unsigned long long)scrambled(i));
    return out;
}

static void *with_file(size_t n, size_t n_keys, size_t n_tensors) {
    job *w = calloc(1, sizeof *w);
    const uint64_t ne[] = {1};
    char name[32];
    gb b;
    gb_begin(&b, 3, 0);
    for (size_t i = 0; i < n_keys; i++) gb_key_u32(&b, name_of(name, sizeof name, i), (uint32_t)i);
    for (size_t i = 0; i < n_tensors; i++)
        gb_tensor(&b, name_of(name, sizeof name, i), GGUFX_TYPE_F32, 1, ne, 4);
    gb_data(&b);
    for (size_t i = 0; i < n_tensors; i++) gb_tensor_data(&b, "\0\0\0", 4);
    w->n = n;
    w->file = open_copy(&b);
    w->writer = new_writer(rt, 0, 0);
    return w;
}

static void *with_keys(size_t n) {
    return with_file(n, n, 0);
}

static void *with_tensors(size_t n) {
    return with_file(n, 0, n);
}

static void *with_copied_keys(size_t n) {
    job *w = with_file(n, n, 0);
    OK(ggufx_writer_copy_meta(w->writer, w->file, ok_error()));
    return w;
}

static void *with_nothing(size_t n) {
    return with_file(n, 0, 0);
}

static void copy_meta(void *work) {
    job *w = work;
    OK(ggufx_writer_copy_meta(w->writer, w->file, ok_error()));
}

static void copy_tensors(void *work) {
    job *w = work;
    OK(ggufx_writer_copy_tensors(w->writer, w->file, ok_error()));
}

static void set_keys(void *work) {
    job *w = work;
    char name[32];
    for (size_t i = 0; i < w->n; i++)
        OK(ggufx_writer_set_bool(w->writer, name_of(name, sizeof name, i), 16, 1, ok_error()));
}

static void rename_and_unset_keys(void *work) {
    job *w = work;
    char name[32], other[32];
    for (size_t i = 0; i < w->n; i++) {
        name_of(name, sizeof name, i);
        name_of(other, sizeof other, i + w->n);
        OK(ggufx_writer_rename(w->writer, name, 16, other, 16, ok_error()));
        OK(ggufx_writer_unset(w->writer, other, 16, ok_error()));
    }
}

static void *with_copied_tensors(size_t n) {
    job *w = with_tensors(n);
    OK(ggufx_writer_copy_tensors(w->writer, w->file, ok_error()));
    return w;
}

static ggufx_status take(void *user, uint32_t part, const void *data, size_t n) {
    (void)user, (void)part, (void)data, (void)n;
    return GGUFX_OK;
}

static void write_set(void *work) {
    job *w = work;
    ggufx_write_options options = {.struct_size = sizeof options};
    options.max_part_tensors = 10;
    OK(ggufx_writer_write_stream(w->writer, take, NULL, &options, ok_error()));
}

static void finish(void *work) {
    job *w = work;
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_writer_info(&facts, w->writer, NULL, ok_error()));
    ggufx_writer_destroy(w->writer);
    ggufx_file_destroy(w->file);
    free(w);
}

int main(void) {
    static const cost_case cases[] = {
        {"copy_meta", 200000, with_keys, copy_meta, finish, 0},
        {"copy_meta again", 200000, with_copied_keys, copy_meta, finish, 0},
        {"copy_tensors", 200000, with_tensors, copy_tensors, finish, 0},
        {"set_bool", 200000, with_nothing, set_keys, finish, 0},
        {"write of a set", 10000, with_copied_tensors, write_set, finish, 0},
        {"rename, unset", 200000, with_copied_keys, rename_and_unset_keys, finish, 0},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
