// Products: include/ggufx/matmul.h. Nothing allocates, also not on the way to an error.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "base/checked.hpp"

#include <ggufx/matmul.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

extern "C" void ggufx_matmul_options_init(ggufx_matmul_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

namespace {

// n columns of `length` floats, ld apart, in a buffer of n_given floats.
struct Columns {
    const char *name;
    const float *data;
    uint64_t ld;
    uint64_t n_given;
    uint64_t length;

    // Floats from the first to the last value.
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

bool overlap(const Columns &a, const Columns &b, uint64_t n) {
    uint64_t na = 0, nb = 0;
    if (!a.extent(&na, n) || !b.extent(&nb, n)) return true;
    const auto begin_a = reinterpret_cast<uintptr_t>(a.data);
    const auto begin_b = reinterpret_cast<uintptr_t>(b.data);
    return na && nb && begin_a < begin_b + nb * sizeof(float) &&
           begin_b < begin_a + na * sizeof(float);
}

struct Operands {
    float *y;
    Columns to, from;
    uint64_t n;
};

Status check_operands(const ggufx_runtime *rt, const ggufx_tensor *w, Failure *failure) {
    if (!alive(rt, Tag::runtime)) {
        return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
    }
    if (!alive(w, Tag::tensor)) {
        return set_failure(failure, Status::argument, {}, "w is not a live tensor");
    }
    return Status::ok;
}

matmul::Options import_matmul_options(const ggufx_matmul_options *public_options) {
    const auto in = import_options(public_options, GGUFX_MATMUL_F32, "ggufx_matmul_options");
    matmul::Options options;
    options.f32_activations = (in.flags & GGUFX_MATMUL_F32) != 0;
    if (in.progress) {
        const auto progress = import_options(in.progress, 0, "ggufx_progress");
        options.progress = {progress.user, progress.report};
    }
    return options;
}

Status multiply(const Operands &o, const ggufx_runtime *rt, const ggufx_tensor *w,
                const ggufx_matmul_options *public_options, Failure *failure) {
    for (const Columns *c : {&o.to, &o.from}) {
        const Status status = check_columns(*c, o.n, failure);
        if (status != Status::ok) return status;
    }
    if (overlap(o.to, o.from, o.n)) {
        return set_failure(failure, Status::argument, {}, "y overlaps x");
    }
    const gguf::Tensor &t = w->view;
    const matmul::Weights weights = {t.type, t.data, t.row_stride, t.n_rows, t.ne[0]};
    return rt->engine->matmul(o.y, static_cast<size_t>(o.to.ld), weights, o.from.data,
                              static_cast<size_t>(o.from.ld), static_cast<size_t>(o.n),
                              import_matmul_options(public_options), failure);
}

} // namespace

extern "C" ggufx_status ggufx_matvec(float *y, size_t n_y, const ggufx_runtime *rt,
                                     const ggufx_tensor *w, const float *x, size_t n_x,
                                     const ggufx_matmul_options *options, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const Status status = check_operands(rt, w, failure);
        if (status != Status::ok) return status;
        const uint64_t rows = w->view.n_rows, cols = w->view.ne[0];
        if (n_y != rows || n_x != cols) {
            return set_failure(failure, Status::argument, {},
                               "n_y is %zu for %" PRIu64 " rows, n_x is %zu for %" PRIu64
                               " columns",
                               n_y, rows, n_x, cols);
        }
        const Operands o = {y, {"y", y, rows, n_y, rows}, {"x", x, cols, n_x, cols}, 1};
        return multiply(o, rt, w, options, failure);
    });
}

extern "C" ggufx_status ggufx_matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                     const ggufx_tensor *w, const float *x, size_t ldx, size_t n_x,
                                     size_t n, const ggufx_matmul_options *options,
                                     ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const Status status = check_operands(rt, w, failure);
        if (status != Status::ok) return status;
        const uint64_t rows = w->view.n_rows, cols = w->view.ne[0];
        const Operands o = {
            y, {"y", y, ldy ? ldy : rows, n_y, rows}, {"x", x, ldx ? ldx : cols, n_x, cols}, n};
        return multiply(o, rt, w, options, failure);
    });
}
