// SPDX-License-Identifier: MIT
#include "distributed/packed_readers.hpp"

#include "distributed/pack.hpp"
#include "formats/format.hpp"

namespace ggufx::model {

namespace {

// All-gathers whose readers are not known yet, by output buffer.
class PackedReaders {
public:
    PackedReaders(Graph &graph, uint32_t n_ranks)
        : p_(graph), n_ranks_(n_ranks),
          open_(graph.buffers.size(), Open(), HostAllocator<Open>(host())) {}

    void look(Op &op) {
        const auto touch = [&](const View &v) {
            if (v.none() || !open_[v.buffer].all_gather) return;
            open_[v.buffer].is_read = true;
            open_[v.buffer].packed &= takes(op, v.buffer);
        };
        std::visit([&](const auto &any) { any.views(touch); }, op);
        op::AllGather *const x = std::get_if<op::AllGather>(&op);
        if (!x) return;
        close(x->out.buffer);
        open_[x->out.buffer] = {x, fits(*x), false};
    }
    void close_all() {
        for (BufferId i = 0; i < open_.size(); i++) close(i);
    }

private:
    struct Open {
        op::AllGather *all_gather = nullptr;
        bool packed = false, is_read = false;
    };
    const Host *host() const { return p_.ops.get_allocator().host(); }
    void close(BufferId buffer) {
        Open &open = open_[buffer];
        if (open.all_gather) open.all_gather->packs = open.packed && open.is_read;
        open = {};
    }
    // Returns whether boundaries of ranks are multiples of a block.
    bool fits(const op::AllGather &x) const {
        const uint32_t width = x.out.width / x.parts;
        const uint32_t *borders = p_.borders.data() + x.borders;
        for (uint32_t i = 0; i < n_ranks_; i++)
            if (borders[i] % kPackedValues && borders[i] != width) return false;
        return width % kPackedValues == 0;
    }
    // Returns whether the operation reads the buffer only as a product of packed activations with
    // the same blocks.
    bool takes(const Op &op, BufferId buffer) const {
        const View &whole = open_[buffer].all_gather->out;
        const auto in_blocks = [&](const View &in) {
            return in.buffer == buffer && (in.first - whole.first) % kPackedValues == 0;
        };
        if (const auto *p = std::get_if<op::Product>(&op)) {
            bool all = in_blocks(p->in);
            for (uint32_t i = 0; i < p->n; i++)
                all = all && p->to[i].out.buffer != buffer && is_packed(p->to[i].weights);
            return all;
        }
        const auto *e = std::get_if<op::ExpertProduct>(&op);
        bool all = e && in_blocks(e->in) && e->out.buffer != buffer;
        for (uint32_t i = 0; all && i < (e->separate ? e->separate : 1); i++)
            all = is_packed(e->weights + i);
        return all;
    }
    bool is_packed(uint32_t weights) const {
        return fmt::type_info(p_.weights[weights].w.type)->kind == fmt::Kind::kQuantized;
    }

    Graph &p_;
    const uint32_t n_ranks_;
    Vector<Open> open_;
};

} // namespace

void find_packed(Graph &graph, uint32_t n_ranks) {
    if (graph.by_layers) return; // pipeline parallelism never sends packed rows
    PackedReaders readers(graph, n_ranks);
    for (Op &op : graph.ops) readers.look(op);
    readers.close_all();
}

} // namespace ggufx::model
