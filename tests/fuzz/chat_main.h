/*
 * Seeds of a fuzz target for text, mutated and mixed by chat_main.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAT_MAIN_H
#define CHAT_MAIN_H

#include "replay.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const chat_seeds[]; /* ends with NULL */
extern const char chat_seed_end[];     /* appended to each seed */
extern const size_t chat_seed_end_length;

#ifdef __cplusplus
}
#endif

#endif
