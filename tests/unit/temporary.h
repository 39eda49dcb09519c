/*
 * A folder of one test program for its files, in $TMPDIR or /tmp.
 * SPDX-License-Identifier: MIT
 */
#ifndef TEMPORARY_H
#define TEMPORARY_H

enum { TEMPORARY_PATH = 64 }; /* of short names */

/* Makes the folder; -1 where it cannot be made. */
int temporary_make(void);
/* The folder's path, and that of a file in it: of a folder that is made now, and goes at the end, where
 * the program has not made one. */
const char *temporary_folder(void);
void temporary_path(char out[TEMPORARY_PATH], const char *name);
/* Files in it; removes them all; removes the folder, which must be empty: 0 or -1. */
int temporary_files(void);
void temporary_clean(void);
int temporary_remove(void);

#endif
