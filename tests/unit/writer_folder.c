/* SPDX-License-Identifier: MIT */
#include "writer_folder.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char folder[] = "/tmp/ggufx-write-XXXXXX", path[64], part[64];

int folder_setup(void **state) {
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.gguf", folder);
    snprintf(part, sizeof part, "%s/a.gguf.part", folder);
    signal(SIGXFSZ, SIG_IGN);
    return writer_setup(state);
}

int n_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

void clean(void) {
    char name[400];
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        assert_int_equal(remove(name), 0);
    }
    closedir(d);
}

int folder_teardown(void **state) {
    clean();
    writer_teardown(state);
    return rmdir(folder);
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
    ggufx_write_options options;
    ggufx_write_options_init(&options);
    options.max_part_tensors = 1;
    options.progress = progress;
    return options;
}
