/* Allocations that fail, for tests of the server: a library to preload. GGUFX_FAIL_MALLOC names a
 * file of three 64-bit numbers, which the test writes at any time:
 *   [0] counts the allocations
 *   [1] the first allocation that fails, counted from 1; 0: none
 *   [2] how many fail from there on
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t *numbers;

__attribute__((constructor)) static void open_numbers(void) {
    const char *path = getenv("GGUFX_FAIL_MALLOC");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *at = mmap(NULL, 24, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at != MAP_FAILED) numbers = at;
}

static int fails(void) {
    if (!numbers) return 0;
    uint64_t n = atomic_fetch_add(&numbers[0], 1) + 1, first = atomic_load(&numbers[1]);
    if (first == 0 || n < first || n - first >= atomic_load(&numbers[2])) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    return fails() ? NULL : __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (!made) return ENOMEM;
    *out = made;
    return 0;
}
