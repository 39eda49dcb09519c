/* SPDX-License-Identifier: MIT */
#include "edit_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void make_model(uint64_t reserve) {
    static float values[N];
    char text[1500];
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_writer *w = NULL;
    memset(text, 't', sizeof text);
    for (int i = 0; i < N; i++) values[i] = (float)i;
    options.reserve_bytes = reserve;
    OK(ggufx_writer_create(&w, rt, &options, ok_error()));
    OK(ggufx_writer_set_string(w, S("general.name"), S("before"), ok_error()));
    OK(ggufx_writer_set_string(w, S("long"), text, sizeof text, ok_error()));
    for (int i = 0; i < 2; i++) {
        ggufx_tensor *t = wrap(GGUFX_TYPE_F32, 2, 100, N / 100, values, sizeof values);
        OK(ggufx_writer_add_tensor(w, t, i ? "b" : "a", 1, ok_error()));
        ggufx_tensor_destroy(t);
    }
    OK(ggufx_writer_write(w, path, NULL, ok_error()));
    ggufx_writer_destroy(w);
}

ggufx_file *open_model(void) {
    ggufx_file *f = NULL;
    OK(ggufx_open(&f, rt, path, NULL, ok_error()));
    return f;
}

ggufx_writer *copy_of(const ggufx_file *f) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    OK(ggufx_writer_copy_meta(w, f, ok_error()));
    OK(ggufx_writer_copy_tensors(w, f, ok_error()));
    return w;
}

unsigned char *bytes_of(const char *name, size_t *n) {
    FILE *in = fopen(name, "rb");
    unsigned char *bytes = malloc(1 << 20);
    assert_non_null(in);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    return bytes;
}

void put_bytes(const char *name, const void *bytes, size_t n) {
    FILE *out = fopen(name, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

void assert_text(const ggufx_file *f, const char *key, const char *want) {
    size_t index = 0;
    ggufx_text text = {NULL, 0};
    OK(ggufx_file_meta_find(&index, f, key, strlen(key), ok_error()));
    OK(ggufx_file_meta_string(&text, f, index, ok_error()));
    assert_int_equal(text.size, strlen(want));
    assert_memory_equal(text.data, want, text.size);
}

uint64_t reserve_of(const ggufx_file *f) {
    ggufx_meta_facts entry = {.struct_size = sizeof entry};
    size_t index = 0;
    if (ggufx_file_meta_find(&index, f, S("ggufx.reserve"), NULL) != GGUFX_OK) return UINT64_MAX;
    OK(ggufx_file_meta_at(&entry, f, index, ok_error()));
    return entry.count;
}

ggufx_edit_facts rename_model(const char *name, uint32_t flags) {
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_options how = {.struct_size = sizeof how};
    ggufx_edit_facts plan = {.struct_size = sizeof plan}, done = {.struct_size = sizeof done};
    how.flags = flags;
    OK(ggufx_writer_set_string(w, S("general.name"), name, strlen(name), ok_error()));
    OK(ggufx_writer_edit_info(&plan, w, f, &how, ok_error()));
    OK(ggufx_writer_edit(&done, w, f, path, &how, ok_error()));
    assert_int_equal(plan.in_place, done.in_place);
    assert_int_equal(plan.n_bytes, done.n_bytes);
    assert_int_equal(plan.reserve_bytes, done.reserve_bytes);
    assert_int_equal(plan.n_written, 0);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    f = open_model();
    assert_text(f, "general.name", name);
    ggufx_file_destroy(f);
    return done;
}
