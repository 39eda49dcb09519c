/*
 * The CUDA plugin on a fake driver in host memory (fake_cuda.h), with the plugin's GPU kernels
 * emulated. Results have the processor's bits, for early and late copies and any order of threads.
 * Faults injected into kernels are detected, and each failing driver call becomes a status.
 *
 * usage: test_cuda PLUGIN DRIVER
 * GGUFX_TEST_CUDA=all:I/N: all sizes for the I-th of N parts of all types (tests/full.sh)
 * SPDX-License-Identifier: MIT
 */
#include "../unit/ok.h"
#include "../unit/test_step.h"
#include "../unit/weight_calls.h"
#include "cross.h"
#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>

static const char *plugin_path;
static fake_cuda *cuda;
static fake_cuda fresh;
static cross asked;

static ggufx_device_options cuda_options(uint32_t flags) {
    ggufx_device_options options = {.struct_size = sizeof options};
    options.flags = flags;
    options.plugin_path = plugin_path;
    return options;
}

typedef struct host {
    ggufx_runtime *rt;
    ggufx_device *device;
} host;

static host begin(void) {
    host h = {make_runtime(GGUFX_ISA_BEST, 2), NULL};
    const ggufx_device_options options = cuda_options(0);
    ggufx_error error;
    if (ggufx_device_open(&h.device, h.rt, "cuda:0", &options, &error) != GGUFX_OK) {
        fail_msg("open: %s", error.message);
    }
    return h;
}

static void assert_nothing_is_left(void) {
    assert_int_equal(cuda->live_buffers, 0);
    assert_int_equal(cuda->live_streams, 0);
    assert_int_equal(cuda->live_events, 0);
    assert_int_equal(cuda->live_modules, 0);
    assert_int_equal(cuda->live_contexts, 0);
    assert_int_equal(cuda->n_faults, 0);
}

static void end(host *h) {
    ggufx_device_destroy(h->device);
    ggufx_runtime_destroy(h->rt);
    assert_nothing_is_left();
    assert_int_equal(cuda->n_outside, 0);
    *cuda = fresh;
}

static void compare(const host *h, matrix *m, const size_t *n, size_t n_n, uint32_t mode) {
    ggufx_tensor *here = wrap_matrix(h->rt, m), *there = upload(h->device, here);
    for (size_t i = 0; i < n_n; i++) assert_same_product(h->rt, h->device, there, here, n[i], mode);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(m);
}

static const uint32_t first_types[] = {GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q8_0,
                                       GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q5_K, GGUFX_TYPE_Q6_K,
                                       GGUFX_TYPE_F16,  GGUFX_TYPE_F32};
enum { kFirst = sizeof first_types / sizeof first_types[0] };

static void test_a_card_is_described(void **state) {
    (void)state;
    host h = begin();
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, h.device, ok_error()));
    assert_string_equal(facts.id, "cuda:0");
    assert_string_equal(facts.name, "Emulated card");
    assert_string_equal(facts.driver, "CUDA 12.4, compute capability 9.0");
    assert_true(facts.flags & GGUFX_DEVICE_EXACT);
    assert_true(facts.flags & GGUFX_DEVICE_INT_DOT);
    assert_int_equal(facts.fma, GGUFX_FMA_DEVICE);
    assert_int_equal(facts.memory_bytes, 1 << 30);
    end(&h);
}

/* Early and late copies, threads in order and shuffled; few and many rows, one segment and more
 * segments than stages. */
static void test_products_of_a_token_have_the_processors_bits(void **state) {
    (void)state;
    static const size_t columns[] = {1, 2, 3};
    for (int mode = 0; mode < 4; mode++) {
        cuda->copies_late = mode & 1;
        cuda->order = mode & 2 ? 7 : 0;
        host h = begin();
        for (size_t t = 0; t < kFirst; t++) {
            matrix m = quantized_matrix(h.rt, first_types[t], 37, 768, 0);
            compare(&h, &m, columns, 3, 0);
            m = random_matrix(first_types[t], 3, 4096, 0);
            compare(&h, &m, columns, 1, 0);
            m = random_matrix(first_types[t], 100, 256, 0);
            compare(&h, &m, columns, 1, 0);
        }
        assert_true(cuda->n_launches > 0 && cuda->n_blocks > cuda->n_launches / 2);
        end(&h);
    }
}

/* Each type in each product mode, with 1 to 3 columns and more. Random bytes include NaN and
 * infinite scales. */
static void test_every_type_and_way_has_the_processors_bits(void **state) {
    (void)state;
    static const size_t columns[] = {1, 2, 3, 5, 6, 17};
    cuda->copies_late = 1;
    cuda->order = 3;
    host h = begin();
    assert_true(n_multiplied_types >= 28);
    for (size_t t = 0; t < n_multiplied_types; t++)
        for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
            if (test_step() > 1 && (t + mode) % 3 != 0) continue;
            matrix m = mode % 2 ? quantized_matrix(h.rt, multiplied_types[t], 18, 768, 0)
                                : random_matrix(multiplied_types[t], 18, 768, 0);
            compare(&h, &m, columns, 6, product_modes[mode]);
        }
    end(&h);
}

/* Packed columns that do not fit a block's shared memory are read from device memory. */
static void test_columns_of_any_length_have_the_processors_bits(void **state) {
    (void)state;
    static const size_t columns[] = {1, 3};
    cuda->shared_bytes = 48 << 10;
    host h = begin();
    static const uint64_t lengths[] = {28672, 8192, 256};
    for (size_t i = 0; i < 3; i++) {
        matrix m = random_matrix(GGUFX_TYPE_Q4_K, 5, lengths[i], 0);
        compare(&h, &m, columns, 2, 0);
    }
    matrix m = random_matrix(GGUFX_TYPE_F16, 5, 1001, 0); /* not a whole number of blocks */
    compare(&h, &m, columns, 2, 0);
    m = random_matrix(GGUFX_TYPE_F32, 3, 7, 0);
    compare(&h, &m, columns, 2, 0);
    end(&h);
}

/* The sizes of models, if all are requested: late copies, shuffled threads. */
static void test_sizes_of_models_have_the_processors_bits(void **state) {
    (void)state;
    cuda->copies_late = 1;
    cuda->order = 5;
    host h = begin();
    if (asked.all) {
        run_cross(&asked, h.rt, h.device, "emulated");
    } else {
        static const size_t one[] = {1};
        matrix m = random_matrix(GGUFX_TYPE_Q6_K, 37, 28672, 0);
        compare(&h, &m, one, 1, 0);
    }
    end(&h);
}

static void test_experts_have_the_processors_bits(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) {
        cuda->copies_late = late;
        cuda->order = late ? 13 : 0;
        host h = begin();
        for (size_t t = 0; t < n_multiplied_types; t++)
            assert_experts_have_the_bits_of_here(h.rt, h.device, multiplied_types[t],
                                                 product_modes + t % 3 + (late ? 3 : 0), 1);
        end(&h);
    }
}

/* Launches of an MoE product for one token: one packs the column, one multiplies all experts. */
static void test_experts_of_a_token_go_in_one_launch(void **state) {
    (void)state;
    host h = begin();
    mixture m = {16, 37, 256, 1, 8, .w = NULL};
    make_mixture(&m, h.rt, GGUFX_TYPE_MXFP4);
    for (uint32_t i = 0; i < 8; i++) m.ids[i] = 15 - 2 * i;
    ggufx_tensor *there = upload(h.device, m.w);
    const uint64_t before = cuda->n_launches;
    assert_same_mixture(h.rt, h.device, &m, there, 0);
    assert_int_equal(cuda->n_launches - before, 2);
    ggufx_tensor_destroy(there);
    free_mixture(&m);
    end(&h);
}

static void test_slices_have_the_processors_bits(void **state) {
    (void)state;
    host h = begin();
    assert_slices_have_the_bits_of_here(h.rt, h.device);
    end(&h);
}

static void test_empty_lists_are_results(void **state) {
    (void)state;
    host h = begin();
    assert_empty_lists_are_results(h.rt, h.device);
    end(&h);
}

static void test_bytes_and_their_sums_come_back(void **state) {
    (void)state;
    host h = begin();
    matrix m = random_matrix(GGUFX_TYPE_Q6_K, 301, 2048, 0);
    ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
    assert_bytes_come_back(there, &m);
    assert_word_sums(there, &m, 7, 290);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
    end(&h);
}

/* Several matrices in one launch: `first` is not at the first of a block's sixteen rows. */
static void test_many_matrices_go_in_one_launch(void **state) {
    (void)state;
    host h = begin();
    enum { kMany = 5 };
    static const uint64_t rows[kMany] = {3, 40, 1, 16, 29};
    matrix m[kMany];
    ggufx_tensor *here[kMany], *there[kMany];
    float *y[kMany], *want[kMany], *x = random_values(512, 9);
    size_t n_rows[kMany];
    for (size_t i = 0; i < kMany; i++) {
        m[i] = random_matrix(GGUFX_TYPE_Q5_K, rows[i], 512, 0);
        here[i] = wrap_matrix(h.rt, &m[i]);
        there[i] = upload(h.device, here[i]);
        y[i] = malloc(rows[i] * sizeof(float));
        want[i] = malloc(rows[i] * sizeof(float));
        n_rows[i] = (size_t)rows[i];
        OK(ggufx_matvec(want[i], n_rows[i], h.rt, here[i], x, 512, NULL, ok_error()));
    }
    const uint64_t before = cuda->n_launches;
    const ggufx_tensor *const list[kMany] = {there[0], there[1], there[2], there[3], there[4]};
    OK(matvec_many(y, n_rows, h.rt, list, kMany, x, 512, NULL, ok_error()));
    assert_int_equal(cuda->n_launches - before, 2); /* packing, and all products */
    for (size_t i = 0; i < kMany; i++) {
        assert_equal_bits(y[i], want[i], n_rows[i]);
        free(y[i]);
        free(want[i]);
        ggufx_tensor_destroy(there[i]);
        ggufx_tensor_destroy(here[i]);
        free_matrix(&m[i]);
    }
    free(x);
    end(&h);
}

/* Returns the number of driver calls `name` during products of three row lengths, three times
 * each. */
static uint64_t n_asked(const host *h, const char *name) {
    static const uint64_t lengths[3] = {256, 768, 2048};
    static const size_t columns[2] = {1, 3};
    cuda->n_calls = 0;
    cuda->fail_name = name;
    cuda->fail_at = 0;
    for (size_t i = 0; i < 9; i++) {
        matrix m = random_matrix(GGUFX_TYPE_Q4_K, 20, lengths[i % 3], 0);
        compare(h, &m, columns, 2, 0);
    }
    cuda->fail_name = NULL;
    return cuda->n_calls;
}

/* Functions are looked up and occupancy is queried on first use: later launches need no other
 * driver call. */
static void test_the_driver_is_asked_about_a_kernel_once(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t first; /* packing and two kernels; each of those with three lengths */
    } asked_for[] = {{"cuModuleGetFunction", 3},
                     {"cuFuncSetAttribute", 0}, /* called before */
                     {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 0},
                     {"cuModuleLoadData", 0}};
    host h = begin();
    for (size_t i = 0; i < sizeof asked_for / sizeof asked_for[0]; i++)
        assert_int_equal(n_asked(&h, asked_for[i].name), asked_for[i].first);
    end(&h);
    h = begin();
    assert_int_equal(n_asked(&h, "cuOccupancyMaxActiveBlocksPerMultiprocessor"), 6);
    assert_true(cuda->n_launches >= 36);
    /* Evicted row lengths are queried again, and results stay right. */
    for (uint64_t k = 256; k <= 20 * 256; k += 256) {
        matrix m = random_matrix(GGUFX_TYPE_Q4_K, 5, k, 0);
        static const size_t one[] = {1};
        compare(&h, &m, one, 1, 0);
    }
    end(&h);
}

/* Returns whether a fault changes results in any of four ways to run. */
static int is_found(const ggufx_runtime *rt, const ggufx_tensor *there, const float *x,
                    const float *want, float *y) {
    int found = 0;
    for (int mode = 0; mode < 4; mode++) {
        cuda->copies_late = mode & 1;
        cuda->order = mode & 2 ? 11 : 0;
        cuda->n_outside = 0;
        OK(ggufx_matvec(y, 100, rt, there, x, 4096, NULL, ok_error()));
        found |= memcmp(y, want, 100 * sizeof *y) != 0 || cuda->n_outside > 0;
    }
    return found;
}

static void test_faults_in_kernels_are_found(void **state) {
    (void)state;
    static const char *const names[] = {"none",
                                        "a wait too short",
                                        "no barrier before a segment is used",
                                        "no barrier behind it",
                                        "no barrier behind the columns",
                                        "a slot too small"};
    host h = begin();
    float *x = random_values(4096, 3), want[100], y[100];
    for (size_t t = 0; t < kFirst; t++) {
        matrix m = quantized_matrix(h.rt, first_types[t], 100, 4096, 0);
        ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
        OK(ggufx_matvec(want, 100, h.rt, here, x, 4096, NULL, ok_error()));
        const int is_float = t >= 6;
        for (int fault = 0; fault < 6; fault++) {
            if (is_float && fault == 4) continue; /* float types have no packed columns */
            cuda->wait_less = fault == 1;
            cuda->no_half = fault == 2 ? 1 : fault == 3 ? 2 : 0;
            cuda->no_block = fault == 4;
            /* 48 bytes are more than the slack of 16-byte alignment. */
            cuda->slot_less = fault == 5 ? 48 : 0;
            if (is_found(h.rt, there, x, want, y) != (fault > 0))
                fail_msg("type %u: %s", first_types[t], names[fault]);
        }
        cuda->slot_less = 0;
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
    }
    free(x);
    cuda->n_outside = 0;
    end(&h);
}

/* Makes all calls of a host; returns the first failure. */
static ggufx_status use_card(const ggufx_runtime *rt, const ggufx_tensor *w, const float *x,
                             float *y, ggufx_error *error) {
    const ggufx_device_options options = cuda_options(0);
    ggufx_device *device = NULL;
    ggufx_tensor *there = NULL;
    uint32_t sum = 0;
    ggufx_status status = ggufx_device_open(&device, rt, "cuda:0", &options, error);
    if (status == GGUFX_OK) status = ggufx_tensor_upload(&there, device, w, NULL, error);
    if (status == GGUFX_OK) status = ggufx_matvec(y, 20, rt, there, x, 256, NULL, error);
    if (status == GGUFX_OK) status = ggufx_tensor_checksum(&sum, there, error);
    ggufx_tensor_destroy(there);
    ggufx_device_destroy(device);
    return status;
}

static void test_every_call_of_the_driver_that_fails_is_a_status(void **state) {
    (void)state;
    static const char *const names[] = {"cuDriverGetVersion",
                                        "cuDeviceGetCount",
                                        "cuDeviceGet",
                                        "cuDeviceGetName",
                                        "cuDeviceGetAttribute",
                                        "cuDeviceTotalMem_v2",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxPushCurrent_v2",
                                        "cuMemAlloc_v2",
                                        "cuMemAllocHost_v2",
                                        "cuMemcpyAsync",
                                        "cuStreamCreate",
                                        "cuEventCreate",
                                        "cuEventRecord",
                                        "cuEventQuery",
                                        "cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuFuncSetAttribute",
                                        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                        "cuLaunchKernel"};
    static const int results[] = {2, 700, 999, 218};
    static const ggufx_status statuses[] = {GGUFX_E_MEMORY, GGUFX_E_DEVICE, GGUFX_E_DEVICE,
                                            GGUFX_E_UNSUPPORTED};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    matrix m = random_matrix(GGUFX_TYPE_Q4_K, 20, 256, 0);
    ggufx_tensor *w = wrap_matrix(rt, &m);
    float *x = random_values(256, 1), *want = product(rt, &m, x, 1, 0), y[20];
    for (size_t name = 0; name < sizeof names / sizeof names[0]; name++) {
        size_t n_failed = 0;
        const size_t first = test_step() > 1 ? name % 4 : 0, n = test_step() > 1 ? 1 : 4;
        for (size_t r = first; r < first + n; r++) {
            ggufx_status status = GGUFX_E_INTERNAL;
            for (uint64_t at = 1; status != GGUFX_OK; at++) {
                ggufx_error error = {0};
                *cuda = fresh;
                cuda->fail_name = names[name];
                cuda->fail_result = results[r];
                cuda->fail_at = at;
                status = use_card(rt, w, x, y, &error);
                assert_nothing_is_left();
                if (status == GGUFX_OK) {
                    assert_equal_bits(y, want, 20);
                    /* Failures of cleanup calls are ignored. */
                    if (cuda->n_calls < at) break;
                    status = GGUFX_E_INTERNAL;
                    continue;
                }
                n_failed++;
                const int listed = name < 6; /* a device list reports it as a reason */
                if (!listed) assert_int_equal(status, statuses[r]);
                if (!listed) assert_int_equal(error.system_error, results[r]);
                assert_true(strlen(error.message) > 10);
                assert_true(at < 500);
            }
        }
        if (n_failed < n) fail_msg("%s never failed", names[name]);
    }
    *cuda = fresh;
    free(x);
    free(want);
    ggufx_tensor_destroy(w);
    free_matrix(&m);
    ggufx_runtime_destroy(rt);
}

static void assert_unusable(const char *id, const char *text) {
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_device_options options = cuda_options(0);
    ggufx_device *device = NULL;
    ggufx_error error = {0};
    assert_int_equal(ggufx_device_open(&device, rt, id, &options, &error), GGUFX_E_UNSUPPORTED);
    assert_null(device);
    if (!strstr(error.message, text)) fail_msg("\"%s\" is not in: %s", text, error.message);
    ggufx_runtime_destroy(rt);
    assert_nothing_is_left();
    *cuda = fresh;
}

static void test_cards_that_cannot_be_used_say_why(void **state) {
    (void)state;
    cuda->major = 7;
    assert_unusable("cuda:0", "compute capability 7.0, kernels need 8.0");
    cuda->n_devices = 0;
    assert_unusable("auto", "knows no device");
    cuda->fail_name = "cuDeviceGetCount";
    cuda->fail_at = 1;
    cuda->fail_result = 100;
    assert_unusable("auto", "knows no device");
    assert_unusable("cuda:1", "no device \"cuda:1\"");
}

static void test_memory_that_ends_is_reported_and_nothing_is_lost(void **state) {
    (void)state;
    host h = begin();
    const uint64_t ne[2] = {1 << 18, 1 << 18};
    ggufx_tensor *here = NULL, *there = NULL;
    ggufx_error error;
    static uint8_t byte;
    OK(tensor_of(&here, h.rt, GGUFX_TYPE_F32, 2, ne, 0, &byte, (uint64_t)1 << 38, "w", NULL, NULL,
                 ok_error()));
    assert_int_equal(ggufx_tensor_upload(&there, h.device, here, NULL, &error), GGUFX_E_MEMORY);
    assert_null(there);
    assert_non_null(strstr(error.message, "are free"));
    ggufx_tensor_destroy(here);
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, 5, 256, 0);
    static const size_t one[] = {1};
    compare(&h, &m, one, 1, 0);
    end(&h);
}

int main(int argc, char **argv) {
    plugin_path = argc > 1 ? argv[1] : "";
    asked = asked_cross("GGUFX_TEST_CUDA");
    /* The plugin opens libcuda.so.1 by name and finds this library, which is already loaded. */
    void *library = dlopen(argc > 2 ? argv[2] : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *entry = dlsym(library, "fake_cuda_control");
    fake_cuda_fn control;
    memcpy(&control, &entry, sizeof control);
    cuda = control();
    fresh = *cuda;
    list_multiplied_types();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_card_is_described),
        cmocka_unit_test(test_products_of_a_token_have_the_processors_bits),
        cmocka_unit_test(test_every_type_and_way_has_the_processors_bits),
        cmocka_unit_test(test_columns_of_any_length_have_the_processors_bits),
        cmocka_unit_test(test_sizes_of_models_have_the_processors_bits),
        cmocka_unit_test(test_experts_have_the_processors_bits),
        cmocka_unit_test(test_experts_of_a_token_go_in_one_launch),
        cmocka_unit_test(test_slices_have_the_processors_bits),
        cmocka_unit_test(test_empty_lists_are_results),
        cmocka_unit_test(test_bytes_and_their_sums_come_back),
        cmocka_unit_test(test_many_matrices_go_in_one_launch),
        cmocka_unit_test(test_the_driver_is_asked_about_a_kernel_once),
        cmocka_unit_test(test_faults_in_kernels_are_found),
        cmocka_unit_test(test_every_call_of_the_driver_that_fails_is_a_status),
        cmocka_unit_test(test_cards_that_cannot_be_used_say_why),
        cmocka_unit_test(test_memory_that_ends_is_reported_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
