/*
 * Devices through the C API, with the fake device: listing and description, tensors on the device,
 * and products with the processor's bits. Long, as it is one list of calls.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/ok.h"
#include "../unit/test_step.h"
#include "../unit/weight_calls.h"
#include "fake_fixture.h"

static void test_devices_of_a_plug_in_are_listed(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_device_options options = fake_options(0);
    ggufx_device_facts facts[3] = {{.struct_size = sizeof facts[0]}};
    size_t n = 0;
    fake->n_devices = 2;
    assert_int_equal(ggufx_device_list(NULL, 0, &n, rt, &options, NULL), GGUFX_E_CAPACITY);
    assert_int_equal(n, 2);
    OK(ggufx_device_list(facts, 3, &n, rt, &options, ok_error()));
    assert_int_equal(n, 2);
    assert_string_equal(facts[0].id, "fake:0");
    assert_string_equal(facts[1].id, "fake:1");
    assert_int_equal(facts[1].struct_size, sizeof facts[1]);
    assert_string_equal(facts[0].name, "Fake");
    assert_string_equal(facts[0].driver, "memory 1.0");
    assert_string_equal(facts[0].reason, "");
    assert_int_equal(facts[0].flags, GGUFX_DEVICE_UNIFIED);
    assert_int_equal(facts[0].fma, GGUFX_FMA_UNKNOWN);
    assert_int_equal(facts[0].memory_bytes, 1 << 30);
    assert_int_equal(facts[0].max_allocation, 1 << 28);
    assert_int_equal(fake->live_devices, 0); /* no device was opened */
    ggufx_runtime_destroy(rt);
    reset_fake();
}

static void test_entries_of_any_size_are_filled(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_device_options options = fake_options(0);
    const size_t sizes[] = {16, 100, sizeof(ggufx_device_facts), sizeof(ggufx_device_facts) + 64};
    fake->n_devices = 2;
    for (size_t i = 0; i < 4; i++) {
        const size_t size = sizes[i];
        unsigned char *out = malloc(2 * size + 1);
        memset(out, 0xee, 2 * size + 1);
        const uint32_t stated = (uint32_t)size;
        memcpy(out, &stated, sizeof stated);
        size_t n = 0;
        OK(ggufx_device_list((ggufx_device_facts *)out, 2, &n, rt, &options, ok_error()));
        for (size_t e = 0; e < 2; e++) {
            uint32_t flags;
            memcpy(&flags, out + e * size + 4, sizeof flags);
            assert_int_equal(flags, GGUFX_DEVICE_UNIFIED);
            for (size_t b = sizeof(ggufx_device_facts); b < size; b++)
                assert_int_equal(out[e * size + b], 0);
        }
        assert_int_equal(out[2 * size], 0xee);
        free(out);
    }
    ggufx_runtime_destroy(rt);
    reset_fake();
}

static void test_an_opened_device_is_described(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, host.device, ok_error()));
    assert_int_equal(facts.flags, GGUFX_DEVICE_UNIFIED | GGUFX_DEVICE_EXACT);
    assert_int_equal(facts.fma, GGUFX_FMA_DEVICE);
    assert_string_equal(facts.id, "fake:0");
    assert_int_equal(facts.free_bytes, (1u << 30) - fake->live_bytes);
    assert_true(facts.used_bytes > 0 &&
                facts.used_bytes < fake->live_bytes); /* live_bytes includes staging */
    assert_int_equal(facts.n_launches, 1);            /* the self-test */
    end_fake(&host);
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    const ggufx_device_options options = fake_options(0);
    ggufx_device_options odd = options;
    ggufx_device *device = (ggufx_device *)&odd;
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    size_t n = 0;
    assert_int_equal(ggufx_device_open(NULL, host.rt, "fake:0", &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_device_open(&device, NULL, "fake:0", &options, NULL), GGUFX_E_ARGUMENT);
    assert_null(device);
    assert_int_equal(ggufx_device_open(&device, host.rt, NULL, &options, NULL), GGUFX_E_ARGUMENT);
    odd.flags = GGUFX_DEVICE_FMA_F32 | GGUFX_DEVICE_FMA_F64;
    assert_int_equal(ggufx_device_open(&device, host.rt, "fake:0", &odd, NULL), GGUFX_E_ARGUMENT);
    odd.flags = 1u << 20;
    assert_int_equal(ggufx_device_open(&device, host.rt, "fake:0", &odd, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_device_list(&facts, 1, NULL, host.rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_device_list(NULL, 1, &n, host.rt, &options, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_device_info(&facts, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_device_info(NULL, host.device, NULL), GGUFX_E_ARGUMENT);

    matrix m = random_matrix(GGUFX_TYPE_Q8_0, 3, 64, 0);
    ggufx_tensor *w = wrap_matrix(host.rt, &m), *there = upload(host.device, w), *out = NULL;
    uint8_t bytes[3 * 68];
    assert_int_equal(ggufx_tensor_upload(NULL, host.device, w, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_upload(&out, NULL, w, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_upload(&out, host.device, NULL, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_upload(&out, host.device, there, NULL, &error),
                     GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "already"));
    assert_int_equal(ggufx_tensor_download(bytes, sizeof bytes, w, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_download(bytes, sizeof bytes - 1, there, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_download(NULL, sizeof bytes, there, NULL), GGUFX_E_ARGUMENT);
    float y[64 * 3];
    assert_int_equal(ggufx_dequantize(y, 192, host.rt, there, 0, 3, &error), GGUFX_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "device"));
    assert_null(ggufx_tensor_data(there));
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(w);
    free_matrix(&m);

    matrix sixes = random_matrix(GGUFX_TYPE_I32, 3, 64, 0);
    w = wrap_matrix(host.rt, &sixes);
    assert_int_equal(ggufx_tensor_upload(&out, host.device, w, NULL, &error), GGUFX_E_TYPE);
    assert_null(out);
    ggufx_tensor_destroy(w);
    free_matrix(&sixes);
    end_fake(&host);
}

/* Compares products of each type with 1 to most_n columns in every mode. */
static void compare_all_types(const fake_host *host, size_t most_n) {
    assert_true(n_multiplied_types >= 28);
    for (size_t t = 0; t < n_multiplied_types; t++) {
        for (int made = 0; made < 2; made++) {
            const uint32_t type = multiplied_types[t];
            matrix m = made ? quantized_matrix(host->rt, type, 7, 768, 0)
                            : random_matrix(type, 7, 768, 0); /* NaN and infinite scales, too */
            ggufx_tensor *here = wrap_matrix(host->rt, &m), *there = upload(host->device, here);
            for (size_t n = 1; n <= most_n; n++)
                for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++)
                    assert_same_product(host->rt, host->device, there, here, n,
                                        product_modes[mode]);
            ggufx_tensor_destroy(there);
            ggufx_tensor_destroy(here);
            free_matrix(&m);
        }
    }
}

static void test_every_type_mode_and_number_of_columns_has_the_processors_bits(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    compare_all_types(&host, 6);
    for (uint32_t op = 1; op < 10; op++) assert_true(fake->n_launches[op] > 0);
    end_fake(&host);
}

static void test_each_exact_fma_has_the_processors_bits(void **state) {
    (void)state;
    const uint32_t flags[] = {GGUFX_DEVICE_FMA_F64, GGUFX_DEVICE_FMA_F32};
    for (size_t i = 0; i < 2; i++) {
        fake_host host = begin_fake(flags[i]);
        ggufx_device_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_device_info(&facts, host.device, ok_error()));
        assert_int_equal(facts.fma, i ? GGUFX_FMA_F32 : GGUFX_FMA_F64);
        compare_all_types(&host, 1);
        end_fake(&host);
    }
}

static void test_rows_of_any_length_and_stride_are_taken(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t rows, cols, more;
    } cases[] = {
        {GGUFX_TYPE_Q4_0, 5, 32, 1},   {GGUFX_TYPE_MXFP4, 9, 96, 3}, {GGUFX_TYPE_Q8_0, 1, 4096, 0},
        {GGUFX_TYPE_F16, 8, 1, 0},     {GGUFX_TYPE_F32, 3, 17, 5},   {GGUFX_TYPE_BF16, 2, 1001, 2},
        {GGUFX_TYPE_Q6_K, 64, 256, 7}, {GGUFX_TYPE_NVFP4, 6, 64, 0}, {GGUFX_TYPE_Q1_0, 4, 128, 9},
        {GGUFX_TYPE_Q4_K, 0, 256, 0},  {GGUFX_TYPE_Q4_K, 3, 0, 0}};
    fake_host host = begin_fake(0);
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        fake->unmapped = unmapped;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            uint64_t row_bytes = 0;
            OK(ggufx_type_row_bytes(&row_bytes, cases[i].type, cases[i].cols, ok_error()));
            matrix m = random_matrix(cases[i].type, cases[i].rows, cases[i].cols,
                                     row_bytes ? row_bytes + cases[i].more : 0);
            ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = upload(host.device, here);
            ggufx_tensor_facts a = {.struct_size = sizeof a}, b = a;
            OK(ggufx_tensor_info(&a, here, ok_error()));
            OK(ggufx_tensor_info(&b, there, ok_error()));
            assert_int_equal(b.memory_kind, 1);
            assert_int_equal(b.name.size, a.name.size);
            assert_memory_equal(b.name.data, a.name.data, a.name.size);
            assert_memory_equal(a.ne, b.ne, sizeof a.ne);
            assert_int_equal(b.row_bytes, a.row_bytes);
            assert_int_equal(b.n_bytes, a.n_bytes);
            assert_true(b.row_stride >= b.row_bytes && b.row_stride % 16 == 0);
            assert_same_product(host.rt, host.device, there, here, 2, 0);
            assert_same_product(host.rt, host.device, there, here, 5, 0);
            assert_bytes_come_back(there, &m);
            ggufx_tensor_destroy(there);
            ggufx_tensor_destroy(here);
            free_matrix(&m);
        }
    }
    end_fake(&host);
}

/* Each type, rows that end at any byte, across buffers and launches of any size. */
static void test_words_of_rows_are_added_up_there(void **state) {
    (void)state;
    for (int small = 0; small < 3; small++) {
        fake->unmapped = small == 2;
        if (small) {
            fake->buffer_bytes = 9 << 20; /* scratch is an allocation of 8 MiB */
            fake->range_bytes = 4096;
            fake->launch_values = 1000;
        }
        fake_host host = begin_fake(0);
        for (size_t t = 0; t < n_multiplied_types; t++) {
            matrix m = random_matrix(multiplied_types[t], 29, 768, 0);
            ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = upload(host.device, here);
            const uint64_t before = fake->n_launches[10];
            assert_word_sums(there, &m, 3, 11);
            assert_true(fake->n_launches[10] >= before + 2);
            ggufx_tensor_destroy(there);
            ggufx_tensor_destroy(here);
            free_matrix(&m);
        }
        if (small) assert_true(fake->most_values <= 1024);
        end_fake(&host);
    }
}

static void test_empty_lists_are_results(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    assert_empty_lists_are_results(host.rt, host.device);
    end_fake(&host);
}

/* Counts the launches for a product of n columns on a device with this budget. */
static void count_launches(const fake_host *host, const ggufx_tensor *there, uint64_t budget,
                           uint32_t flags, size_t n) {
    ggufx_tensor_facts shape = {.struct_size = sizeof shape};
    OK(ggufx_tensor_info(&shape, there, ok_error()));
    const size_t rows = (size_t)shape.n_rows, cols = (size_t)shape.ne[0];
    float *x = calloc(n * cols, sizeof *x), *y = malloc(n * rows * sizeof *y);
    const ggufx_matmul_options options = options_with(flags, NULL, NULL);
    fake->most_values = fake->most_unsubmitted = 0;
    memset(fake->n_launches, 0, sizeof fake->n_launches);
    OK(matmul(y, 0, n * rows, host->rt, there, x, 0, n * cols, n, &options, ok_error()));
    free(x);
    free(y);
    uint64_t n_launches = 0;
    for (size_t op = 4; op < 10; op++) n_launches += fake->n_launches[op];
    /* At most the budget, or a whole row by up to three columns where that is more. */
    const uint64_t row = cols * (n < 3 ? n : 3), most = budget > row ? budget : row;
    assert_true(fake->most_values > 0 && fake->most_values <= most);
    assert_true(fake->most_unsubmitted <= 2 * most);
    /* At most twice the fewest launches possible. Scratch holds 2^20 values and as many results. */
    const uint64_t fit = (1 << 20) / cols < n ? (1 << 20) / cols : n, turns = (n + fit - 1) / fit;
    const int is_dots = n <= 3 || (flags & GGUFX_MATMUL_BATCH_INVARIANT) != 0;
    const uint64_t by_columns = is_dots ? (n + 2) / 3 : turns;
    const uint64_t by_results = (uint64_t)rows * n / (1 << 20) + turns;
    const uint64_t fewest = (uint64_t)rows * cols * n / most + by_columns + by_results;
    if (n_launches > 2 * fewest)
        fail_msg("%llu launches, %llu would do: %zu x %zu by %zu, %u, budget %llu",
                 (unsigned long long)n_launches, (unsigned long long)fewest, rows, cols, n, flags,
                 (unsigned long long)budget);
}

/* A dispatch stays below 100 ms, because its work is bounded. Plugins give a budget of
 * multiplications: 2^20 on a software device, 2^28 and 2^30 on others. */
static void test_work_of_a_launch_is_bounded_at_the_largest_sizes(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t rows, cols;
    } sizes[] = {{GGUFX_TYPE_Q1_0, 152064, 5120}, /* output matrix of a vocabulary */
                 {GGUFX_TYPE_Q2_K, 8192, 28672},  /* ffn_down of a 70B model */
                 {GGUFX_TYPE_F16, 3, 1 << 20},    /* rows longer than a third of a budget */
                 {GGUFX_TYPE_Q8_0, 28672, 32}};
    static const uint64_t budgets[] = {1 << 20, 1 << 28, 1 << 30};
    static const size_t columns[] = {1, 3, 512};
    static const uint32_t modes[] = {0, GGUFX_MATMUL_F32, GGUFX_MATMUL_INT16,
                                     GGUFX_MATMUL_BATCH_INVARIANT};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const uint64_t ne[2] = {sizes[s].cols, sizes[s].rows};
        uint64_t row_bytes = 0;
        OK(ggufx_type_row_bytes(&row_bytes, sizes[s].type, ne[0], ok_error()));
        uint8_t *zeros = calloc((size_t)(row_bytes * ne[1]), 1);
        for (size_t b = 0; b < 3; b++) {
            if (test_step() > 1 && (s + b) % 3 != 2) continue;
            reset_fake();
            fake->idle = 1;
            fake->launch_values = budgets[b];
            fake_host host = begin_fake(0);
            ggufx_tensor *here = NULL;
            OK(tensor_of(&here, host.rt, sizes[s].type, 2, ne, 0, zeros, row_bytes * ne[1], "w",
                         NULL, NULL, ok_error()));
            ggufx_tensor *there = upload(host.device, here);
            for (size_t c = 0; c < 3; c++)
                for (size_t i = 0; i < 4; i++) {
                    if (sizes[s].cols * columns[c] > (64 << 20) && columns[c] > 3) continue;
                    count_launches(&host, there, budgets[b], modes[i], columns[c]);
                }
            ggufx_tensor_destroy(there);
            ggufx_tensor_destroy(here);
            end_fake(&host);
        }
        free(zeros);
    }
    reset_fake();
}

static void test_words_of_a_part_of_rows_are_refused(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    matrix m = random_matrix(GGUFX_TYPE_F16, 5, 24, 0);
    ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = upload(host.device, here);
    /* 20 and 24 values take the same padded bytes; the second slice starts at another offset. */
    static const uint64_t parts[][2] = {{0, 20}, {8, 16}, {0, 8}};
    ggufx_error error;
    uint32_t sum = 7;
    for (size_t i = 0; i < 3; i++) {
        ggufx_tensor *slice = NULL;
        OK(ggufx_tensor_slice(&slice, there, 0, parts[i][0], parts[i][1], ok_error()));
        assert_int_equal(ggufx_tensor_checksum(&sum, slice, &error), GGUFX_E_UNSUPPORTED);
        assert_non_null(strstr(error.message, "a part of each row"));
        ggufx_tensor_destroy(slice);
    }
    assert_int_equal(ggufx_tensor_checksum(&sum, here, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_checksum(NULL, there, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_tensor_checksum(&sum, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(sum, 7);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
    end_fake(&host);
}

static void test_no_rows_take_no_memory(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    const uint64_t ne[2] = {(uint64_t)1 << 40, 0}, live = fake->live_bytes;
    ggufx_tensor *here = NULL;
    OK(tensor_of(&here, host.rt, GGUFX_TYPE_Q8_0, 2, ne, 0, NULL, 0, "w", NULL, NULL, ok_error()));
    ggufx_tensor *there = upload(host.device, here);
    assert_int_equal(fake->live_bytes, live);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    end_fake(&host);
}

static void test_slices_there_are_those_here(void **state) {
    (void)state;
    static const struct {
        uint32_t dim;
        uint64_t first, n;
    } slices[] = {{0, 64, 96}, {0, 32, 32}, {1, 3, 4}, {2, 1, 2}, {1, 2, 1}, {2, 0, 0}};
    fake_host host = begin_fake(0);
    const uint32_t types[] = {GGUFX_TYPE_MXFP4, GGUFX_TYPE_Q4_0, GGUFX_TYPE_F16};
    fake->buffer_bytes = 8 << 20; /* large enough for one buffer */
    for (size_t t = 0; t < 3; t++) {
        matrix m = random_matrix(types[t], 8 * 3, 192, 0);
        const uint64_t ne[3] = {192, 8, 3};
        ggufx_tensor *here = NULL;
        OK(tensor_of(&here, host.rt, types[t], 3, ne, 0, m.data, m.n_bytes, "w", NULL, NULL,
                     ok_error()));
        ggufx_tensor *there = upload(host.device, here);
        for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
            ggufx_tensor *a = NULL, *b = NULL, *c = NULL;
            ggufx_error error;
            const ggufx_status status =
                ggufx_tensor_slice(&a, here, slices[i].dim, slices[i].first, slices[i].n, NULL);
            assert_int_equal(
                ggufx_tensor_slice(&b, there, slices[i].dim, slices[i].first, slices[i].n, &error),
                status);
            if (status != GGUFX_OK) continue;
            assert_same_product(host.rt, host.device, b, a, 3, 0);
            assert_same_product(host.rt, host.device, b, a, 4, GGUFX_MATMUL_F32);
            ggufx_tensor_facts facts = {.struct_size = sizeof facts};
            OK(ggufx_tensor_info(&facts, b, ok_error()));
            uint8_t *bytes = malloc((size_t)facts.n_bytes + 1);
            OK(ggufx_tensor_download(bytes, (size_t)facts.n_bytes, b, ok_error()));
            ggufx_tensor_facts from = {.struct_size = sizeof from};
            OK(ggufx_tensor_info(&from, a, ok_error()));
            for (uint64_t r = 0; r < facts.n_rows; r++)
                assert_memory_equal(bytes + r * facts.row_bytes,
                                    (const uint8_t *)ggufx_tensor_data(a) + r * from.row_stride,
                                    facts.row_bytes);
            free(bytes);
            /* A slice of a slice; it keeps the memory. */
            if (facts.ne[1] > 1 &&
                ggufx_tensor_slice(&c, b, 1, 1, facts.ne[1] - 1, NULL) == GGUFX_OK) {
                ggufx_tensor *d = NULL;
                OK(ggufx_tensor_slice(&d, a, 1, 1, facts.ne[1] - 1, ok_error()));
                ggufx_tensor_destroy(b);
                b = NULL;
                assert_same_product(host.rt, host.device, c, d, 1, 0);
                ggufx_tensor_destroy(d);
            }
            ggufx_tensor_destroy(c);
            ggufx_tensor_destroy(b);
            ggufx_tensor_destroy(a);
        }
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
    }
    end_fake(&host);
}

/* Limits of buffers, ranges and launches so small that all work is split. */
static void test_limits_of_a_device_change_no_bit(void **state) {
    (void)state;
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        fake->unmapped = unmapped;
        fake->range_bytes = 3000;
        fake->launch_values = 5000;
        fake_host host = begin_fake(0);
        ggufx_device_destroy(host.device);
        fake->buffer_bytes = 4 << 20; /* minimum for scratch */
        host.device = open_fake(host.rt, 0);
        matrix m = random_matrix(GGUFX_TYPE_Q5_K, 2003, 1024, 0);
        /* Rows of 704 bytes: two buffers would hold the weights; this limit forces more. */
        matrix long_rows = random_matrix(GGUFX_TYPE_F32, 3, 1 << 21, 0);
        ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = upload(host.device, here);
        for (size_t n = 1; n <= 7; n += 2) {
            assert_same_product(host.rt, host.device, there, here, n, 0);
            assert_same_product(host.rt, host.device, there, here, n,
                                GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_F32);
        }
        assert_true(fake->most_values <= 5000);
        assert_true(fake->most_unsubmitted <= 2 * 5000);
        ggufx_tensor *part = NULL, *part_here = NULL;
        OK(ggufx_tensor_slice(&part, there, 1, 100, 1900, ok_error()));
        OK(ggufx_tensor_slice(&part_here, here, 1, 100, 1900, ok_error()));
        assert_same_product(host.rt, host.device, part, part_here, 2, 0);
        uint8_t *bytes = malloc((size_t)(m.n_rows * m.row_bytes));
        OK(ggufx_tensor_download(bytes, (size_t)(m.n_rows * m.row_bytes), there, ok_error()));
        assert_memory_equal(bytes, m.data, m.n_bytes);
        free(bytes);
        ggufx_tensor_destroy(part);
        ggufx_tensor_destroy(part_here);
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
        /* Columns longer than the previous scratch. */
        fake->buffer_bytes = 64 << 20;
        ggufx_device_destroy(host.device);
        host.device = open_fake(host.rt, 0);
        here = wrap_matrix(host.rt, &long_rows);
        there = upload(host.device, here);
        assert_same_product(host.rt, host.device, there, here, 2, 0);
        bytes = malloc((size_t)long_rows.n_bytes);
        OK(ggufx_tensor_download(bytes, (size_t)long_rows.n_bytes, there, ok_error()));
        assert_memory_equal(bytes, long_rows.data, long_rows.n_bytes);
        free(bytes);
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
        free_matrix(&long_rows);
        end_fake(&host);
    }
}

static void test_many_matrices_here_and_there_have_the_bits_of_matvec(void **state) {
    (void)state;
    enum { most = 40, cols = 512 };
    fake_host host = begin_fake(0);
    float *x = random_values(cols, 3), *y[most];
    matrix m[most];
    ggufx_tensor *here[most], *there[most];
    const ggufx_tensor *mixed[most];
    size_t n_y[most];
    for (size_t i = 0; i < most; i++) {
        n_y[i] = 1 + i * 37 % 90;
        m[i] = random_matrix(product_types[i % N_PRODUCT_TYPES], n_y[i], cols, 0);
        here[i] = wrap_matrix(host.rt, &m[i]);
        there[i] = upload(host.device, here[i]);
        mixed[i] = i % 3 ? there[i] : here[i];
        y[i] = malloc(n_y[i] * sizeof(float));
    }
    for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++) {
        const ggufx_matmul_options options = options_with(product_modes[mode], NULL, NULL);
        for (size_t i = 0; i < most; i++) memset(y[i], 0xee, n_y[i] * sizeof(float));
        OK(matvec_many(y, n_y, host.rt, mixed, most, x, cols, &options, ok_error()));
        for (size_t i = 0; i < most; i++) {
            float *want = product(host.rt, &m[i], x, 1, product_modes[mode]);
            assert_equal_bits(y[i], want, n_y[i]);
            free(want);
        }
    }
    for (size_t i = 0; i < most; i++) {
        ggufx_tensor_destroy(there[i]);
        ggufx_tensor_destroy(here[i]);
        free_matrix(&m[i]);
        free(y[i]);
    }
    free(x);
    end_fake(&host);
}

static void test_experts_there_have_the_bits_of_those_here(void **state) {
    (void)state;
    static const struct {
        size_t n_experts, rows, cols, n, n_used;
    } shapes[] = {
        {8, 40, 256, 1, 8}, {8, 33, 512, 3, 2}, {16, 17, 256, 30, 2}, {1, 50, 256, 20, 1}};
    fake_host host = begin_fake(0);
    for (size_t t = 0; t < N_PRODUCT_TYPES; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            mixture here = {shapes[s].n_experts, shapes[s].rows,   shapes[s].cols,
                            shapes[s].n,         shapes[s].n_used, .w = NULL};
            make_mixture(&here, host.rt, product_types[t]);
            ggufx_tensor *there = upload(host.device, here.w);
            for (size_t mode = 0; mode < N_PRODUCT_MODES; mode++)
                assert_same_mixture(host.rt, host.device, &here, there, product_modes[mode]);
            ggufx_tensor_destroy(there);
            free_mixture(&here);
        }
    }
    for (size_t t = 0; t < n_multiplied_types; t++)
        assert_experts_have_the_bits_of_here(host.rt, host.device, multiplied_types[t],
                                             product_modes, N_PRODUCT_MODES);
    end_fake(&host);
}

static void test_progress_is_reported_and_can_cancel(void **state) {
    (void)state;
    fake_host host = begin_fake(0);
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, 300, 4096, 0);
    ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = NULL;
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        fake->unmapped = unmapped;
        polls p = {.cancel_at = 0};
        ggufx_progress progress = poll_progress(&p);
        const uint64_t live = fake->live_bytes;
        assert_int_equal(ggufx_tensor_upload(&there, host.device, here, &progress, NULL),
                         GGUFX_E_CANCELLED);
        assert_null(there);
        assert_int_equal(fake->live_bytes, live);
    }
    there = upload(host.device, here);
    float *x = random_values(4096, 1), *y = malloc(300 * sizeof *y);
    fake->n_busy = 4;
    polls p = {.cancel_at = 2};
    ggufx_progress progress;
    const ggufx_matmul_options options = options_with(0, &progress, &p);
    ggufx_error error;
    assert_int_equal(ggufx_matvec(y, 300, host.rt, there, x, 4096, &options, &error),
                     GGUFX_E_CANCELLED);
    assert_non_null(strstr(error.message, "cancelled"));
    assert_int_equal(p.total, 300);
    fake->n_busy = 0;
    assert_same_product(host.rt, host.device, there, here, 3, 0);
    free(x);
    free(y);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
    end_fake(&host);
}

/* A host may free handles in any order. */
static void test_handles_go_in_any_order(void **state) {
    (void)state;
    for (unsigned order = 0; order < 24; order++) {
        fake_host host = begin_fake(0);
        matrix m = random_matrix(GGUFX_TYPE_Q4_K, 5, 256, 0);
        ggufx_tensor *here = wrap_matrix(host.rt, &m), *there = upload(host.device, here);
        ggufx_tensor *slice = NULL;
        OK(ggufx_tensor_slice(&slice, there, 1, 1, 3, ok_error()));
        unsigned left[4] = {0, 1, 2, 3}, code = order;
        for (unsigned n = 4; n > 0; n--) {
            const unsigned at = code % n;
            code /= n;
            switch (left[at]) {
            case 0:
                ggufx_device_destroy(host.device);
                break;
            case 1:
                ggufx_runtime_destroy(host.rt);
                break;
            case 2:
                ggufx_tensor_destroy(there);
                break;
            default:
                ggufx_tensor_destroy(slice);
            }
            left[at] = left[n - 1];
        }
        ggufx_tensor_destroy(here);
        free_matrix(&m);
        assert_int_equal(fake->live_devices + fake->live_buffers + fake->n_faults, 0);
        reset_fake();
    }
}

int main(int argc, char **argv) {
    use_fake(argc > 1 ? argv[1] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_of_a_plug_in_are_listed),
        cmocka_unit_test(test_entries_of_any_size_are_filled),
        cmocka_unit_test(test_an_opened_device_is_described),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_every_type_mode_and_number_of_columns_has_the_processors_bits),
        cmocka_unit_test(test_each_exact_fma_has_the_processors_bits),
        cmocka_unit_test(test_rows_of_any_length_and_stride_are_taken),
        cmocka_unit_test(test_words_of_rows_are_added_up_there),
        cmocka_unit_test(test_empty_lists_are_results),
        cmocka_unit_test(test_work_of_a_launch_is_bounded_at_the_largest_sizes),
        cmocka_unit_test(test_words_of_a_part_of_rows_are_refused),
        cmocka_unit_test(test_no_rows_take_no_memory),
        cmocka_unit_test(test_slices_there_are_those_here),
        cmocka_unit_test(test_limits_of_a_device_change_no_bit),
        cmocka_unit_test(test_many_matrices_here_and_there_have_the_bits_of_matvec),
        cmocka_unit_test(test_experts_there_have_the_bits_of_those_here),
        cmocka_unit_test(test_progress_is_reported_and_can_cancel),
        cmocka_unit_test(test_handles_go_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
