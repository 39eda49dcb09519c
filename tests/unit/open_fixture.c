/* SPDX-License-Identifier: MIT */
#include "open_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[] = "ggufx-open-XXXXXX";
char path[256], odd_path[256];
gb file_bytes;
ggufx_runtime *rt;

int open_setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    gb_everything(&file_bytes, 3, 0);
    snprintf(path, sizeof path, "%s/a.gguf", folder);
    snprintf(odd_path, sizeof odd_path, "%s/\xe6\xa8\xa1\xe5\x9e\x8b-\xc3\xa9.gguf", folder);
    if (gb_write(&file_bytes, path) || gb_write(&file_bytes, odd_path)) return -1;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}

int open_teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    gb_free(&file_bytes);
    remove(path);
    remove(odd_path);
    return rmdir(folder);
}

ggufx_open_options options_of(uint32_t flags, int32_t io) {
    ggufx_open_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.io = io;
    return o;
}

void check_contents(const ggufx_file *f, int with_data) {
    ggufx_error error;
    size_t index = 0;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    const ggufx_tensor *t;
    assert_int_equal(ggufx_file_tensor_count(f), 3);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "vector", 6, &error), GGUFX_OK);
    t = ggufx_file_tensor(f, index);
    assert_int_equal(ggufx_tensor_info(&facts, t, &error), GGUFX_OK);
    assert_int_equal(facts.n_bytes, 32);
    if (with_data) {
        float x[8];
        int i;
        assert_non_null(ggufx_tensor_data(t));
        assert_int_equal(ggufx_dequantize(x, 8, rt, t, 0, 1, &error), GGUFX_OK);
        for (i = 0; i < 8; i++) assert_true(x[i] == (float)i - 2.5f);
    } else {
        assert_null(ggufx_tensor_data(t));
    }
}

void count_one(void *user) {
    ++*(int *)user;
}
