/*
 * Calls every function that takes a struct with a size that was never set or comes from a newer
 * header. Also passes unknown flags and nonzero reserved fields. All are refused, and
 * no byte after a struct is written.
 * usage: struct_sizes MODEL
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that no struct has; uninitialized stack memory is rarely a small number. */
static const uint32_t odd_sizes[] = {0, 4, 7, 4097, 5000, 0x5a5a5a5a, 0x80000000, 0xffffffff};
enum { n_odd_sizes = sizeof odd_sizes / sizeof *odd_sizes, kOddBytes = 8192 };

static uint64_t odd_memory[kOddBytes / sizeof(uint64_t)];
static ggufx_error odd_error;
static long n_refused;

/* A struct followed by foreign memory; initialized from `from`, or filled with 0x5a. */
static void *prepare_odd(const void *from, size_t n) {
    memset(odd_memory, 0x5a, sizeof odd_memory);
    if (from) memcpy(odd_memory, from, n);
    memset(&odd_error, 0, sizeof odd_error);
    return odd_memory;
}

static void refused_with(ggufx_status expected, const char *function, const char *name,
                         const char *text, ggufx_status status) {
    n_refused++;
    if (status == expected && odd_error.status == status && strstr(odd_error.message, name) &&
        strstr(odd_error.message, text))
        return;
    fprintf(stderr, "%s: %s, %s: %s: \"%s\"\n", function, name, text, ggufx_status_name(status),
            odd_error.message);
    exit(1);
}
static void refused(const char *function, const char *name, const char *text, ggufx_status status) {
    refused_with(GGUFX_E_ARGUMENT, function, name, text, status);
}

/* Checks that bytes first .. end - 1 of the struct's memory are all `value`. */
static void all_are(const char *function, size_t first, size_t end, uint8_t value) {
    const uint8_t *bytes = (const uint8_t *)odd_memory;
    for (size_t i = first; i < end; i++) {
        if (bytes[i] == value) continue;
        fprintf(stderr, "%s: byte %zu is %u\n", function, i, bytes[i]);
        exit(1);
    }
}
static void unwritten(const char *function, uint32_t size) {
    MUST(memcmp(odd_memory, &size, sizeof size) == 0);
    all_are(function, sizeof size, sizeof odd_memory, 0x5a);
}
static void zeroed(const char *function, size_t known, size_t more) {
    all_are(function, known, known + more, 0);
    all_are(function, known + more, sizeof odd_memory, 0x5a);
}

#include "struct_sizes.h"

int main(int argc, char **argv) {
    ggufx_functions api = API_DIRECT;
    exercise e;
    if (argc != 2) return 1;
    wrap_all(&api);
    exercise_init(&e, &api, argv[1]);
    const ggufx_status status = exercise_run(&e);
    if (status != GGUFX_OK) {
        fprintf(stderr, "%s: %s: %s\n", e.where, ggufx_status_name(status), e.error.message);
        return 1;
    }
    printf("%d functions, %ld structs refused\n", (int)n_wrapped, n_refused);
    return 0;
}
