/* SPDX-License-Identifier: MIT */
#include "cost.h"

#include <stdlib.h>
#include <time.h>

/* Returns the seconds of `n` runs, each on its own prepared work. */
static double seconds_of(const cost_case *c, size_t size, int n) {
    void *work[4];
    for (int i = 0; i < n; i++) work[i] = c->prepare(size);
    const clock_t start = clock();
    for (int i = 0; i < n; i++) c->run(work[i]);
    const clock_t end = clock();
    for (int i = 0; i < n; i++) c->finish(work[i]);
    return (double)(end - start) / CLOCKS_PER_SEC;
}

/* A linear control with a similar cache footprint: cache lines in random order, as many as `size`
 * items of a case touch. Each address depends on the previous load, like a hash slot that leads to
 * an entry and the entry to its name. */
typedef struct lines {
    size_t n;
    uint64_t *data; /* 8 numbers a line */
} lines;

static void *control_prepare(size_t bytes) {
    lines *w = malloc(sizeof *w);
    w->n = bytes / 64;
    w->data = calloc(w->n, 64);
    return w;
}

static void control_run(void *work) {
    lines *w = work;
    uint64_t zero = 0; /* value of all lines, unknown to the compiler */
    for (size_t i = 0; i < w->n; i++) {
        uint64_t *line = w->data + 8 * (scrambled(i + zero) % w->n);
        zero = line[0];
        line[1]++;
    }
}

static void control_finish(void *work) {
    lines *w = work;
    free(w->data);
    free(w);
}

/* The smaller size runs four times, each on its own memory. Both sizes then touch the same amount
 * of memory for the first time. */
static double ratio_of(const cost_case *c) {
    const double s = seconds_of(c, c->size, 4) / 4, l = seconds_of(c, 4 * c->size, 1);
    print_message("%s: %.2f ms at %zu, %.2f ms at 4 times that: %.2f\n", c->name, 1e3 * s, c->size,
                  1e3 * l, l / s);
    return l / s;
}

/* The memory that one of `size` items touches is only an estimate (a hash slot, a line of its name,
 * a descriptor). Caches have an effect at the footprint that fits once and not four times. The
 * control therefore runs at several footprints, and the largest ratio counts. */
static double control_ratio(const cost_case *c) {
    static const size_t shares[] = {16, 8, 4, 1};
    const size_t bytes_each = c->bytes_each ? c->bytes_each : 256;
    double largest = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const cost_case control = {.name = "control",
                                   .size = c->size * bytes_each / shares[i],
                                   .prepare = control_prepare,
                                   .run = control_run,
                                   .finish = control_finish};
        const double ratio = ratio_of(&control);
        if (ratio > largest) largest = ratio;
    }
    return largest;
}

/* Rounds are repeated until one is linear: the effect of caches and other programs differs from
 * round to round, but quadratic cost shows in each. If only the smaller size fits the caches,
 * linear work takes more than four times as long. The limit is the control's ratio, at most ten;
 * quadratic cost gives sixteen at these sizes. */
void assert_cost_is_linear(const cost_case *c) {
    for (int round = 0; round < 8; round++) {
        const double ratio = ratio_of(c);
        if (ratio <= 4.6) return;
        const double of_control = control_ratio(c) * 1.15;
        if (ratio <= (of_control < 10.0 ? of_control : 10.0)) return;
    }
    fail_msg("%s: the cost is not linear", c->name);
}

static void test_the_cost_is_linear(void **state) {
    assert_cost_is_linear(*state);
}

int run_cost_cases(const cost_case *cases, size_t n) {
    struct CMUnitTest tests[16] = {0}; /* unnamed ones are unused */
    for (size_t i = 0; i < n && i < 16; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_the_cost_is_linear,
                                       .initial_state = (void *)&cases[i]};
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}

uint64_t scrambled(uint64_t i) {
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return i ^ (i >> 31);
}

ggufx_file *open_copy(gb *b) {
    ggufx_open_options options = {.struct_size = sizeof options};
    ggufx_file *file = NULL;
    ggufx_error error;
    options.flags = GGUFX_OPEN_COPY;
    if (ggufx_open_memory(&file, rt, b->data, b->n, NULL, NULL, &options, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    gb_free(b);
    return file;
}
