/*
 * A temporary folder for the files of a test program, in $TMPDIR or /tmp.
 * SPDX-License-Identifier: MIT
 */
#ifndef TEMPORARY_H
#define TEMPORARY_H

enum { TEMPORARY_PATH = 64 }; /* for short names */

/* Creates the folder; returns -1 on failure. */
int temporary_make(void);
/* Return the folder's path, and that of a file in it. If the program has not created a folder, one
 * is created now and removed at exit. */
const char *temporary_folder(void);
void temporary_path(char out[TEMPORARY_PATH], const char *name);
/* temporary_files returns the number of files, temporary_clean removes them. temporary_remove
 * removes the folder, which must be empty, and returns 0 or -1. */
int temporary_files(void);
void temporary_clean(void);
int temporary_remove(void);

#endif
