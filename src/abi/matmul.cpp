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

namespace {

// A checked product of ggufx_matmul.
struct Checked {
    const ggufx_tensor *w;
    Columns x, y;
    size_t n, n_results, n_used;
    const uint32_t *ids; // null: no experts
    uint64_t n_experts;

    bool shares_x(const Checked &other) const {
        return !ids && !other.ids && x.data == other.x.data && x.ld == other.x.ld &&
               x.length == other.x.length && n == other.n;
    }
};

// Checks the shape of w as experts, and their ids.
Status check_experts(const gguf::Tensor &w, const ggufx_product &p, Failure *failure) {
    uint64_t n_results;
    if (w.ne[3] != 1) {
        return set_failure(failure, Status::argument, {},
                           "w has ne3 = %" PRIu64 ": experts are matrices along ne2", w.ne[3]);
    }
    if (!checked::mul(&n_results, uint64_t{p.n}, uint64_t{p.n_used}) || n_results > SIZE_MAX / 16) {
        return set_failure(failure, Status::argument, {}, "%zu columns of %zu ids are too many",
                           p.n, p.n_used);
    }
    for (size_t i = 0; i < n_results; i++) {
        if (p.ids[i] < w.ne[2]) continue;
        return set_failure(failure, Status::argument, {},
                           "ids[%zu] is %" PRIu32 ", there are %" PRIu64 " experts", i, p.ids[i],
                           w.ne[2]);
    }
    return Status::ok;
}

Status check_product(Checked *out, const ggufx_product &p, Failure *failure) {
    if (!alive(p.w, Tag::tensor)) {
        return set_failure(failure, Status::argument, {}, "w is not a live tensor");
    }
    const gguf::Tensor view = p.w->view();
    const uint64_t rows = p.ids ? view.ne[1] : view.n_rows, cols = view.ne[0];
    if (!p.ids && p.n_used) {
        return set_failure(failure, Status::argument, {}, "ids must be set for n_used = %zu",
                           p.n_used);
    }
    Status status = p.ids ? check_experts(view, p, failure) : Status::ok;
    if (status != Status::ok) return status;
    *out = {p.w,
            {"x", p.x, p.ldx ? p.ldx : cols, p.n_x, cols},
            {"y", p.y, p.ldy ? p.ldy : rows, p.n_y, rows},
            p.n,
            p.ids ? p.n * p.n_used : p.n,
            p.n_used,
            p.ids,
            view.ne[2]};
    return check_buffers(out->y, out->n_results, out->x, p.n, failure);
}

// Refuses a result that overlaps the input or result of an earlier product, or the reverse.
Status check_overlaps(const Checked *all, size_t i, Failure *failure) {
    const Checked &now = all[i];
    for (size_t j = 0; j < i; j++) {
        const Checked &before = all[j];
        if (!overlap(now.y, now.n_results, before.y, before.n_results) &&
            !overlap(now.y, now.n_results, before.x, before.n) &&
            !overlap(before.y, before.n_results, now.x, now.n))
            continue;
        return set_failure(failure, Status::argument, {}, "y overlaps x or y of product %zu", j);
    }
    return Status::ok;
}

// Computes n products of one x.
Status multiply_shared(const ggufx_runtime *rt, const Checked *list, size_t n,
                       const matmul::Options &options, Failure *failure) {
    const Columns &x = list->x;
    const auto ldx = static_cast<size_t>(x.ld);
    const auto y_of = [](const Checked &p) { return const_cast<float *>(p.y.data); };
    if (n == 1) // without the list, whose elements cost more than the checks
        return rt->engine->matmul(y_of(*list), static_cast<size_t>(list->y.ld),
                                  weights_of(*list->w), x.data, ldx, list->n, options, failure);
    matmul::Product products[GGUFX_MATMUL_MAX_PRODUCTS];
    for (size_t i = 0; i < n; i++)
        products[i] = {weights_of(*list[i].w), y_of(list[i]), static_cast<size_t>(list[i].y.ld)};
    return rt->engine->matmul_many(products, n, x.data, ldx, list->n, options, failure);
}

Status multiply_experts(const ggufx_runtime *rt, const Checked &p, const matmul::Options &options,
                        Failure *failure) {
    const matmul::Experts experts = {weights_of(*p.w), p.n_experts, p.ids, p.n_used};
    return rt->engine->matmul_id(const_cast<float *>(p.y.data), static_cast<size_t>(p.y.ld),
                                 experts, p.x.data, static_cast<size_t>(p.x.ld), p.n, options,
                                 failure);
}

Status at_product(Status status, size_t i, Failure *failure) {
    if (status != Status::ok && failure) failure->index = i;
    return status;
}

} // namespace

extern "C" ggufx_status ggufx_matmul(const ggufx_runtime *rt, const ggufx_product *products,
                                     size_t n_products, const ggufx_matmul_options *options,
                                     ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(rt, Tag::runtime)) {
            return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
        }
        const matmul::Options imported = import_matmul_options(options);
        if (n_products > GGUFX_MATMUL_MAX_PRODUCTS) {
            return set_failure(failure, Status::argument, {}, "%zu products, the limit is %d",
                               n_products, GGUFX_MATMUL_MAX_PRODUCTS);
        }
        if (n_products && !products) return refuse(error, "products must be set");
        Checked all[GGUFX_MATMUL_MAX_PRODUCTS];
        const StructList list(products, n_products, 0, "ggufx_product");
        for (size_t i = 0; i < n_products; i++) {
            Status status = check_product(&all[i], list.at(i), failure);
            if (status == Status::ok) status = check_overlaps(all, i, failure);
            if (status != Status::ok) return at_product(status, i, failure);
        }
        for (size_t i = 0, n_done = 1; i < n_products; i += n_done) {
            n_done = 1;
            while (i + n_done < n_products && all[i].shares_x(all[i + n_done])) n_done++;
            const Status status = all[i].ids
                                      ? multiply_experts(rt, all[i], imported, failure)
                                      : multiply_shared(rt, all + i, n_done, imported, failure);
            if (status == Status::ok) continue;
            const bool told = failure && failure->index < n_done; // index within those of one x
            return at_product(status, told ? i + failure->index : i, failure);
        }
        return Status::ok;
    });
}
