/* SPDX-License-Identifier: MIT */
#include "temporary.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[TEMPORARY_PATH - 20];

int temporary_make(void) {
    const char *where = getenv("TMPDIR");
    if (!where || strlen(where) > sizeof folder - 20) where = "/tmp";
    snprintf(folder, sizeof folder, "%s/ggufx-unit-XXXXXX", where);
    return mkdtemp(folder) ? 0 : -1;
}

const char *temporary_folder(void) {
    return folder;
}

static void leave(void) {
    temporary_clean();
    temporary_remove();
}

void temporary_path(char out[TEMPORARY_PATH], const char *name) {
    if (!folder[0]) {
        if (temporary_make() != 0) {
            perror("a temporary folder");
            exit(1);
        }
        atexit(leave);
    }
    snprintf(out, TEMPORARY_PATH, "%s/%s", folder, name);
}

/* Counts the files, and removes them if `gone` is set. */
static int visit(int gone) {
    int n = 0;
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d));) {
        char name[TEMPORARY_PATH + sizeof e->d_name];
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        n++;
        if (gone && remove(name) != 0) perror(name);
    }
    closedir(d);
    return n;
}

int temporary_files(void) {
    return visit(0);
}

void temporary_clean(void) {
    visit(1);
}

int temporary_remove(void) {
    return rmdir(folder);
}
