// SPDX-License-Identifier: MIT
#include "distributed/all_gather.hpp"

#include "distributed/group.hpp"
#include "graph/partition.hpp"
#include "run/rows.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::model {

namespace {

// Largest message, unless it is one row: bounds memory and the cost of one delay.
constexpr size_t kMostMessage = size_t{1} << 20;

// Columns of a rank in one part of a row.
struct Columns {
    uint32_t first, n;
};
Columns columns_of(const Graph &graph, const op::AllGather &s, uint32_t rank) {
    const uint32_t *border = graph.borders.data() + s.borders + rank;
    return {border[0], border[1] - border[0]};
}

} // namespace

size_t row_bytes(const Graph &graph, const op::AllGather &s, uint32_t rank, Packing packing) {
    return s.parts * packed_bytes(columns_of(graph, s, rank).n, packing);
}

namespace {

// Rows of one all-gather as messages.
class Message {
public:
    Message(RankGroup &ranks, const Context &c, const op::AllGather &s, bool is_aside = false)
        : c_(c), s_(s), ranks_(ranks), is_aside_(is_aside) {
        const bool rounds = s.packs && !c.options.f32_activations && !c.products;
        packing_ = !rounds ? Packing::f32 : c.options.precise ? Packing::bits15 : Packing::bits8;
        size_t all = 0;
        for (uint32_t i = 0; i < ranks_.size(); i++) all += row_bytes(i);
        const size_t most = std::max<size_t>(kMostMessage / std::max<size_t>(all, 1), 1);
        n_rows_ = std::min(most, c.n);
    }

    // Sends rows first .. first + n - 1 of the batch.
    Status send(size_t first, size_t n, Status own, Failure *failure) {
        size_t n_bytes[kMostRanks], offsets[kMostRanks], at = 0;
        for (uint32_t i = 0; i < ranks_.size(); i++, at += n_bytes[i - 1]) {
            n_bytes[i] = sizeof(RankGroup::Header) + n * row_bytes(i);
            offsets[i] = at;
        }
        const AllGatherMemory &memory = ranks_.memory();
        Status status = own;
        if (status == Status::ok)
            status = each_row(n, s_.in.width, [&](size_t i) { pack_row(first, i); });
        if (own == Status::ok) status = executor_failed(status, failure);
        status = ranks_.all_gather(memory.out(), memory.in(), n_bytes, offsets, status, failure);
        if (status != Status::ok) return status;
        status = each_row(n, s_.out.width, [&](size_t i) { unpack_row(first, i, offsets); });
        return executor_failed(status, failure);
    }
    // Sends all rows of the batch, unless a rank fails.
    Status send_all(Failure *failure) {
        Status status = Status::ok;
        for (size_t first = 0, n; first < c_.n && !ranks_.has_failed(); first += n) {
            n = std::min(n_rows_, c_.n - first);
            status = send(first, n, status, failure);
        }
        return status;
    }
    Status send_failure(Status own, Failure *failure) {
        return send(0, std::min(n_rows_, c_.n), own, failure);
    }

private:
    template <class Fn> Status each_row(size_t n, size_t values, const Fn &fn) const {
        if (!is_aside_) return for_rows(c_.host(), n, values, fn);
        const CanonicalFp canonical;
        for (size_t i = 0; i < n; i++) fn(i);
        return Status::ok;
    }
    size_t row_bytes(uint32_t rank) const { return model::row_bytes(c_.graph, s_, rank, packing_); }
    void pack_row(size_t first, size_t i) const {
        const Columns own = columns_of(c_.graph, s_, ranks_.rank());
        const size_t bytes = packed_bytes(own.n, packing_);
        uint8_t *out = ranks_.memory().in() + sizeof(RankGroup::Header) + i * s_.parts * bytes;
        const float *in = c_.at(s_.in, first + i);
        for (uint32_t part = 0; part < s_.parts; part++)
            pack(out + part * bytes, in + part * own.n, own.n, packing_);
    }
    // Unpacks the columns of the other ranks; this rank keeps its own unpacked values.
    void unpack_row(size_t first, size_t i, const size_t *offsets) const {
        const size_t width = s_.out.width / s_.parts;
        float *out = c_.at(s_.out, first + i);
        for (uint32_t rank = 0; rank < ranks_.size(); rank++) {
            const Columns theirs = columns_of(c_.graph, s_, rank);
            const size_t bytes = packed_bytes(theirs.n, packing_);
            const bool is_own = rank == ranks_.rank();
            if (is_own && s_.in.buffer == s_.out.buffer) continue;
            const uint8_t *in = ranks_.memory().out() + offsets[rank] + sizeof(RankGroup::Header) +
                                i * s_.parts * bytes;
            for (uint32_t part = 0; part < s_.parts; part++) {
                float *to = out + part * width + theirs.first;
                if (is_own)
                    memcpy(to, c_.at(s_.in, first + i) + part * theirs.n, theirs.n * sizeof *to);
                else
                    unpack(to, in + part * bytes, theirs.n, packing_);
            }
        }
    }

    const Context &c_;
    const op::AllGather &s_;
    RankGroup &ranks_;
    const bool is_aside_;
    Packing packing_;
    size_t n_rows_ = 0; // in a message
};

// Largest messages from all ranks together, and from this one.
struct MessageBytes {
    size_t all = 0, own = 0;
};
MessageBytes most_bytes(const Graph &graph, uint32_t n_ranks) {
    size_t row = 0;
    for (const Op &op : graph.ops)
        if (const auto *s = std::get_if<op::AllGather>(&op))
            row = std::max(row, size_t{s->out.width} * sizeof(float));
    if (row == 0) return {};
    const size_t payload = std::max(row, kMostMessage);
    const size_t headers = n_ranks * sizeof(RankGroup::Header);
    return {headers + payload, sizeof(RankGroup::Header) + payload};
}

} // namespace

AllGatherMemory::AllGatherMemory(const Ref<Host> &host, const Graph &graph, uint32_t n_ranks)
    : buffer_(host, bytes(graph, n_ranks)), in_bytes_(most_bytes(graph, n_ranks).own) {}

size_t AllGatherMemory::bytes(const Graph &graph, uint32_t n_ranks) {
    const MessageBytes most = most_bytes(graph, n_ranks);
    return most.all + most.own;
}

Status RankGroup::exchange(const Context &c, const op::AllGather &s, Failure *failure) {
    return Message(*this, c, s).send_all(failure);
}

Status RankGroup::exchange_aside(const Context &c, const op::AllGather &s, Failure *failure) {
    return Message(*this, c, s, true).send_all(failure);
}

Status RankGroup::exchange_failure(const Context &c, const op::AllGather &s, Status own,
                                   Failure *failure) {
    return Message(*this, c, s).send_failure(own, failure);
}

} // namespace ggufx::model
