// SPDX-License-Identifier: MIT
#include "distributed/rank_bytes.hpp"

#include "base/checked.hpp"
#include "distributed/all_gather.hpp"
#include "distributed/group.hpp"
#include "distributed/packed_readers.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Sums the bytes of a graph's operations with the types of a quantization plan.
class ByteSums {
public:
    ByteSums(const Graph &graph, const job::Plan &plan)
        : graph_(graph), rows_(plan.file().n_tensors(), Rows(), rows_allocator(plan)) {
        for (const job::PlannedTensor &t : plan.tensors()) {
            const size_t index = plan.file().find_tensor(t.source.name);
            if (index == gguf::kNotFound || t.source.n_rows == 0) continue;
            rows_[index] = {t.choice.type, t.source.n_rows, t.n_bytes / t.source.n_rows};
        }
        for (WeightInfo &weight : graph_.weights) weight.w.type = rows_[weight.tensor].type;
    }

    RankBytes run(uint32_t rank, uint32_t n_ranks) {
        find_packed(graph_, n_ranks);
        const Vector<Op> &ops = graph_.ops;
        const uint32_t unasked = graph_.first_op(PartKind::spread);
        const uint32_t asked = graph_.first_op(PartKind::logits);
        for (uint32_t i = 0; i < ops.size(); i++)
            if (i < unasked || i >= asked) look(ops[i], rank, n_ranks);
        out_.n_messages++; // calls begin with one
        out_.received += (n_ranks - 1) * sizeof(RankGroup::Header);
        for (const Rows &r : rows_) add(out_.weights, std::min(r.n_bound, r.n), r.bytes);
        return out_;
    }

private:
    struct Rows {
        uint32_t type = 0;
        uint64_t n = 0, bytes = 0; // rows in the tensor; bytes in a row
        uint64_t n_bound = 0;
    };
    static HostAllocator<Rows> rows_allocator(const job::Plan &plan) {
        return HostAllocator<Rows>(plan.file().host().get());
    }
    static void add(uint64_t &sum, uint64_t n, uint64_t bytes) {
        uint64_t more = 0;
        if (!checked::mul(&more, n, bytes) || !checked::add(&sum, sum, more))
            fail(Status::overflow, {}, "the tensors have more than 2^64 bytes");
    }
    // Binds a weight: a token reads `used` of its `parts` parts.
    void bind(uint32_t weights, uint32_t used = 1, uint32_t parts = 1) {
        const WeightInfo &info = graph_.weights[weights];
        Rows &r = rows_[info.tensor];
        r.n_bound += info.w.n_rows;
        add(out_.token, info.w.n_rows / parts * used, r.bytes);
    }
    void look(const Op &op, uint32_t rank, uint32_t n_ranks) {
        if (const auto *p = std::get_if<op::Product>(&op))
            for (uint32_t i = 0; i < p->n; i++) bind(p->to[i].weights);
        if (const auto *h = std::get_if<op::HeadProduct>(&op)) bind(h->weights);
        if (const auto *e = std::get_if<op::ExpertProduct>(&op)) {
            if (e->separate == 0) bind(e->weights, e->used, graph_.weights[e->weights].n_parts);
            for (uint32_t i = 0; i < e->separate; i++) bind(e->weights + i, e->used, e->separate);
        }
        if (const auto *e = std::get_if<op::Embed>(&op)) {
            const uint64_t bytes = rows_[graph_.weights[e->weights].tensor].bytes;
            add(out_.token, 1, bytes);
            add(out_.row, 1, bytes);
        }
        const auto *x = std::get_if<op::AllGather>(&op);
        if (!x) return;
        out_.n_messages++;
        const Packing packing = x->packs ? Packing::bits8 : Packing::f32;
        for (uint32_t other = 0; other < n_ranks; other++)
            if (other != rank)
                add(out_.received, 1,
                    sizeof(RankGroup::Header) + row_bytes(graph_, *x, other, packing));
    }

    Graph graph_;
    Vector<Rows> rows_; // for each tensor
    RankBytes out_;
};

} // namespace

RankBytes bytes_of_rank(const Graph &graph, const job::Plan &plan, uint32_t rank,
                        uint32_t n_ranks) {
    return ByteSums(graph, plan).run(rank, n_ranks);
}

} // namespace ggufx::model
