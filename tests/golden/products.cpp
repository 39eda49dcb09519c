// Products of every kernel set against sums in f64: the shared vectors, or the rows of this folder
// times generated activations. tests/tolerances.h has the tolerances with their reasons.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include "../checkasm/data.hpp"
#include "../checkasm/product.hpp"
#include "../tolerances.h"
#include "base/cpu.hpp"
#include "base/fpenv.hpp"

#include <math.h>
#include <stdio.h>
#include <string.h>

namespace golden {

using namespace ggufx;
using testdata::Mode;
using testdata::Product;

namespace {

// Returns the values that packed integer activations represent, from the definition of a block of
// 32 alone; largest is 127 or 16256.
std::vector<double> packed_activations(const float *x, size_t k, float largest) {
    std::vector<double> a(k);
    for (size_t b = 0; b < k; b += 32) {
        float amax = 0.0f;
        for (size_t i = b; i < b + 32; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
        if (amax < 0x1p-100f) continue;
        const float step = amax / largest, inverse = largest / amax;
        for (size_t i = b; i < b + 32; i++) {
            const volatile float scaled = x[i] * inverse;
            a[i] = static_cast<double>(step) * nearbyint(static_cast<double>(scaled));
        }
    }
    return a;
}

// One matrix: rows of blocks, their dequantized values, a few columns of activations.
struct Matrix {
    const char *name;
    const fmt::TypeInfo *type;
    const uint8_t *rows;
    size_t n_rows, k;
    std::vector<double> values; // [n_rows][k]
    const float *x;             // [n_columns][k]
    size_t n_columns;
};

struct Sums {
    double exact, magnitude;
};

Sums sums_of(const Matrix &m, size_t row, const double *a) {
    Sums s = {0.0, 0.0};
    for (size_t i = 0; i < m.k; i++) {
        const double p = m.values[row * m.k + i] * a[i];
        s.exact += p;
        s.magnitude += fabs(p);
    }
    return s;
}

struct Errors {
    double squares = 0.0, reference = 0.0;
    size_t n = 0;
};

// Checks all columns in calls of n columns; column j of each call is x's column j % n_columns.
void check_calls(Report &r, const kernels::Kernels &kernels, const Matrix &m, size_t n, Mode mode,
                 Errors *errors) {
    std::vector<float> x(n * m.k), y(n * m.n_rows);
    for (size_t c = 0; c < n; c++) {
        memcpy(x.data() + c * m.k, m.x + c % m.n_columns * m.k, m.k * sizeof(float));
    }
    const size_t stride = m.k / m.type->block_values * m.type->block_bytes;
    const Product p = {m.type->id, {m.rows, stride, m.n_rows, m.k}, x.data(), m.k, n, mode};
    if (!r.check(testdata::multiply({y.data(), m.n_rows}, kernels, p), "%s: no product", m.name))
        return;
    const double tolerance = mode == Mode::f32 ? TOLERANCE_F32 : TOLERANCE_CANONICAL;
    const char *const mode_names[] = {"int8", "precise", "f32"};
    const float largest = mode == Mode::int8 ? 127.0f : 16256.0f;
    for (size_t c = 0; c < n; c++) {
        const float *column = x.data() + c * m.k;
        const std::vector<double> plain(column, column + m.k);
        const std::vector<double> a =
            mode == Mode::f32 ? plain : packed_activations(column, m.k, largest);
        for (size_t row = 0; row < m.n_rows; row++) {
            const Sums want = sums_of(m, row, a.data());
            const double got = static_cast<double>(y[c * m.n_rows + row]);
            if (!r.check(
                    fabs(got - want.exact) <= tolerance * want.magnitude,
                    "%s %s %s n=%zu row %zu column %zu: %a, expected %a, error %.3g of sum|wx|",
                    kernels.name, m.name, mode_names[static_cast<int>(mode)], n, row, c, got,
                    want.exact, fabs(got - want.exact) / want.magnitude))
                return;
            const Sums plain_sum = sums_of(m, row, plain.data());
            errors->squares += (got - plain_sum.exact) * (got - plain_sum.exact);
            errors->reference += plain_sum.exact * plain_sum.exact;
            errors->n++;
        }
    }
}

void check_matrix(Report &r, const Matrix &m, Errors *int8_errors, Errors *precise_errors) {
    const kernels::Kernels *list[8];
    const size_t n_kernels = kernels::list(list, 8, cpu::features());
    for (size_t i = 0; i < n_kernels; i++) {
        for (const size_t n : {size_t{1}, size_t{3}, size_t{4}}) {
            Errors ignored;
            check_calls(r, *list[i], m, n, Mode::int8, i == 0 ? int8_errors : &ignored);
            check_calls(r, *list[i], m, n, Mode::precise, i == 0 ? precise_errors : &ignored);
            check_calls(r, *list[i], m, n, Mode::f32, &ignored);
        }
    }
}

std::vector<double> floats_of(const uint8_t *bytes, size_t n) {
    std::vector<double> out(n);
    for (size_t i = 0; i < n; i++) out[i] = static_cast<double>(load_f32le(bytes + 4 * i));
    return out;
}

// The published f64 sums agree with those of this test.
void check_published_sums(Report &r, const Matrix &m, const Bytes &file) {
    if (!r.check(file.size() == 8 * m.n_rows * m.n_columns, "%s: odd matvec_f64", m.name)) return;
    for (size_t row = 0; row < m.n_rows; row++) {
        for (size_t c = 0; c < m.n_columns; c++) {
            const std::vector<double> a(m.x + c * m.k, m.x + (c + 1) * m.k);
            const Sums s = sums_of(m, row, a.data());
            const double want = load_f64le(file.data() + 8 * (row * m.n_columns + c));
            r.check(fabs(s.exact - want) <= 1e-12 * s.magnitude, "%s: matvec_f64 row %zu", m.name,
                    row);
        }
    }
}

struct Item {
    char type[16], set[16], weighting[8];
    unsigned n_rows, n_columns, k;
};

// Reads one "matvec_f64/..." object of manifest.json at `text`; its "x" names the vectors.
bool parse_item(Item *item, const char *text) {
    if (sscanf(text,
               "\"name\": \"matvec_f64/%15[^/]/%15[^/]/%7[^\"]\", \"dtype\": \"f64\","
               " \"shape\": [ %u , %u",
               item->type, item->set, item->weighting, &item->n_rows, &item->n_columns) != 5)
        return false;
    const char *x = strstr(text, "\"x\": \"x/");
    return x && sscanf(x, "\"x\": \"x/%u\"", &item->k) == 1;
}

bool check_item(Report &r, const std::string &folder, const Item &item, Errors *errors,
                Errors *precise_errors) {
    const std::string tail =
        std::string(item.type) + "_" + item.set + "_" + item.weighting + ".bin";
    Bytes q, deq, x, sums;
    if (!r.check(read_file(&q, folder + "/q_" + tail) && read_file(&deq, folder + "/deq_" + tail) &&
                     read_file(&x, folder + "/x_" + std::to_string(item.k) + ".bin") &&
                     read_file(&sums, folder + "/matvec_f64_" + tail),
                 "files of %s are missing", tail.c_str()))
        return false;
    const fmt::TypeInfo *type = fmt::type_by_name(item.type, strlen(item.type));
    if (!r.check(type && deq.size() == size_t{4} * item.n_rows * item.k &&
                     x.size() == size_t{4} * item.n_columns * item.k,
                 "%s: odd sizes", tail.c_str()))
        return false;
    std::vector<float> columns;
    for (const double v : floats_of(x.data(), size_t{item.n_columns} * item.k)) {
        columns.push_back(static_cast<float>(v));
    }
    const Matrix m = {tail.c_str(),   type,
                      q.data(),       item.n_rows,
                      item.k,         floats_of(deq.data(), size_t{item.n_rows} * item.k),
                      columns.data(), item.n_columns};
    check_published_sums(r, m, sums);
    check_matrix(r, m, errors, precise_errors);
    return true;
}

// Checks the errors of all items of one type: single items have too few results for an average.
void check_errors(Report &r, const Errors *errors, unsigned bits, double tolerance) {
    double worst = 0.0;
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        if (errors[id].n == 0) continue;
        const double rms = sqrt(errors[id].squares / errors[id].reference);
        worst = rms > worst ? rms : worst;
        r.check(rms <= tolerance, "%s: relative rms %.3g of %u-bit activations",
                fmt::type_info(id)->name, rms, bits);
    }
    r.note("relative rms of %u-bit activations: %.3g at most", bits, worst);
}

// Checks each row alone, so that rows with infinite scales are skipped; returns whether one was
// checked.
bool check_finite_rows(Report &r, const char *name, const fmt::TypeInfo &type, const uint8_t *q,
                       size_t n_rows, size_t k, const float *x) {
    const size_t row_bytes = k / type.block_values * type.block_bytes;
    const uint8_t *deq = q + n_rows * row_bytes;
    bool any = false;
    for (size_t row = 0; row < n_rows; row++) {
        const Matrix m = {name, &type, q + row * row_bytes, 1, k, floats_of(deq + 4 * row * k, k),
                          x,    3};
        double largest = 0.0;
        for (const double v : m.values) largest = fabs(v) <= largest ? largest : fabs(v);
        if (!(largest < 1e20)) continue; // NaN too
        Errors ignored;
        check_matrix(r, m, &ignored, &ignored);
        any = true;
    }
    return any;
}

void check_stored_sums(Report &r) {
    const std::string folder = shared_folder("golden");
    Bytes manifest;
    if (folder.empty() || !read_file(&manifest, folder + "/manifest.json"))
        return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
    const std::string text(manifest.begin(), manifest.end());
    const char *const start = "\"name\": \"matvec_f64/";
    size_t n_items = 0, n_listed = 0;
    Errors errors[fmt::kTypeIds], precise_errors[fmt::kTypeIds];
    for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
        Item item;
        n_listed++;
        if (!r.check(parse_item(&item, text.c_str() + at), "manifest item %zu is odd", n_items))
            continue;
        const fmt::TypeInfo *type = fmt::type_by_name(item.type, strlen(item.type));
        if (!r.check(type != nullptr, "no type is called %s", item.type)) continue;
        n_items += check_item(r, folder, item, &errors[type->id], &precise_errors[type->id]);
    }
    check_errors(r, errors, 8, TOLERANCE_INT8_RMS);
    check_errors(r, precise_errors, 15, TOLERANCE_INT15_RMS);
    r.check(n_items > 0 && n_items == n_listed, "%zu items of %zu", n_items, n_listed);
    r.note("%zu items", n_items);
}

} // namespace

int test_products_match_sums_of_carried_rows(Report &r, const std::string &folder) {
    Bytes manifest, data;
    if (!r.check(read_file(&manifest, folder + "/MANIFEST") &&
                     read_file(&data, folder + "/deq_rows.bin"),
                 "no MANIFEST or deq_rows.bin in %s", folder.c_str()))
        return 1;
    const std::string text(manifest.begin(), manifest.end());
    testdata::Random random(5);
    size_t n_types = 0;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        char name[16];
        unsigned long offset;
        unsigned n_rows, k;
        if (sscanf(text.c_str() + at, "%15s %lu %u %u", name, &offset, &n_rows, &k) != 4) continue;
        const fmt::TypeInfo *type = fmt::type_by_name(name, strlen(name));
        uint64_t row = 0;
        if (text[at] == '#' || !type || !fmt::row_bytes(&row, *type, k) ||
            offset + n_rows * (row + uint64_t{4} * k) > data.size())
            continue;
        std::vector<float> x(size_t{3} * k);
        testdata::fill_values(x.data(), x.size(), testdata::Values::plain, random);
        n_types += check_finite_rows(r, name, *type, data.data() + offset, n_rows, k, x.data());
    }
    r.check(n_types >= 20, "only %zu types", n_types);
    r.note("%zu types", n_types);
    check_stored_sums(r);
    return r.exit_code();
}

} // namespace golden
