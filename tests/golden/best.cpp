// GGUFX_QUANTIZE_REFINED on generated rows (bell-shaped, heavy-tailed, ties, rounding edge cases),
// and on those of GGUFX_TEST_DATA if it exists. No block has a larger error than the reference's,
// and for types with a choice the total error is smaller.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/host.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "made_rows.hpp"
#include "quant/quantize.hpp"

#include <math.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

bool read_rows(Rows *rows, const std::string &folder) {
    Bytes x, w;
    if (!read_file(&x, folder + "/input_" + rows->name + ".bin") ||
        !read_file(&w, folder + "/imatrix_" + rows->name + ".bin"))
        return false;
    rows->n_columns = w.size() / 4;
    for (size_t i = 0; i < x.size() / 4; i++) rows->x.push_back(load_f32le(x.data() + 4 * i));
    for (size_t i = 0; i < w.size() / 4; i++) rows->imatrix.push_back(load_f32le(w.data() + 4 * i));
    return rows->n_columns > 0 && rows->x.size() % rows->n_columns == 0;
}

std::vector<float> coded(Report &r, const Host &host, const fmt::TypeInfo &type, const Rows &rows,
                         const float *imatrix, bool best) {
    const kernels::Kernels *sets[8];
    const size_t n_sets = kernels::list(sets, 8, cpu::features());
    const size_t row_bytes = rows.n_columns / type.block_values * type.block_bytes;
    const size_t n_rows = rows.x.size() / rows.n_columns;
    Bytes blocks(n_rows * row_bytes);
    std::vector<float> y(rows.x.size());
    Failure failure = {};
    const Status status = quant::quantize(
        {blocks.data(), blocks.size(), type.id}, host, *sets[n_sets - 1],
        {rows.x.data(), n_rows, rows.n_columns, imatrix, best}, Progress(), &failure);
    r.check(status == Status::ok, "%s: %s", type.name, failure.message);
    for (size_t row = 0; row < n_rows; row++)
        fmt::decode_row(y.data() + row * rows.n_columns, type, blocks.data() + row * row_bytes,
                        rows.n_columns);
    return y;
}

// Returns the squared error of one block; infinite if a scale is.
double error_of(const std::vector<float> &y, const Rows &rows, const float *imatrix, size_t first,
                size_t n) {
    double error = 0;
    for (size_t i = first; i < first + n; i++) {
        const double diff = static_cast<double>(y[i]) - static_cast<double>(rows.x[i]);
        error += (imatrix ? static_cast<double>(imatrix[i % rows.n_columns]) : 1.0) * diff * diff;
    }
    return error;
}

void check_type(Report &r, const Host &host, const fmt::TypeInfo &type, const Rows &rows,
                const float *imatrix) {
    const std::vector<float> was = coded(r, host, type, rows, imatrix, false);
    const std::vector<float> is = coded(r, host, type, rows, imatrix, true);
    const std::vector<float> zeros(is.size());
    double before = 0, after = 0; // sums of errors relative to the blocks' magnitudes
    for (size_t i = 0; i < is.size(); i += type.block_values) {
        const double old_error = error_of(was, rows, imatrix, i, type.block_values);
        const double new_error = error_of(is, rows, imatrix, i, type.block_values);
        if (!isfinite(old_error)) continue;
        // Tolerance of one ulp: some sums have another order.
        r.check(new_error <= old_error * (1 + 1e-12), "%s, %s: block %zu: %g for %g", type.name,
                rows.name, i / type.block_values, new_error, old_error);
        const double square = error_of(zeros, rows, imatrix, i, type.block_values);
        if (square > 0) before += old_error / square, after += new_error / square;
    }
    // Q1_0: the mean magnitude is the best scale. Edge-case rows may leave no choice.
    const bool no_choice = (type.id == 41 && !imatrix) || strcmp(rows.name, "edge") == 0;
    r.check(no_choice || after < 0.9999 * before, "%s, %s: %g in all, not below %g", type.name,
            rows.name, after, before);
}

} // namespace

int test_best_is_never_worse(Report &r, const std::string &) {
    const Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 2});
    std::vector<Rows> sets = made_rows();
    const std::string folder = shared_folder("golden");
    if (folder.empty()) r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
    for (const char *name : {"gauss", "heavy", "model", "edge", "ties"}) {
        Rows rows = {name, 0, {}, {}};
        if (folder.empty()) break;
        if (r.check(read_rows(&rows, folder), "the rows of %s are missing", name))
            sets.push_back(rows);
    }
    size_t n = 0;
    for (const Rows &rows : sets) {
        for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
            const fmt::TypeInfo *type = fmt::type_info(id);
            const kernels::Encode *encoder = quant::encoder(id);
            if (!type || type->block_values == 1 || !encoder) continue;
            check_type(r, *host, *type, rows, rows.imatrix.data());
            if (!encoder->needs.imatrix) check_type(r, *host, *type, rows, nullptr);
            n++;
        }
    }
    r.check(n == sets.size() * 25, "%zu types and sets, not %zu", n, sets.size() * 25);
    return r.exit_code();
}

} // namespace golden
