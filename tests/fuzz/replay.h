/*
 * Shared by the programs that replay a fuzz target: stored inputs, and seeds for fuzzing.
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

/* Runs the members of the leading archive arguments (ar) and removes these arguments. Returns the
 * number of inputs. */
long replay_archives(int *argc, char ***argv);

/* Runs the target. Also writes the input into the folder GGUFX_FUZZ_SEEDS, as a seed for search.sh:
 * the first 64 MiB of small inputs. */
void replay_input(const uint8_t *data, size_t size);

/* Returns how many of `whole` random changes to run; the changes are the same each time.
 * GGUFX_TEST_STEP (test_step.h) skips some of them, but no archives or seeds. */
long replay_count(long whole);

/* Runs the input in each named file, or [number of inputs [first number]] of `run`, by default
 * replay_count(whole). Returns the number of inputs from `run`, or -1 after files. */
long replay_numbers(int argc, char **argv, long whole, void (*run)(long number));

#ifdef __cplusplus
}
#endif

#endif
