// Mixture of experts (MoE): results are sorted by expert, and each expert's group is one product.
// The mode (row-wise or blocked) depends on the size of the group alone.
// SPDX-License-Identifier: MIT
#include "matmul/remote.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::matmul {

using kernels::Rows;

namespace {

// Results of one expert: order[first .. first + n - 1], ascending.
struct Group {
    uint32_t expert;
    size_t first, n;
};

// Results sorted by expert, and the first result of each expert. Stored in the first bytes of the
// call's memory.
class Index {
public:
    static size_t bytes(size_t n_experts, size_t n_results) {
        return ((n_experts + 1 + n_results) * sizeof(uint32_t) + 63) / 64 * 64;
    }
    Index(uint8_t *memory, const Experts &experts, size_t n_results)
        : n_experts_(static_cast<size_t>(experts.n_experts)),
          ends_(reinterpret_cast<uint32_t *>(memory)), order_(ends_ + n_experts_ + 1) {
        memset(ends_, 0, (n_experts_ + 1) * sizeof(uint32_t));
        for (size_t i = 0; i < n_results; i++) ends_[experts.ids[i] + 1]++;
        for (size_t e = 0; e < n_experts_; e++) ends_[e + 1] += ends_[e];
        // Now ends_[e] is the first result of e; filling moves it to the end of e.
        for (size_t i = 0; i < n_results; i++) {
            order_[ends_[experts.ids[i]]++] = static_cast<uint32_t>(i);
        }
    }
    const uint32_t *order() const { return order_; }
    // Finds the next non-empty group from `expert` on. Returns false if there is none.
    bool next(Group *group, uint32_t expert) const {
        for (; expert < n_experts_; expert++) {
            const size_t first = expert ? ends_[expert - 1] : 0, n = ends_[expert] - first;
            if (n == 0) continue;
            *group = {expert, first, n};
            return true;
        }
        return false;
    }

private:
    size_t n_experts_;
    uint32_t *ends_, *order_;
};

Status check_ids(const Experts &experts, size_t n_results, Failure *failure) {
    for (size_t i = 0; i < n_results; i++) {
        if (experts.ids[i] < experts.n_experts) continue;
        return set_failure(failure, Status::argument, {kNone, i},
                           "ids[%" PRIu64 "] is %" PRIu32 ", there are %" PRIu64 " experts",
                           uint64_t{i}, experts.ids[i], experts.n_experts);
    }
    return Status::ok;
}

struct Mixture {
    Call &call;
    const Experts &experts;
    const Index &index;
    float *y;
    size_t ldy;
    const float *x;
    size_t ldx;
    Memory memory; // after the index

    Rows rows(uint32_t expert) const {
        const Rows all = rows_of(experts.w);
        const size_t n = all.n / static_cast<size_t>(experts.n_experts);
        if (experts.w.remote.home) return {nullptr, all.stride, n, all.k};
        return slice(all, expert * step(), n);
    }
    size_t step() const { // rows from one expert to the next
        if (experts.step) return static_cast<size_t>(experts.step);
        return rows_of(experts.w).n / static_cast<size_t>(experts.n_experts);
    }
    // Returns up to kDotColumns results of the group from `first` on as a row-wise product.
    Dots dots(const Group &group, size_t first) const {
        const size_t n = group.n - first < kDotColumns ? group.n - first : kDotColumns;
        Dots d = {experts.w.type, rows(group.expert), n, {}, {}};
        for (size_t i = 0; i < n; i++) {
            const size_t result = index.order()[group.first + first + i];
            d.x[i] = x + result / experts.n_used * ldx;
            d.y[i] = y + result * ldy;
        }
        return d;
    }
    Tiles tiles(const Group &group) const {
        return {rows(group.expert),          group.n,       x, ldx, y, ldy,
                index.order() + group.first, experts.n_used};
    }

    // Multiplies all groups on the device that holds the rows.
    Status remote_groups(Failure *failure) const {
        RemoteList list(call);
        Group group;
        for (uint32_t e = 0; index.next(&group, e); e = group.expert + 1) {
            const Status status =
                list.add({experts.w.type, slice(experts.w.remote, group.expert * step()),
                          tiles(group), call.dots(group.n)},
                         failure);
            if (status != Status::ok) return status;
        }
        return list.end(failure);
    }
    Status groups_of_dots(Failure *failure) const {
        Dots list[kListed];
        size_t n_list = 0;
        Group group;
        for (uint32_t e = 0; index.next(&group, e); e = group.expert + 1) {
            for (size_t i = 0; call.dots(group.n) && i < group.n; i += kDotColumns) {
                list[n_list++] = dots(group, i);
                if (n_list < kListed) continue;
                const Status status = multiply_dots(call, list, n_list, memory, failure);
                if (status != Status::ok) return status;
                n_list = 0;
            }
        }
        return multiply_dots(call, list, n_list, memory, failure);
    }
    Status groups_of_tiles(Failure *failure) const {
        Tiles list[kListed];
        size_t n_list = 0;
        Group group;
        for (uint32_t e = 0; index.next(&group, e); e = group.expert + 1) {
            if (!call.dots(group.n)) list[n_list++] = tiles(group);
            if (n_list < kListed) continue;
            const Status status =
                multiply_tiles(call, experts.w.type, list, n_list, memory, failure);
            if (status != Status::ok) return status;
            n_list = 0;
        }
        if (n_list == 0) return Status::ok;
        return multiply_tiles(call, experts.w.type, list, n_list, memory, failure);
    }
};

// Returns the memory that a call should claim: normally the usual amount, 0 if the workspace is too
// small. Few columns cannot form groups for blocked products and share packed columns, so they
// claim only what they need.
size_t bytes_wanted(const Call &call, size_t index_bytes, size_t column, size_t n) {
    const size_t least = index_bytes + column, usual = call.workspace.per_call();
    if (least > usual) return call.workspace.room_for(least);
    if (n >= kTileColumns || call.options.tiles || column > (usual - index_bytes) / n) return usual;
    return index_bytes + n * column;
}

} // namespace

Status Engine::matmul_id(float *y, size_t ldy, const Experts &experts, const float *x, size_t ldx,
                         size_t n, const Options &options, Failure *failure) const {
    Call call = {*state_->host, state_->workspace, *state_->kernels, options, 0, 0};
    Status status = check_product(call.kernels, experts.w, failure);
    if (status != Status::ok) return status;
    const size_t n_results = n * experts.n_used, k = static_cast<size_t>(experts.w.n_cols);
    status = check_ids(experts, n_results, failure);
    if (status != Status::ok || n_results == 0 || experts.w.n_rows == 0) return status;
    const uint64_t n_rows = experts.w.n_rows / experts.n_experts;
    if (k == 0) {
        store_zeros(y, ldy, static_cast<size_t>(n_rows), n_results);
        return Status::ok;
    }
    if (n_results > UINT32_MAX) {
        return set_failure(failure, Status::limit, {.value = n_results, .limit = UINT32_MAX},
                           "%" PRIu64 " results of one call", uint64_t{n_results});
    }
    call.total = n_rows * n_results;
    const size_t index_bytes = Index::bytes(static_cast<size_t>(experts.n_experts), n_results);
    const size_t column = column_bytes(call, experts.w.type, k);
    const size_t n_bytes = bytes_wanted(call, index_bytes, column, n);
    if (n_bytes == 0) return too_long(call, k, index_bytes + column, failure);
    const Workspace::Lease lease(call.workspace, n_bytes);
    if (!lease.data()) return no_workspace(failure);
    const Index index(lease.data(), experts, n_results);
    const Mixture mixture = {
        call, experts, index, y, ldy, x, ldx, {lease.data() + index_bytes, n_bytes - index_bytes}};
    if (experts.w.remote.home) return mixture.remote_groups(failure);
    status = mixture.groups_of_dots(failure);
    if (status == Status::ok) status = mixture.groups_of_tiles(failure);
    return explain(status, failure);
}

} // namespace ggufx::matmul
