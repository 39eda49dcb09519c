/*
 * A folder for written files, which must be empty at the end.
 * SPDX-License-Identifier: MIT
 */
#ifndef WRITER_FOLDER_H
#define WRITER_FOLDER_H

#include "temporary.h"
#include "writer_fixture.h"

extern const char *folder;
extern char path[TEMPORARY_PATH], part[TEMPORARY_PATH]; /* folder/a.gguf and its temporary file */

/* For the whole group. */
int folder_setup(void **state);
int folder_teardown(void **state);

int n_files(void); /* in the folder */
void clean(void);  /* removes all files */
void assert_file(const char *name, const void *want, size_t n);
void put_file(const char *name, const char *text);

ggufx_writer *everything(void);
/* Options for a part per tensor; progress may be NULL. */
ggufx_write_options one_by_one(ggufx_progress *progress);

#endif
