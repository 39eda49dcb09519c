/*
 * What the programs that replay a fuzz target have in common: stored inputs, and seeds for a search.
 * SPDX-License-Identifier: MIT
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the members of the archives (ar) that begin the arguments, takes these away; how many. */
long replay_archives(int *argc, char ***argv);

/* Runs the target. An input is written into the folder that GGUFX_FUZZ_SEEDS names besides, for a
 * search to begin with (search.sh): the first 64 MiB of those that are small. */
void replay_input(const uint8_t *data, size_t size);

/* Of so many random changes, which are the same each time, how many run: GGUFX_TEST_STEP (test_step.h)
 * leaves out the rest, of archives and seeds nothing. */
long replay_count(long whole);

#ifdef __cplusplus
}
#endif

#endif
