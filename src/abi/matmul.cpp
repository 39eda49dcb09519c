// Matrix products: include/ggufx/matmul.h. No function allocates, even on errors.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/matmul_flags.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"

#include <ggufx/matmul.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

// n columns of `length` floats, ld floats apart, in a buffer of n_given floats.
struct Columns {
    const char *name;
    const float *data;
    uint64_t ld;
    uint64_t n_given;
    uint64_t length;

    // Floats from the first to the last value; false on overflow.
    bool extent(uint64_t *out, uint64_t n) const {
        if (n == 0 || length == 0) {
            *out = 0;
            return true;
        }
        return checked::mul(out, n - 1, ld) && checked::add(out, *out, length);
    }
};

Status check_columns(const Columns &c, uint64_t n, Failure *failure) {
    uint64_t needed;
    if (n > 1 && c.ld < c.length) {
        return set_failure(failure, Status::argument, {},
                           "ld%s is %" PRIu64 ", less than a column of %" PRIu64, c.name, c.ld,
                           c.length);
    }
    if (!c.extent(&needed, n) || needed > c.n_given) {
        return set_failure(failure, Status::argument, {},
                           "%s holds %" PRIu64 " floats; %" PRIu64 " columns of %" PRIu64
                           " values, %" PRIu64 " apart, need more",
                           c.name, c.n_given, n, c.length, c.ld);
    }
    if (needed && !c.data) {
        return set_failure(failure, Status::argument, {}, "%s must be set", c.name);
    }
    return Status::ok;
}

bool overlap(const Columns &a, uint64_t n_a, const Columns &b, uint64_t n_b) {
    uint64_t na = 0, nb = 0;
    if (!a.extent(&na, n_a) || !b.extent(&nb, n_b)) return true;
    const auto begin_a = reinterpret_cast<uintptr_t>(a.data);
    const auto begin_b = reinterpret_cast<uintptr_t>(b.data);
    return na && nb && begin_a < begin_b + nb * sizeof(float) &&
           begin_b < begin_a + na * sizeof(float);
}

Status check_handles(const ggufx_runtime *rt, const ggufx_tensor *w, Failure *failure) {
    if (!alive(rt, Tag::runtime)) {
        return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
    }
    if (!alive(w, Tag::tensor)) {
        return set_failure(failure, Status::argument, {}, "w is not a live tensor");
    }
    return Status::ok;
}

matmul::Options import_matmul_options(const ggufx_matmul_options *public_options) {
    const auto in = import_options(public_options, kMatmulFlags, "ggufx_matmul_options");
    matmul::Options options = matmul_options(in.flags, "ggufx_matmul_options.flags");
    options.progress = import_progress(in.progress);
    return options;
}

// Checks n_to columns of results and n_from columns of input, which must not overlap.
Status check_buffers(const Columns &to, uint64_t n_to, const Columns &from, uint64_t n_from,
                     Failure *failure) {
    Status status = check_columns(to, n_to, failure);
    if (status == Status::ok) status = check_columns(from, n_from, failure);
    if (status != Status::ok) return status;
    if (overlap(to, n_to, from, n_from)) {
        return set_failure(failure, Status::argument, {}, "y overlaps x");
    }
    return Status::ok;
}

Status check_lengths(const gguf::Tensor &w, size_t n_y, size_t n_x, Failure *failure) {
    const uint64_t rows = w.n_rows, cols = w.ne[0];
    if (n_y == rows && n_x == cols) return Status::ok;
    return set_failure(failure, Status::argument, {},
                       "n_y is %zu for %" PRIu64 " rows, n_x is %zu for %" PRIu64 " columns", n_y,
                       rows, n_x, cols);
}

Status multiply(float *y, const Columns &to, const ggufx_runtime *rt, const ggufx_tensor &w,
                const Columns &from, size_t n, const ggufx_matmul_options *options,
                Failure *failure) {
    const Status status = check_buffers(to, n, from, n, failure);
    if (status != Status::ok) return status;
    return rt->engine->matmul(y, static_cast<size_t>(to.ld), weights_of(w), from.data,
                              static_cast<size_t>(from.ld), n, import_matmul_options(options),
                              failure);
}

} // namespace

extern "C" ggufx_status ggufx_matvec(float *y, size_t n_y, const ggufx_runtime *rt,
                                     const ggufx_tensor *w, const float *x, size_t n_x,
                                     const ggufx_matmul_options *options, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        Status status = check_handles(rt, w, failure);
        if (status != Status::ok) return status;
        const gguf::Tensor view = w->view();
        status = check_lengths(view, n_y, n_x, failure);
        if (status != Status::ok) return status;
        return multiply(y, {"y", y, n_y, n_y, n_y}, rt, *w, {"x", x, n_x, n_x, n_x}, 1, options,
                        failure);
    });
}

extern "C" ggufx_status ggufx_matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                     const ggufx_tensor *w, const float *x, size_t ldx, size_t n_x,
                                     size_t n, const ggufx_matmul_options *options,
                                     ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const Status status = check_handles(rt, w, failure);
        if (status != Status::ok) return status;
        const gguf::Tensor view = w->view();
        const uint64_t rows = view.n_rows, cols = view.ne[0];
        return multiply(y, {"y", y, ldy ? ldy : rows, n_y, rows}, rt, *w,
                        {"x", x, ldx ? ldx : cols, n_x, cols}, n, options, failure);
    });
}

namespace {

struct Outputs {
    float *const *y;
    const size_t *n_y;
    const ggufx_tensor *const *w;
    size_t n;

    Columns at(size_t i) const { return {"y", y[i], n_y[i], n_y[i], n_y[i]}; }
};

// Checks the lengths, and that a result overlaps neither the input nor an earlier result.
Status check_output(const Outputs &out, size_t i, const Columns &x, Failure *failure) {
    Status status =
        check_lengths(out.w[i]->view(), out.n_y[i], static_cast<size_t>(x.n_given), failure);
    if (status == Status::ok) status = check_buffers(out.at(i), 1, x, 1, failure);
    for (size_t j = 0; j < i && status == Status::ok; j++) {
        if (!overlap(out.at(i), 1, out.at(j), 1)) continue;
        status = set_failure(failure, Status::argument, {kNone, i}, "y[%zu] overlaps y[%zu]", i, j);
    }
    return status;
}

Status multiply_many(const Outputs &out, const ggufx_runtime *rt, const Columns &x,
                     const ggufx_matmul_options *options, Failure *failure) {
    if (out.n > GGUFX_MATVEC_MAX_MATRICES) {
        return set_failure(failure, Status::argument, {}, "%zu matrices, the limit is %d", out.n,
                           GGUFX_MATVEC_MAX_MATRICES);
    }
    if (out.n && !(out.y && out.n_y && out.w)) {
        return set_failure(failure, Status::argument, {}, "y, n_y and w must be set");
    }
    matmul::Product products[GGUFX_MATVEC_MAX_MATRICES];
    for (size_t i = 0; i < out.n; i++) {
        Status status = check_handles(rt, out.w[i], failure);
        if (status == Status::ok) status = check_output(out, i, x, failure);
        if (status != Status::ok) return status;
        products[i] = {weights_of(*out.w[i]), out.y[i], out.n_y[i]};
    }
    if (!alive(rt, Tag::runtime)) {
        return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
    }
    return rt->engine->matmul_many(products, out.n, x.data, static_cast<size_t>(x.ld), 1,
                                   import_matmul_options(options), failure);
}

// Checks the shape of w as experts: ne2 matrices of ne1 rows.
Status check_experts(const gguf::Tensor &w, const uint32_t *ids, size_t n_used, size_t n,
                     Failure *failure) {
    uint64_t n_results;
    if (w.ne[3] != 1) {
        return set_failure(failure, Status::argument, {},
                           "w has ne3 = %" PRIu64 ": experts are matrices along ne2", w.ne[3]);
    }
    if (!checked::mul(&n_results, uint64_t{n}, uint64_t{n_used}) || n_results > SIZE_MAX / 16) {
        return set_failure(failure, Status::argument, {}, "%zu columns of %zu ids are too many", n,
                           n_used);
    }
    if (n_results && !ids) return set_failure(failure, Status::argument, {}, "ids must be set");
    return Status::ok;
}

} // namespace

extern "C" ggufx_status ggufx_matvec_many(float *const *y, const size_t *n_y,
                                          const ggufx_runtime *rt, const ggufx_tensor *const *w,
                                          size_t n_w, const float *x, size_t n_x,
                                          const ggufx_matmul_options *options, ggufx_error *error) {
    return guard(error, [&] {
        return multiply_many({y, n_y, w, n_w}, rt, {"x", x, n_x, n_x, n_x}, options,
                             failure_of(error));
    });
}

extern "C" ggufx_status ggufx_matmul_id(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                        const ggufx_tensor *w, const uint32_t *ids, size_t n_used,
                                        const float *x, size_t ldx, size_t n_x, size_t n,
                                        const ggufx_matmul_options *options, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        Status status = check_handles(rt, w, failure);
        if (status != Status::ok) return status;
        const gguf::Tensor view = w->view();
        status = check_experts(view, ids, n_used, n, failure);
        if (status != Status::ok) return status;
        const uint64_t rows = view.ne[1], cols = view.ne[0];
        const Columns to = {"y", y, ldy ? ldy : rows, n_y, rows};
        const Columns from = {"x", x, ldx ? ldx : cols, n_x, cols};
        status = check_buffers(to, uint64_t{n} * n_used, from, n, failure);
        if (status != Status::ok) return status;
        const matmul::Experts experts = {weights_of(*w), view.ne[2], ids, n_used};
        return rt->engine->matmul_id(y, static_cast<size_t>(to.ld), experts, x,
                                     static_cast<size_t>(from.ld), n,
                                     import_matmul_options(options), failure);
    });
}
