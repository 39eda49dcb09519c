/*
 * A thread that its host cancels (pthread_cancel) within a call: the call ends as ever, then the
 * thread ends. Without that, unwinding through the library ends the process.
 * SPDX-License-Identifier: MIT
 */
#include "edit_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct job {
    void (*run)(void);
    int returned, state;
} job;

static ggufx_file *input;
static ggufx_runtime *own;

static void open_and_destroy(void) {
    ggufx_file *f = NULL;
    OK(ggufx_open(&f, rt, path, NULL, ok_error()));
    ggufx_file_destroy(f);
}
static void write_again(void) {
    ggufx_writer *w = copy_of(input);
    OK(ggufx_writer_write(w, path, NULL, ok_error()));
    ggufx_writer_destroy(w);
}
static void edit_in_place(void) {
    rename_model("another name", 0);
}
static void fail_to_open(void) {
    ggufx_file *f = NULL;
    assert_int_equal(ggufx_open(&f, rt, "/nothing", NULL, NULL), GGUFX_E_NOT_FOUND);
}
/* The pool's threads are started by the first large call, and joined by the destruction. */
static void use_a_pool(void) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.threads = 4;
    OK(ggufx_runtime_create(&own, &options, ok_error()));
    static float large[512 * 4096], x[4096], y[512];
    ggufx_tensor *t = NULL;
    const uint64_t ne[2] = {4096, 512};
    OK(tensor_of(&t, own, GGUFX_TYPE_F32, 2, ne, 0, large, sizeof large, NULL, NULL, NULL,
                 ok_error()));
    for (int i = 0; i < 8; i++) OK(ggufx_matvec(y, 512, own, t, x, 4096, NULL, ok_error()));
    ggufx_tensor_destroy(t);
    ggufx_runtime_destroy(own);
}
static int32_t sleep_a_bit(void *user, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    struct timespec t = {0, 1000};
    nanosleep(&t, NULL); /* a cancellation point in a hook */
    return 0;
}
static void run_hooks(void) {
    ggufx_file *f = NULL;
    ggufx_open_options options = {.struct_size = sizeof options};
    ggufx_progress progress = {sleep_a_bit, NULL};
    options.progress = &progress;
    OK(ggufx_open(&f, rt, path, &options, ok_error()));
    ggufx_file_destroy(f);
}

static void *run_cancelled(void *p) {
    job *j = p;
    pthread_cancel(pthread_self()); /* takes effect at the next cancellation point */
    j->run();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &j->state);
    j->returned = 1;
    pthread_testcancel();
    return NULL;
}

static void test_a_cancelled_thread_ends_after_its_call(void **state) {
    static void (*const runs[])(void) = {open_and_destroy, write_again, edit_in_place,
                                         fail_to_open,     use_a_pool,  run_hooks};
    (void)state;
    make_model(8192);
    input = open_model();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        job j = {runs[i], 0, -1};
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, run_cancelled, &j), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        if (!j.returned) fail_msg("call %zu did not return", i);
        assert_int_equal(j.state, PTHREAD_CANCEL_ENABLE); /* restored */
        assert_ptr_equal(result, PTHREAD_CANCELED);
    }
    ggufx_file_destroy(input);
    clean();
}

/* A thread that the host has made immune stays so. */
static void test_the_state_of_the_caller_is_restored(void **state) {
    int before = -1, after = -1;
    (void)state;
    make_model(8192);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    open_and_destroy();
    pthread_setcancelstate(before, &after);
    assert_int_equal(after, PTHREAD_CANCEL_DISABLE);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cancelled_thread_ends_after_its_call),
        cmocka_unit_test(test_the_state_of_the_caller_is_restored),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
