/*
 * An engine's VkDevice as a device: the processor's bits, the engine's own concurrent work, and
 * every order of destruction.
 *
 * usage: test_vulkan_adopt PLUGIN [layers]      layers: some of the orders
 * SPDX-License-Identifier: MIT
 */
#include "../unit/ok.h"
#include "../unit/test_step.h"
#include "device_fixture.h"
#include "engine.h"
#include "vulkan_calls.h"

#include <stdatomic.h>
#include <stdio.h>

static unsigned order_step = 1;

static ggufx_device *adopt(const ggufx_runtime *rt, const ggufx_vulkan_options *handles,
                           uint32_t flags) {
    const ggufx_device_options options = vulkan_options(flags);
    ggufx_device *device = NULL;
    ggufx_error error;
    if (ggufx_device_create_vulkan(&device, rt, handles, &options, &error) != GGUFX_OK) {
        fail_msg("adopt: %s", error.message);
    }
    return device;
}

/* With all features that the engine can enable, and with none of them. */
static void test_an_engines_device_has_the_processors_bits(void **state) {
    (void)state;
    static const uint32_t wanted[] = {GGUFX_VULKAN_FLOAT64 | GGUFX_VULKAN_INT_DOT |
                                          GGUFX_VULKAN_MEMORY_BUDGET,
                                      0, GGUFX_VULKAN_FLOAT64, GGUFX_VULKAN_INT_DOT};
    static const uint32_t types[] = {GGUFX_TYPE_Q4_K, GGUFX_TYPE_IQ2_XS, GGUFX_TYPE_F16};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        engine e;
        assert_true(engine_begin(&e, wanted[i]));
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
        const ggufx_vulkan_options handles = engine_handles(&e, (int)(i % 2));
        ggufx_device *device = adopt(rt, &handles, 0);
        const ggufx_device_facts facts = facts_of(device);
        assert_string_equal(facts.id, "vulkan");
        assert_true(facts.flags & GGUFX_DEVICE_EXACT);
        assert_int_equal((facts.flags & GGUFX_DEVICE_INT_DOT) != 0,
                         (e.flags & GGUFX_VULKAN_INT_DOT) != 0);
        if (!(e.flags & GGUFX_VULKAN_FLOAT64)) assert_int_not_equal(facts.fma, GGUFX_FMA_F64);
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            matrix m = random_matrix(types[t], 37, 512, 0);
            ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
            assert_same_product(rt, device, there, here, 2, 0);
            engine_frame(&e);
            assert_same_product(rt, device, there, here, 5, 0);
            ggufx_tensor_destroy(there);
            ggufx_tensor_destroy(here);
            free_matrix(&m);
        }
        if (i % 2) assert_true(e.n_locks > e.n_frames); /* products took the lock, too */
        assert_false(e.misuse);
        ggufx_device_destroy(device);
        ggufx_runtime_destroy(rt);
        engine_end_device(&e);
        engine_end_instance(&e);
    }
}

typedef struct frames {
    engine *e;
    atomic_int end;
} frames;

static void *run_frames(void *context) {
    frames *f = context;
    while (!atomic_load(&f->end)) engine_frame(f->e);
    return NULL;
}

static void test_an_engine_goes_on_with_its_frames(void **state) {
    (void)state;
    engine e;
    assert_true(engine_begin(&e, GGUFX_VULKAN_FLOAT64));
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_vulkan_options handles = engine_handles(&e, 1);
    ggufx_device *device = adopt(rt, &handles, 0);
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, 200, 256, 0);
    ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
    frames f = {.e = &e};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_frames, &f), 0);
    for (int i = 0; i < 20; i++) assert_same_product(rt, device, there, here, 1 + (size_t)i % 5, 0);
    atomic_store(&f.end, 1);
    pthread_join(thread, NULL);
    assert_true(e.n_frames > 0);
    assert_false(e.misuse);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    ggufx_device_destroy(device);
    ggufx_runtime_destroy(rt);
    free_matrix(&m);
    engine_end_device(&e);
    engine_end_instance(&e);
}

/* Objects to destroy. If the engine's device goes before other objects, the device is detached
 * first. */
enum { DEVICE, TENSOR, SLICE, RUNTIME, ENGINE, N_THINGS };

static void test_both_are_taken_down_in_any_order(void **state) {
    (void)state;
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 9, 256, 0);
    for (unsigned order = 0; order < 120; order += order_step) {
        engine e;
        assert_true(engine_begin(&e, 0));
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
        const ggufx_vulkan_options handles = engine_handles(&e, 1);
        ggufx_device *device = adopt(rt, &handles, 0);
        ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here), *slice = NULL;
        OK(ggufx_tensor_slice(&slice, there, 1, 2, 5, ok_error()));
        if (order % 8 == 0) assert_same_product(rt, device, there, here, 1, 0);
        unsigned left[N_THINGS] = {DEVICE, TENSOR, SLICE, RUNTIME, ENGINE}, code = order;
        int detached = 0, device_gone = 0;
        ggufx_tensor *slice_left = slice;
        for (unsigned n = N_THINGS; n > 0; n--) {
            const unsigned at = code % n;
            code /= n;
            switch (left[at]) {
            case DEVICE:
                /* Tensors may outlive the device handle. If the engine may go before them, the
                 * device must be detached while its handle exists. */
                if (!detached) {
                    ggufx_device_detach(device);
                    detached = 1;
                }
                ggufx_device_destroy(device);
                device_gone = 1;
                break;
            case TENSOR:
                ggufx_tensor_destroy(there);
                break;
            case SLICE:
                if (detached) {
                    float x[256] = {1}, y[5];
                    ggufx_error error;
                    ggufx_runtime *other = make_runtime(GGUFX_ISA_BEST, 1);
                    assert_int_equal(ggufx_matvec(y, 5, other, slice, x, 256, NULL, &error),
                                     GGUFX_E_DEVICE);
                    assert_non_null(strstr(error.message, "detached"));
                    ggufx_runtime_destroy(other);
                }
                ggufx_tensor_destroy(slice);
                slice_left = NULL;
                break;
            case RUNTIME:
                ggufx_runtime_destroy(rt);
                break;
            default:
                if (!device_gone && !detached) {
                    ggufx_device_detach(device);
                    detached = 1;
                    assert_true(facts_of(device).flags & GGUFX_DEVICE_LOST);
                    assert_int_equal(facts_of(device).used_bytes, 0);
                }
                engine_end_device(&e);
                engine_end_instance(&e);
            }
            left[at] = left[n - 1];
        }
        assert_null(slice_left);
        ggufx_tensor_destroy(here);
    }
    free_matrix(&m);
}

/* Without a detach, the engine must go last. */
static void test_an_engine_that_goes_last_needs_no_detach(void **state) {
    (void)state;
    matrix m = random_matrix(GGUFX_TYPE_Q4_0, 9, 256, 0);
    for (unsigned order = 0; order < 6; order++) {
        engine e;
        assert_true(engine_begin(&e, 0));
        ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
        const ggufx_vulkan_options handles = engine_handles(&e, 0);
        ggufx_device *device = adopt(rt, &handles, 0);
        ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
        assert_same_product(rt, device, there, here, 1, 0);
        unsigned left[3] = {DEVICE, TENSOR, RUNTIME}, code = order;
        for (unsigned n = 3; n > 0; n--) {
            const unsigned at = code % n;
            code /= n;
            if (left[at] == DEVICE) ggufx_device_destroy(device);
            if (left[at] == TENSOR) ggufx_tensor_destroy(there);
            if (left[at] == RUNTIME) ggufx_runtime_destroy(rt);
            left[at] = left[n - 1];
        }
        ggufx_tensor_destroy(here);
        engine_end_device(&e);
        engine_end_instance(&e);
    }
    free_matrix(&m);
}

static void test_handles_that_are_none_are_said(void **state) {
    (void)state;
    engine e;
    assert_true(engine_begin(&e, 0));
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_device_options options = vulkan_options(0);
    ggufx_device *device = NULL;
    ggufx_error error;
    ggufx_vulkan_options handles = engine_handles(&e, 0);
    handles.queue_family = 99;
    assert_int_equal(ggufx_device_create_vulkan(&device, rt, &handles, &options, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "family 99"));
    assert_null(device);
    options.plugin_path = "/nowhere";
    handles = engine_handles(&e, 0);
    assert_int_equal(ggufx_device_create_vulkan(&device, rt, &handles, &options, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "/nowhere"));
    /* fma with binary64, a feature that the engine did not enable */
    options = vulkan_options(GGUFX_DEVICE_FMA_F64);
    assert_int_equal(ggufx_device_create_vulkan(&device, rt, &handles, &options, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "fma"));
    engine_frame(&e); /* the failed call left the engine's device usable */
    ggufx_runtime_destroy(rt);
    engine_end_device(&e);
    engine_end_instance(&e);
}

int main(int argc, char **argv) {
    plugin_path = argc > 1 ? argv[1] : "";
    /* Every object is first and last in some order. */
    if (test_step() > 1) order_step = 7;
    if (argc > 2 && strcmp(argv[2], "layers") == 0) order_step = 17;
    list_multiplied_types();
    engine e;
    if (!engine_begin(&e, 0)) return 77;
    engine_end_device(&e);
    engine_end_instance(&e);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_engines_device_has_the_processors_bits),
        cmocka_unit_test(test_an_engine_goes_on_with_its_frames),
        cmocka_unit_test(test_both_are_taken_down_in_any_order),
        cmocka_unit_test(test_an_engine_that_goes_last_needs_no_detach),
        cmocka_unit_test(test_handles_that_are_none_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
