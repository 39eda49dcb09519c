// Products of whole matrices: choice of the mode, and error messages. The mode depends on the
// number of columns of the call alone (docs/reproducibility/products.md), so that neither workspace
// nor threads can change a bit.
// SPDX-License-Identifier: MIT
#include "matmul/product.hpp"
#include "base/cpu.hpp"
#include "matmul/remote.hpp"

#include <inttypes.h>

namespace ggufx::matmul {

using kernels::Layer;
using kernels::Rows;

Status too_long(const Call &call, size_t k, size_t need, Failure *failure) {
    return set_failure(failure, Status::limit,
                       {.value = need, .limit = 4 * uint64_t{call.workspace.per_call()}},
                       "one column of %" PRIu64 " values needs %" PRIu64
                       " bytes of workspace, more than 4 * workspace_bytes = 4 * %" PRIu64,
                       uint64_t{k}, uint64_t{need}, uint64_t{call.workspace.per_call()});
}

Status no_workspace(Failure *failure) {
    return set_failure(failure, Status::limit, {},
                       "other calls have held all workspace for seconds; raise workspace_bytes");
}

Status check_product(const kernels::Kernels &kernels, const Weights &w, Failure *failure) {
    const fmt::TypeInfo *type;
    const Status checked = check(&type, w, failure);
    if (checked != Status::ok) return checked;
    if (kernels::find(kernels, &Layer::matvec_f32, w.type)) return Status::ok;
    return set_failure(failure, Status::type, {}, "weights of type %s cannot be multiplied",
                       type->name);
}

Status explain(Status status, Failure *failure) {
    if (status == Status::ok || status == Status::limit) return status;
    if (status == Status::cancelled) {
        return set_failure(failure, status, {}, "the progress callback cancelled the product");
    }
    return set_failure(failure, status, {}, "the host's executor failed");
}

// Prefetches into L1 on CPUs with AVX-512 and AVX-VNNI. Zen 5 has both and gains; other CPUs with
// both do not lose.
Rows rows_of(const Weights &w) {
    constexpr uint64_t wants_near = cpu::avx512 | cpu::avxvnni;
    return {w.data, static_cast<size_t>(w.stride), static_cast<size_t>(w.n_rows),
            static_cast<size_t>(w.n_cols), (cpu::features() & wants_near) == wants_near};
}

void store_zeros(float *y, size_t ldy, size_t n_rows, size_t n) {
    for (size_t c = 0; c < n; c++) {
        for (size_t r = 0; r < n_rows; r++) y[c * ldy + r] = 0.0f;
    }
}

namespace {

// The products of one call, all with the same n columns.
class Products {
public:
    Products(Call &call, const float *x, size_t ldx, size_t n)
        : call_(call), x_(x), ldx_(ldx), n_(n) {}

    Status add(const Product &p, Failure *failure) {
        const Rows w = rows_of(p.w);
        if (w.k == 0) store_zeros(p.y, p.ldy, w.n, n_);
        if (w.k == 0 || w.n == 0 || n_ == 0) return Status::ok;
        if (!call_.dots(n_)) {
            Status status = Status::ok;
            if (n_tiles_ > 0 &&
                (n_tiles_ == kListed || p.w.type != tiles_type_ || w.k != tiles_[0].w.k))
                status = end_tiles(failure);
            tiles_type_ = p.w.type;
            tiles_[n_tiles_++] = {w, n_, x_, ldx_, p.y, p.ldy, nullptr, 1};
            return status;
        }
        const size_t n_times = (n_ + kDotColumns - 1) / kDotColumns; // parts of about equal size
        for (size_t c = 0, i = 0, n; i < n_times; i++, c += n) {
            n = (n_ - c + n_times - i - 1) / (n_times - i);
            const Status status = add_columns(p, w, c, n, failure);
            if (status != Status::ok) return status;
        }
        return Status::ok;
    }
    // Multiplies the products that are still queued.
    Status end(Failure *failure) {
        const Status status = end_tiles(failure);
        return status == Status::ok ? end_dots(failure) : status;
    }

private:
    Status end_dots(Failure *failure) {
        const size_t n_list = n_list_;
        n_list_ = 0;
        return multiply_dots(call_, list_, n_list, {nullptr, 0}, failure);
    }
    // Queued blocked products have the same columns, type and row length.
    Status end_tiles(Failure *failure) {
        const size_t n_tiles = n_tiles_;
        n_tiles_ = 0;
        if (n_tiles == 0) return Status::ok;
        return multiply_tiles(call_, tiles_type_, tiles_, n_tiles, {nullptr, 0}, failure);
    }
    Status add_columns(const Product &p, const Rows &w, size_t first, size_t n, Failure *failure) {
        Dots &dots = list_[n_list_++];
        dots = {p.w.type, w, n, {}, {}};
        for (size_t c = 0; c < n; c++) {
            dots.x[c] = x_ + (first + c) * ldx_;
            dots.y[c] = p.y + (first + c) * p.ldy;
        }
        return n_list_ == kListed ? end_dots(failure) : Status::ok;
    }

    Call &call_;
    const float *x_;
    size_t ldx_, n_, n_list_ = 0, n_tiles_ = 0;
    uint32_t tiles_type_ = 0;
    Dots list_[kListed];
    Tiles tiles_[kListed];
};

// Multiplies the products whose rows are on a device; sets *failure on error.
Status multiply_remote(Call &call, const Product *products, size_t n_products, const float *x,
                       size_t ldx, size_t n, Failure *failure) {
    RemoteList list(call);
    for (size_t i = 0; i < n_products; i++) {
        const Product &p = products[i];
        const Rows w = rows_of(p.w);
        if (!p.w.remote.home || w.k == 0 || w.n == 0 || n == 0) continue;
        const Tiles columns = {w, n, x, ldx, p.y, p.ldy, nullptr, 1};
        const Status status = list.add({p.w.type, p.w.remote, columns, call.dots(n)}, failure);
        if (status != Status::ok) return status;
    }
    return list.end(failure);
}

} // namespace

Status Engine::matmul_many(const Product *products, size_t n_products, const float *x, size_t ldx,
                           size_t n, const Options &options, Failure *failure) const {
    Call call = {*state_->host, state_->workspace, *state_->kernels, options, 0, 0};
    for (size_t i = 0; i < n_products; i++) {
        const Status status = check_product(call.kernels, products[i].w, failure);
        if (status != Status::ok) {
            if (failure) failure->index = i;
            return status;
        }
        call.total += products[i].w.n_rows * n;
    }
    const Status remote = multiply_remote(call, products, n_products, x, ldx, n, failure);
    if (remote != Status::ok) return remote;
    Products all(call, x, ldx, n);
    for (size_t i = 0; i < n_products; i++) {
        if (products[i].w.remote.home && products[i].w.n_cols > 0) continue;
        const Status status = all.add(products[i], failure);
        if (status != Status::ok) return explain(status, failure);
    }
    return explain(all.end(failure), failure);
}

} // namespace ggufx::matmul
