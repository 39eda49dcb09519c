/* SPDX-License-Identifier: MIT */
#include "writer_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

const char *folder;
char path[TEMPORARY_PATH], part[TEMPORARY_PATH];

int folder_setup(void **state) {
    if (temporary_make() != 0) return -1;
    folder = temporary_folder();
    temporary_path(path, "a.gguf");
    temporary_path(part, "a.gguf.part");
    signal(SIGXFSZ, SIG_IGN);
    return writer_setup(state);
}

int n_files(void) {
    return temporary_files();
}

void clean(void) {
    temporary_clean();
}

int folder_teardown(void **state) {
    clean();
    writer_teardown(state);
    return temporary_remove();
}

void assert_file(const char *name, const void *want, size_t n) {
    gb got = {0};
    unsigned char piece[4096];
    FILE *f = fopen(name, "rb");
    if (!f) fail_msg("%s is not there", name);
    for (size_t k; (k = fread(piece, 1, sizeof piece, f)) > 0;) gb_bytes(&got, piece, k);
    fclose(f);
    assert_bytes(&got, want, n);
    gb_free(&got);
}

void put_file(const char *name, const char *text) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

ggufx_writer *everything(void) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    OK(fill_everything(w, rt, NULL));
    return w;
}

ggufx_write_options one_by_one(ggufx_progress *progress) {
    ggufx_write_options options = {.struct_size = sizeof options};
    options.max_part_tensors = 1;
    options.progress = progress;
    return options;
}
