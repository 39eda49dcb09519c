/*
 * Failing devices: each entry of the plugin in turn, out of memory, a lost device, wrong
 * arithmetic, and invalid plugins. Each gives a status and a message, leaks nothing, and leaves the
 * processor's results right.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/ok.h"
#include "../unit/weight_calls.h"
#include "fake_fixture.h"

#include <dlfcn.h>
#include <stdio.h>

enum { kRows = 300, kCols = 512 };

/* Makes all calls on a device, created or adopted, as far as they succeed; returns the first
 * failure. */
static ggufx_status use_device(const ggufx_runtime *rt, const ggufx_tensor *w, const float *x,
                               float *y, int own, ggufx_error *error) {
    const ggufx_vulkan_options handles = fake_handles();
    uint32_t sum = 0;
    const ggufx_device_options options = fake_options(0);
    ggufx_device_facts facts[2] = {{.struct_size = sizeof facts[0]}};
    ggufx_device *device = NULL;
    ggufx_tensor *there = NULL;
    uint8_t *bytes = malloc(kRows * kCols);
    ggufx_tensor_facts shape = {.struct_size = sizeof shape};
    size_t n = 0;
    ggufx_status status = ggufx_device_list(facts, 2, &n, rt, &options, error);
    if (status == GGUFX_OK && (facts[0].flags & GGUFX_DEVICE_UNUSABLE)) {
        status = error->status = GGUFX_E_UNSUPPORTED;
        memcpy(error->message, facts[0].reason, sizeof facts[0].reason);
    }
    if (status == GGUFX_OK) {
        status = own ? ggufx_device_create_vulkan(&device, rt, &handles, &options, error)
                     : ggufx_device_open(&device, rt, "fake:0", &options, error);
    }
    if (status == GGUFX_OK) status = ggufx_tensor_upload(&there, device, w, NULL, error);
    if (status == GGUFX_OK) status = ggufx_tensor_checksum(&sum, there, error);
    if (status == GGUFX_OK) status = ggufx_matvec(y, kRows, rt, there, x, kCols, NULL, error);
    if (status == GGUFX_OK) {
        OK(ggufx_tensor_info(&shape, there, ok_error()));
        status = ggufx_tensor_download(bytes, (size_t)shape.n_bytes, there, error);
    }
    if (status == GGUFX_OK) assert_memory_equal(bytes, ggufx_tensor_data(w), shape.n_bytes);
    ggufx_tensor_destroy(there);
    ggufx_device_destroy(device);
    free(bytes);
    return status;
}

static void assert_nothing_is_left(void) {
    assert_int_equal(fake->live_devices, 0);
    assert_int_equal(fake->live_queues, 0);
    assert_int_equal(fake->live_buffers, 0);
    assert_int_equal(fake->live_bytes, 0);
    assert_int_equal(fake->n_faults, 0);
}

typedef struct fixture {
    ggufx_runtime *rt;
    matrix m;
    ggufx_tensor *w;
    float *x, *want, *y;
} fixture;

static fixture make_fixture(void) {
    fixture f = {make_runtime(GGUFX_ISA_BEST, 1), .w = NULL};
    f.m = random_matrix(GGUFX_TYPE_Q4_K, kRows, kCols, 0);
    f.w = wrap_matrix(f.rt, &f.m);
    f.x = random_values(kCols, 1);
    f.want = product(f.rt, &f.m, f.x, 1, 0);
    f.y = malloc(kRows * sizeof(float));
    return f;
}

static void free_fixture(fixture *f) {
    free(f->y);
    free(f->want);
    free(f->x);
    ggufx_tensor_destroy(f->w);
    free_matrix(&f->m);
    ggufx_runtime_destroy(f->rt);
}

static void assert_the_processor_is_right(const fixture *f) {
    OK(ggufx_matvec(f->y, kRows, f->rt, f->w, f->x, kCols, NULL, ok_error()));
    assert_equal_bits(f->y, f->want, kRows);
}

static void test_every_entry_that_fails_is_a_status_and_a_sentence(void **state) {
    (void)state;
    fixture f = make_fixture();
    const ggufx_status statuses[] = {GGUFX_E_MEMORY, GGUFX_E_DEVICE, GGUFX_E_UNSUPPORTED, -999};
    size_t n_failed = 0;
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        for (int entry = 0; entry < FAKE_ENTRIES; entry++) {
            for (size_t s = 0; s < sizeof statuses / sizeof statuses[0]; s++) {
                ggufx_status status = GGUFX_E_INTERNAL;
                for (uint64_t at = 1; status != GGUFX_OK; at++) {
                    ggufx_error error = {0};
                    reset_fake();
                    fake->unmapped = unmapped;
                    fake->launch_values = kCols * 100;
                    fake->fail_entry = entry;
                    fake->fail_at = at;
                    fake->fail_status = statuses[s];
                    status = use_device(f.rt, f.w, f.x, f.y, entry == FAKE_ADOPT, &error);
                    assert_nothing_is_left();
                    if (status == GGUFX_OK) {
                        assert_equal_bits(f.y, f.want, kRows);
                        /* Fewer calls were made, or the failed call was cleanup. */
                        assert_true(fake->n_calls[entry] <= at);
                        break;
                    }
                    n_failed++;
                    assert_int_equal(error.status, status);
                    assert_true(strlen(error.message) > 10);
                    if (entry == FAKE_LIST) {
                        assert_int_equal(status, GGUFX_E_UNSUPPORTED);
                    } else {
                        assert_int_equal(status,
                                         statuses[s] == -999 ? GGUFX_E_INTERNAL : statuses[s]);
                        assert_int_equal(error.system_error, 77);
                    }
                    assert_non_null(strstr(error.message, "a fault on command"));
                    assert_the_processor_is_right(&f);
                    assert_true(at < 1000);
                }
            }
        }
    }
    assert_true(n_failed > 150);
    reset_fake();
    free_fixture(&f);
}

static ggufx_status open_and_upload(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const ggufx_device_options options = fake_options(0);
    const matrix *m = context;
    const uint64_t ne[2] = {m->n_cols, m->n_rows};
    ggufx_device *device = NULL;
    ggufx_tensor *w = NULL, *there = NULL, *slice = NULL;
    float x[kCols] = {1}, y[kRows];
    ggufx_status status =
        tensor_of(&w, rt, m->type, 2, ne, 0, m->data, m->n_bytes, "w", NULL, NULL, error);
    if (status == GGUFX_OK) status = ggufx_device_open(&device, rt, "fake:0", &options, error);
    if (status == GGUFX_OK) status = ggufx_tensor_upload(&there, device, w, NULL, error);
    if (status == GGUFX_OK) status = ggufx_tensor_slice(&slice, there, 1, 1, 7, error);
    if (status == GGUFX_OK) status = ggufx_matvec(y, 7, rt, slice, x, kCols, NULL, error);
    ggufx_tensor_destroy(slice);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(w);
    ggufx_device_destroy(device);
    assert_nothing_is_left();
    return status;
}

static void test_every_allocation_that_fails_leaks_nothing(void **state) {
    (void)state;
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, kRows, kCols, 0);
    assert_true(fault_run(open_and_upload, &m) > 6);
    free_matrix(&m);
}

static void test_memory_that_ends_is_reported_with_its_numbers(void **state) {
    (void)state;
    fixture f = make_fixture();
    ggufx_device *device = open_fake(f.rt, 0);
    ggufx_tensor *there = NULL;
    ggufx_error error;
    fake->memory_bytes = fake->live_bytes + 20000;
    assert_int_equal(ggufx_tensor_upload(&there, device, f.w, NULL, &error), GGUFX_E_MEMORY);
    assert_null(there);
    assert_non_null(strstr(error.message, "20000 are free"));
    fake->memory_bytes = 1 << 30;
    there = upload(device, f.w);
    assert_same_product(f.rt, device, there, f.w, 1, 0);
    ggufx_tensor_destroy(there);
    ggufx_device_destroy(device);
    assert_nothing_is_left();
    reset_fake();
    free_fixture(&f);
}

/* A detached device leaves nothing in the plugin; later calls on its handles fail with the
 * reason. */
static void test_a_detached_device_leaves_nothing_there(void **state) {
    (void)state;
    fixture f = make_fixture();
    for (int own = 0; own < 2; own++) {
        const ggufx_vulkan_options handles = fake_handles();
        const ggufx_device_options options = fake_options(0);
        ggufx_device *device = NULL;
        ggufx_error error;
        fake->unmapped = own;
        fake->leaves_buffers = 1;
        if (own) {
            assert_int_equal(ggufx_device_create_vulkan(&device, f.rt, &handles, &options, &error),
                             GGUFX_OK);
        } else {
            device = open_fake(f.rt, 0);
        }
        ggufx_tensor *there = upload(device, f.w), *second = NULL;
        assert_same_product(f.rt, device, there, f.w, 3, 0);
        ggufx_device_detach(device);
        assert_nothing_is_left();
        for (int again = 0; again < 2; again++) {
            static uint8_t bytes[kRows * kCols];
            uint32_t sum = 1;
            ggufx_tensor_facts shape = {.struct_size = sizeof shape};
            OK(ggufx_tensor_info(&shape, there, ok_error()));
            assert_int_equal(ggufx_matvec(f.y, kRows, f.rt, there, f.x, kCols, NULL, &error),
                             GGUFX_E_DEVICE);
            assert_non_null(strstr(error.message, "detached"));
            assert_int_equal(ggufx_tensor_upload(&second, device, f.w, NULL, NULL), GGUFX_E_DEVICE);
            assert_int_equal(ggufx_tensor_download(bytes, (size_t)shape.n_bytes, there, NULL),
                             GGUFX_E_DEVICE);
            assert_int_equal(ggufx_tensor_checksum(&sum, there, NULL), GGUFX_E_DEVICE);
            assert_int_equal(sum, 1);
            ggufx_device_detach(device); /* a second detach has no effect */
        }
        ggufx_device_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_device_info(&facts, device, ok_error()));
        assert_true(facts.flags & GGUFX_DEVICE_LOST);
        assert_int_equal(facts.used_bytes, 0);
        assert_the_processor_is_right(&f);
        if (own) ggufx_tensor_destroy(there);
        ggufx_device_destroy(device);
        if (!own) ggufx_tensor_destroy(there);
        assert_nothing_is_left();
        reset_fake();
    }
    ggufx_device_detach(NULL);
    free_fixture(&f);
}

/* Also when an entry fails during the detach, or the device was lost before. */
static void test_a_device_that_fails_is_detached_all_the_same(void **state) {
    (void)state;
    fixture f = make_fixture();
    static const int entries[] = {FAKE_SUBMIT, FAKE_WAIT, FAKE_CACHE};
    for (size_t i = 0; i < 3; i++) {
        for (int lost = 0; lost < 2; lost++) {
            fake->leaves_buffers = 1;
            ggufx_device *device = open_fake(f.rt, 0);
            ggufx_tensor *there = upload(device, f.w);
            fake->fail_entry = entries[i];
            fake->fail_status = lost ? GGUFX_E_DEVICE : GGUFX_E_MEMORY;
            fake->fail_at = fake->n_calls[entries[i]] + 1;
            ggufx_device_detach(device);
            assert_nothing_is_left();
            assert_int_equal(ggufx_matvec(f.y, kRows, f.rt, there, f.x, kCols, NULL, NULL),
                             GGUFX_E_DEVICE);
            ggufx_tensor_destroy(there);
            ggufx_device_destroy(device);
            assert_nothing_is_left();
            reset_fake();
        }
    }
    free_fixture(&f);
}

static void assert_not_adopted(const ggufx_runtime *rt, const ggufx_vulkan_options *handles,
                               ggufx_status status, const char *text) {
    const ggufx_device_options options = fake_options(0);
    ggufx_device *device = NULL;
    ggufx_error error = {0};
    assert_int_equal(ggufx_device_create_vulkan(&device, rt, handles, &options, &error), status);
    assert_null(device);
    if (!strstr(error.message, text)) fail_msg("\"%s\" is not in: %s", text, error.message);
    assert_nothing_is_left();
}

static void set_nothing(void *user) {
    (void)user;
}

static void test_handles_that_are_none_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_vulkan_options handles = fake_handles();
    void **const each[] = {&handles.get_instance_proc_addr, &handles.instance,
                           &handles.physical_device, &handles.device, &handles.queue};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        void *was = *each[i];
        *each[i] = NULL;
        assert_not_adopted(rt, &handles, GGUFX_E_ARGUMENT, "each handle");
        *each[i] = was;
    }
    handles.lock = set_nothing;
    assert_not_adopted(rt, &handles, GGUFX_E_ARGUMENT, "lock and unlock");
    handles.lock = NULL;
    handles.unlock = set_nothing;
    assert_not_adopted(rt, &handles, GGUFX_E_ARGUMENT, "lock and unlock");
    handles.unlock = NULL;
    handles.flags = 8;
    assert_not_adopted(rt, &handles, GGUFX_E_ARGUMENT, "unknown bits 0x8");
    handles.flags = 0;
    handles.reserved = 1;
    assert_not_adopted(rt, &handles, GGUFX_E_ARGUMENT, "reserved");
    handles.reserved = 0;
    assert_not_adopted(rt, NULL, GGUFX_E_ARGUMENT, "handles must be set");
    fake->adopts_none = 1;
    assert_not_adopted(rt, &handles, GGUFX_E_UNSUPPORTED, "accepts no device of the host");
    reset_fake();
    ggufx_runtime_destroy(rt);
}

static void test_a_lost_device_stays_lost_and_goes_in_peace(void **state) {
    (void)state;
    fixture f = make_fixture();
    for (int hangs = 0; hangs < 2; hangs++) {
        ggufx_device *device = open_fake(f.rt, 0);
        ggufx_tensor *there = upload(device, f.w), *second = NULL;
        ggufx_error error;
        if (hangs) {
            fake->n_busy = -1;
        } else {
            fake->fail_entry = FAKE_WAIT;
            fake->fail_status = GGUFX_E_DEVICE;
            fake->fail_at = fake->n_calls[FAKE_WAIT] + 1;
        }
        assert_int_equal(ggufx_matvec(f.y, kRows, f.rt, there, f.x, kCols, NULL, &error),
                         GGUFX_E_DEVICE);
        assert_non_null(strstr(error.message, hangs ? "no answer within 30 s" : "on command"));
        fake->n_busy = 0;
        for (int again = 0; again < 2; again++) {
            uint8_t bytes[kRows * 288];
            assert_int_equal(ggufx_matvec(f.y, kRows, f.rt, there, f.x, kCols, NULL, &error),
                             GGUFX_E_DEVICE);
            assert_non_null(strstr(error.message, "lost"));
            assert_int_equal(ggufx_tensor_upload(&second, device, f.w, NULL, NULL), GGUFX_E_DEVICE);
            assert_int_equal(ggufx_tensor_download(bytes, sizeof bytes, there, NULL),
                             GGUFX_E_DEVICE);
        }
        ggufx_device_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_device_info(&facts, device, ok_error()));
        assert_true(facts.flags & GGUFX_DEVICE_LOST);
        assert_the_processor_is_right(&f);
        ggufx_tensor_destroy(there);
        ggufx_device_destroy(device);
        assert_nothing_is_left();
        reset_fake();
        device = open_fake(f.rt, 0); /* a new device works */
        there = upload(device, f.w);
        assert_same_product(f.rt, device, there, f.w, 2, 0);
        ggufx_tensor_destroy(there);
        ggufx_device_destroy(device);
        reset_fake();
    }
    free_fixture(&f);
}

static void assert_unusable(const ggufx_runtime *rt, const char *path, const char *id,
                            uint32_t flags, const char *text) {
    ggufx_device_options options = fake_options(flags);
    ggufx_device *device = NULL;
    ggufx_error error = {0};
    options.plugin_path = path;
    assert_int_equal(ggufx_device_open(&device, rt, id, &options, &error), GGUFX_E_UNSUPPORTED);
    assert_null(device);
    if (!strstr(error.message, text)) fail_msg("\"%s\" is not in: %s", text, error.message);
    assert_int_equal(fake->live_devices, 0);
}

static const char *path_of_this_library(void) {
    Dl_info info;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "ggufx_device_open"), &info) != 0);
    return info.dli_fname;
}

static void test_what_is_no_plug_in_or_no_device_is_said(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    assert_unusable(rt, "/nowhere/libggufx-fake.so", "fake:0", 0, "/nowhere/libggufx-fake.so");
    assert_unusable(rt, path_of_this_library(), "plug-in", 0, "is not a plugin of libggufx");
    assert_unusable(rt, "libggufx-fake.so", "fake:0", 0, "./libggufx-fake.so"); /* no path search */
    assert_unusable(rt, "", "plug-in", 0, "./");
    assert_unusable(rt, "/", "cuda:0", 0, "libggufx-cuda");
    assert_unusable(rt, "/", "auto", 0, "cuda: ");
    assert_unusable(rt, "/", "auto", 0, "vulkan: ");
    assert_unusable(rt, fake_path, "fake:1", 0, "there is no device \"fake:1\"");
    assert_unusable(rt, fake_path, "", 0, "there is no device \"\"");
    fake->version = 99;
    assert_unusable(rt, fake_path, "fake:0", 0, "is a plugin of version 99");
    reset_fake();
    fake->unusable = 1;
    fake->n_devices = 2;
    assert_unusable(rt, fake_path, "fake:1", 0, "fake:1 cannot be used: it is told to be so");
    assert_unusable(rt, fake_path, "auto", 0, "fake:1: it is told to be so");
    reset_fake();
    fake->n_devices = 0;
    assert_unusable(rt, fake_path, "auto", 0, "knows no device");
    fake->n_devices = 1000; /* more than the caller has room for */
    assert_unusable(rt, fake_path, "fake:999", 0, "there is no device");
    reset_fake();
    fake->processor = 1;
    assert_unusable(rt, fake_path, "auto", 0, "a processor that plays a device");
    reset_fake();

    char path[2000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    assert_unusable(rt, path, "plug-in", 0, "xxx");
    ggufx_runtime_destroy(rt);
}

/* In most builds the library's folder has no plugin; the list succeeds with the reason. */
static void test_the_plug_ins_of_this_build_are_listed_with_reasons(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    ggufx_device_facts facts[70] = {{.struct_size = sizeof facts[0]}};
    size_t n = 0;
    OK(ggufx_device_list(facts, 70, &n, rt, NULL, ok_error()));
    assert_true(n >= 2);
    for (size_t i = 0; i < n; i++) {
        assert_true(strlen(facts[i].id) > 0);
        if (facts[i].flags & GGUFX_DEVICE_UNUSABLE) assert_true(strlen(facts[i].reason) > 0);
    }
    ggufx_runtime_destroy(rt);
}

static void test_a_device_that_cannot_count_is_refused_by_name(void **state) {
    (void)state;
    const char *const names[11] = {NULL,
                                   NULL,
                                   NULL,
                                   "a product",
                                   "a sum",
                                   "a quotient",
                                   "a square root",
                                   "an integer as a float",
                                   "a comparison",
                                   "a half as a float",
                                   "a dot product of four int8"};
    fixture f = make_fixture();
    for (int wrong = 4; wrong <= 11; wrong++) {
        fake->wrong_result = wrong;
        assert_unusable(f.rt, fake_path, "fake:0", 0, names[wrong - 1]);
        ggufx_device *device = open_fake(f.rt, GGUFX_DEVICE_ALLOW_INEXACT);
        ggufx_device_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_device_info(&facts, device, ok_error()));
        assert_int_equal(facts.flags & GGUFX_DEVICE_EXACT, 0);
        assert_non_null(strstr(facts.reason, names[wrong - 1]));
        ggufx_device_destroy(device);
    }
    reset_fake();
    free_fixture(&f);
}

static uint32_t fma_of(const ggufx_runtime *rt, uint32_t flags) {
    ggufx_device *device = open_fake(rt, flags);
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, device, ok_error()));
    ggufx_device_destroy(device);
    return facts.fma;
}

static void test_the_first_fma_that_rounds_once_is_taken(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    assert_int_equal(fma_of(rt, 0), GGUFX_FMA_DEVICE);
    fake->wrong_result = 1; /* the device's fma */
    assert_int_equal(fma_of(rt, 0), GGUFX_FMA_F64);
    assert_int_equal(fake->n_launches[0], 2);
    fake->no_f64 = 1; /* the f64 variant is only tried if needed, because the driver compiles it */
    assert_int_equal(fma_of(rt, 0), GGUFX_FMA_F32);
    assert_int_equal(fake->n_launches[0], 4);
    assert_unusable(rt, fake_path, "fake:0", GGUFX_DEVICE_FMA_F64, "no fma");
    fake->no_f64 = 0;
    fake->wrong_result = 2;
    assert_int_equal(fma_of(rt, 0), GGUFX_FMA_DEVICE);
    assert_unusable(rt, fake_path, "fake:0", GGUFX_DEVICE_FMA_F64, "requested way");
    fake->wrong_result = 3;
    assert_int_equal(fma_of(rt, GGUFX_DEVICE_FMA_F64), GGUFX_FMA_F64);
    assert_unusable(rt, fake_path, "fake:0", GGUFX_DEVICE_FMA_F32, "requested way");
    reset_fake();
    ggufx_runtime_destroy(rt);
}

/* Compiled programs that the host caches. */
typedef struct store {
    char key[320];
    unsigned char data[64];
    uint64_t n, n_loads, n_stores;
} store;

static uint64_t load_programs(void *user, const char *key, void *out, uint64_t capacity) {
    store *s = user;
    s->n_loads++;
    snprintf(s->key, sizeof s->key, "%s", key);
    if (out) memcpy(out, s->data, (size_t)(capacity < s->n ? capacity : s->n));
    return s->n;
}

static void store_programs(void *user, const char *key, const void *data, uint64_t n_bytes) {
    store *s = user;
    s->n_stores++;
    assert_string_equal(key, s->key);
    assert_true(n_bytes <= sizeof s->data);
    memcpy(s->data, data, (size_t)n_bytes);
    s->n = n_bytes;
}

static void test_compiled_programs_are_the_hosts_to_keep(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    store s = {.n = 0};
    for (int round = 0; round < 3; round++) {
        ggufx_device_options options = fake_options(0);
        ggufx_device *device = NULL;
        options.cache_user = &s;
        options.cache_load = load_programs;
        options.cache_store = store_programs;
        OK(ggufx_device_open(&device, rt, "fake:0", &options, ok_error()));
        ggufx_device_destroy(device);
        assert_string_equal((const char *)s.data, "compiled programs");
        assert_int_equal(s.n_stores, (unsigned)round + 1);
        if (round == 1) s.n = UINT64_MAX; /* invalid size */
    }
    ggufx_runtime_destroy(rt);
    reset_fake();
}

int main(int argc, char **argv) {
    use_fake(argc > 1 ? argv[1] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_entry_that_fails_is_a_status_and_a_sentence),
        cmocka_unit_test(test_every_allocation_that_fails_leaks_nothing),
        cmocka_unit_test(test_memory_that_ends_is_reported_with_its_numbers),
        cmocka_unit_test(test_a_detached_device_leaves_nothing_there),
        cmocka_unit_test(test_a_device_that_fails_is_detached_all_the_same),
        cmocka_unit_test(test_handles_that_are_none_are_refused),
        cmocka_unit_test(test_a_lost_device_stays_lost_and_goes_in_peace),
        cmocka_unit_test(test_what_is_no_plug_in_or_no_device_is_said),
        cmocka_unit_test(test_the_plug_ins_of_this_build_are_listed_with_reasons),
        cmocka_unit_test(test_a_device_that_cannot_count_is_refused_by_name),
        cmocka_unit_test(test_the_first_fma_that_rounds_once_is_taken),
        cmocka_unit_test(test_compiled_programs_are_the_hosts_to_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
