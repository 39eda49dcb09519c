// Products: which kernels, how many columns at a time, where their packed activations stand.
// The path depends on the number of columns of the call alone (README.md), so that neither
// workspace nor threads can change a bit.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "matmul/engine.hpp"

#include <inttypes.h>

namespace ggufx::matmul {

namespace {

using kernels::Act;
using kernels::ActF32;
using kernels::Gemm;
using kernels::GemmAct;
using kernels::Isa;
using kernels::Layer;
using kernels::Out;
using kernels::Rows;

constexpr size_t kTileColumns = 4;  // calls with fewer columns are dot products of rows
constexpr size_t kMatvecRows = 128; // per task: four far streams of >= 32 rows

// Picoseconds per value: estimates for cutting tasks, not promises.
struct Cost {
    uint64_t scalar, simd;
    uint64_t of(const Layer &layer) const { return layer.isa == Isa::scalar ? scalar : simd; }
};
constexpr Cost kMatvecCost = {1500, 40}, kMatvecF32Cost = {3000, 60}, kGemmCost = {1000, 10},
               kGemmF32Cost = {3000, 20}, kPackCost = {3000, 300};

// One call.
struct Call {
    const Host &host;
    const Workspace &workspace;
    const kernels::Kernels &kernels;
    uint32_t type;
    Out y;
    Rows w;
    const float *x;
    size_t ldx;
    size_t n;
    const Progress &progress;

    Out out(size_t column) const { return {y.y + column * y.ld, y.ld}; }
    const float *column(size_t c) const { return x + c * ldx; }
    // A loop over the rows for `count` columns, `first` columns being done.
    Loop rows(size_t unit, size_t min_rows, uint64_t mac_ps, size_t first, size_t count) const {
        return {w.n,      unit,        min_rows, mac_ps * (w.k + 1) * count,
                progress, first * w.n, count,    n * w.n};
    }
};

Rows slice(const Rows &w, size_t first, size_t count) {
    return {w.data + first * w.stride, w.stride, count, w.k};
}

Out slice(const Out &y, size_t first) {
    return {y.y + first, y.ld};
}

Status too_long(const Call &call, size_t need, Failure *failure) {
    return set_failure(failure, Status::limit, {},
                       "one column of %" PRIu64 " values needs %" PRIu64
                       " bytes of workspace, more than 4 * workspace_bytes = 4 * %" PRIu64,
                       uint64_t{call.w.k}, uint64_t{need}, uint64_t{call.workspace.per_call()});
}

Status no_workspace(Failure *failure) {
    return set_failure(failure, Status::limit, {},
                       "other calls have held all workspace for seconds; raise workspace_bytes");
}

// ---- n = 1..3 -----------------------------------------------------------------------------------

struct MatvecTask {
    const kernels::Matvec *kernel;
    const Act *act;
    Out y;
    Rows w;
    size_t n;
    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        const auto *t = static_cast<const MatvecTask *>(self);
        t->kernel->run(slice(t->y, first), slice(t->w, first, count), t->act, t->n);
    }
};

Status matvec(const Call &call, Failure *failure) {
    const Layer *layer = nullptr;
    const auto *kernel = kernels::find(call.kernels, &Layer::matvec, call.type, &layer);
    const size_t column_bytes = kernels::act_bytes(call.w.k);
    const size_t fit = call.workspace.room_for(column_bytes) / column_bytes;
    if (fit == 0) return too_long(call, column_bytes, failure);
    const size_t batch = fit < call.n ? fit : call.n;
    const Workspace::Lease lease(call.workspace, batch * column_bytes);
    if (!lease.data()) return no_workspace(failure);
    for (size_t first = 0; first < call.n; first += batch) {
        const size_t n = batch < call.n - first ? batch : call.n - first;
        Act act[kTileColumns];
        {
            const CanonicalFp canonical;
            for (size_t c = 0; c < n; c++) {
                act[c] = kernels::act_at(lease.data() + c * column_bytes, call.w.k);
                kernel->pack(act[c], call.column(first + c));
            }
        }
        const MatvecTask task = {kernel, act, call.out(first), call.w, n};
        const Loop loop = call.rows(1, kMatvecRows, kMatvecCost.of(*layer), first, n);
        const Status status = run(call.host, loop, MatvecTask::chunk, &task);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

struct MatvecF32Task {
    const kernels::MatvecF32 *kernel;
    const ActF32 *act;
    Out y;
    Rows w;
    size_t n;
    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        const auto *t = static_cast<const MatvecF32Task *>(self);
        t->kernel->run(slice(t->y, first), slice(t->w, first, count), t->act, t->n);
    }
};

// The sums of a column that the kernel wants, at `memory`.
ActF32 column_f32(const Call &call, size_t column, uint32_t group, uint8_t *memory) {
    ActF32 act = {call.column(column), nullptr, nullptr, call.w.k};
    if (group == 0) return act;
    auto *sums = reinterpret_cast<float *>(memory);
    const CanonicalFp canonical;
    kernels::sum_of(call.kernels)(sums, act.x, call.w.k, group);
    (group == 32 ? act.sum32 : act.sum16) = sums;
    return act;
}

Status matvec_f32(const Call &call, Failure *failure) {
    const Layer *layer = nullptr;
    const auto *kernel = kernels::find(call.kernels, &Layer::matvec_f32, call.type, &layer);
    const uint32_t group = kernel->wants_sums;
    size_t column_bytes = group ? call.w.k / group * sizeof(float) : 0;
    column_bytes = (column_bytes + 63) / 64 * 64;
    const size_t fit = column_bytes ? call.workspace.room_for(column_bytes) / column_bytes : call.n;
    if (fit == 0) return too_long(call, column_bytes, failure);
    const size_t batch = fit < call.n ? fit : call.n;
    const Workspace::Lease lease(call.workspace, batch * column_bytes);
    if (!lease.data()) return no_workspace(failure);
    for (size_t first = 0; first < call.n; first += batch) {
        const size_t n = batch < call.n - first ? batch : call.n - first;
        ActF32 act[kTileColumns];
        for (size_t c = 0; c < n; c++) {
            act[c] = column_f32(call, first + c, group, lease.data() + c * column_bytes);
        }
        const MatvecF32Task task = {kernel, act, call.out(first), call.w, n};
        const Loop loop = call.rows(1, kMatvecRows, kMatvecF32Cost.of(*layer), first, n);
        const Status status = run(call.host, loop, MatvecF32Task::chunk, &task);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

// ---- n >= 4 -------------------------------------------------------------------------------------

struct GemmTask {
    const Gemm *kernel;
    Out y;
    Rows w;
    GemmAct act;
    uint8_t *packed;
    uint8_t *scratch; // one part per worker, or null: the stack
    size_t scratch_bytes;

    static void pack(const void *self, size_t first, size_t count, uint32_t) {
        const auto *t = static_cast<const GemmTask *>(self);
        t->kernel->pack(t->packed, t->act, first, count);
    }
    static void chunk(const void *self, size_t first, size_t count, uint32_t worker) {
        const auto *t = static_cast<const GemmTask *>(self);
        const Out y = slice(t->y, first);
        const Rows w = slice(t->w, first, count);
        if (t->scratch) {
            t->kernel->run(y, w, t->act,
                           {t->scratch + worker * t->scratch_bytes, t->scratch_bytes});
        } else {
            alignas(64) uint8_t stack[kernels::kScratchMin];
            t->kernel->run(y, w, t->act, {stack, sizeof stack});
        }
    }
};

// How a call's workspace is cut: scratch per worker, packed activations of `batch` columns.
struct GemmPlan {
    size_t scratch_bytes, workers, batch, packed_bytes;
};

// Most columns whose packed activations fit `room`, at most n; 0 when not even one does.
size_t columns_that_fit(const Gemm &kernel, size_t k, size_t n, size_t room) {
    if (kernel.bytes(k, n) <= room) return n;
    size_t low = 0, high = n; // low fits, high does not
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        (kernel.bytes(k, middle) <= room ? low : high) = middle;
    }
    const size_t group = kernel.column_group;
    return low > group ? low / group * group : low;
}

GemmPlan plan_gemm(const Call &call, const Gemm &kernel, uint64_t mac_ps) {
    constexpr uint64_t kTilePs = 1'000'000'000; // one row tile must not take much more than 1 ms
    const size_t room = call.workspace.per_call();
    GemmPlan plan = {0, call.host.max_workers(), 0, 0};
    const size_t share = room / 2 / plan.workers / 64 * 64;
    if (share >= kernels::kScratchMin) {
        plan.scratch_bytes = share < kernels::kScratchBest ? share : kernels::kScratchBest;
    }
    const uint64_t in_time = kTilePs / (mac_ps * (call.w.k + 1) * kernel.tile_rows) + 1;
    size_t wanted = in_time < call.n ? static_cast<size_t>(in_time) : call.n;
    wanted = (wanted + kernel.column_group - 1) / kernel.column_group * kernel.column_group;
    if (wanted > call.n) wanted = call.n;
    plan.batch =
        columns_that_fit(kernel, call.w.k, wanted, room - plan.scratch_bytes * plan.workers);
    if (plan.batch == 0) { // not even one, or one group of a kernel that packs whole groups
        plan.scratch_bytes = 0;
        plan.batch = columns_that_fit(kernel, call.w.k, wanted,
                                      call.workspace.room_for(kernel.bytes(call.w.k, 1)));
    }
    if (plan.batch) plan.packed_bytes = kernel.bytes(call.w.k, plan.batch);
    return plan;
}

Status gemm_batch(const Call &call, const Gemm &kernel, const Layer &layer, const GemmPlan &plan,
                  uint8_t *memory, size_t first, size_t n, uint64_t mac_ps) {
    uint8_t *scratch = plan.scratch_bytes ? memory + plan.packed_bytes : nullptr;
    const GemmTask task = {&kernel,
                           call.out(first),
                           call.w,
                           {memory, call.column(first), call.ldx, n, call.w.k},
                           memory,
                           scratch,
                           plan.scratch_bytes};
    if (plan.packed_bytes) {
        const Loop columns = {n,
                              kernel.column_group,
                              kernel.column_group,
                              kPackCost.of(layer) * call.w.k,
                              call.progress,
                              first * call.w.n,
                              0,
                              call.n * call.w.n};
        const Status status = run(call.host, columns, GemmTask::pack, &task);
        if (status != Status::ok) return status;
    }
    const Loop rows = call.rows(kernel.tile_rows, kernel.tile_rows, mac_ps, first, n);
    return run(call.host, rows, GemmTask::chunk, &task);
}

Status gemm(const Call &call, const Gemm *Layer::*family, const Cost &cost, Failure *failure) {
    const Layer *layer = nullptr;
    const Gemm *kernel = kernels::find(call.kernels, family, call.type, &layer);
    const uint64_t mac_ps = cost.of(*layer);
    const GemmPlan plan = plan_gemm(call, *kernel, mac_ps);
    if (plan.batch == 0) return too_long(call, kernel->bytes(call.w.k, 1), failure);
    const Workspace::Lease lease(call.workspace,
                                 plan.packed_bytes + plan.scratch_bytes * plan.workers);
    if (!lease.data()) return no_workspace(failure);
    for (size_t first = 0; first < call.n; first += plan.batch) {
        const size_t n = plan.batch < call.n - first ? plan.batch : call.n - first;
        const Status status =
            gemm_batch(call, *kernel, *layer, plan, lease.data(), first, n, mac_ps);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

void store_zeros(const Out &y, size_t n_rows, size_t n) {
    for (size_t c = 0; c < n; c++) {
        for (size_t r = 0; r < n_rows; r++) y.y[c * y.ld + r] = 0.0f;
    }
}

Status multiply(const Call &call, bool f32_activations, Failure *failure) {
    // Types without codes (F32, F16, BF16) have no integer family: always f32.
    const bool f32 = f32_activations || !kernels::find(call.kernels, &Layer::matvec, call.type);
    if (call.n < kTileColumns) return f32 ? matvec_f32(call, failure) : matvec(call, failure);
    return f32 ? gemm(call, &Layer::gemm_f32, kGemmF32Cost, failure)
               : gemm(call, &Layer::gemm, kGemmCost, failure);
}

} // namespace

Status Engine::matmul(float *y, size_t ldy, const Weights &w, const float *x, size_t ldx, size_t n,
                      const Options &options, Failure *failure) const {
    const fmt::TypeInfo *type;
    const Status checked = check(&type, w, failure);
    if (checked != Status::ok) return checked;
    if (!kernels::find(*state_->kernels, &Layer::matvec_f32, w.type)) {
        return set_failure(failure, Status::type, {}, "weights of type %s cannot be multiplied",
                           type->name);
    }
    const Rows rows = {w.data, static_cast<size_t>(w.stride), static_cast<size_t>(w.n_rows),
                       static_cast<size_t>(w.n_cols)};
    const Out out = {y, ldy};
    if (rows.k == 0) {
        store_zeros(out, rows.n, n);
        return Status::ok;
    }
    if (rows.n == 0 || n == 0) return Status::ok;
    const Call call = {
        *state_->host,   state_->workspace, *state_->kernels, w.type, out, rows, x, ldx, n,
        options.progress};
    const Status status = multiply(call, options.f32_activations, failure);
    if (status == Status::cancelled) {
        return set_failure(failure, status, {}, "the progress callback cancelled the product");
    }
    if (status == Status::ok || status == Status::limit) return status;
    return set_failure(failure, status, {}, "the host's executor failed");
}

} // namespace ggufx::matmul
