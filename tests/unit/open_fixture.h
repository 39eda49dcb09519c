/*
 * Shared by the tests of opening: a folder with the file of gb_everything under two names, its
 * bytes and a runtime.
 * SPDX-License-Identifier: MIT
 */
#ifndef OPEN_FIXTURE_H
#define OPEN_FIXTURE_H

#include "fault.h"
#include "gguf_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern char folder[], path[256], odd_path[256]; /* the second with characters outside ASCII */
extern gb file_bytes;
extern ggufx_runtime *rt;

/* For the whole group. */
int open_setup(void **state);
int open_teardown(void **state);

ggufx_open_options options_of(uint32_t flags, int32_t io);

/* Checks that the file is that of gb_everything, with its data. */
void check_contents(const ggufx_file *f, int with_data);

/* A destroy callback that adds one to the int at user. */
void count_one(void *user);

#endif
