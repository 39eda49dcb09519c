// SPDX-License-Identifier: MIT
#include "model/build/packed_readers.hpp"

#include "formats/format.hpp"
#include "model/group/pack.hpp"

namespace ggufx::model {

namespace {

// Exchanges whose readers are being looked for, by the slot that they fill.
class PackedReaders {
public:
    PackedReaders(Program &program, uint32_t n_ranks)
        : p_(program), n_ranks_(n_ranks),
          open_(program.slots.size(), Open(), HostAllocator<Open>(host())) {}

    void look(Step &step) {
        const auto touch = [&](const View &v) {
            if (v.none() || !open_[v.slot].exchange) return;
            open_[v.slot].is_read = true;
            open_[v.slot].packed &= takes(step, v.slot);
        };
        std::visit([&](const auto &any) { any.views(touch); }, step);
        step::Exchange *const x = std::get_if<step::Exchange>(&step);
        if (!x) return;
        close(x->out.slot);
        open_[x->out.slot] = {x, fits(*x), false};
    }
    void close_all() {
        for (Slot i = 0; i < open_.size(); i++) close(i);
    }

private:
    struct Open {
        step::Exchange *exchange = nullptr;
        bool packed = false, is_read = false;
    };
    const Host *host() const { return p_.steps.get_allocator().host(); }
    void close(Slot slot) {
        Open &open = open_[slot];
        if (open.exchange) open.exchange->packs = open.packed && open.is_read;
        open = {};
    }
    // Do blocks end where ranks begin?
    bool fits(const step::Exchange &x) const {
        const uint32_t width = x.out.width / x.parts;
        const uint32_t *borders = p_.borders.data() + x.borders;
        for (uint32_t i = 0; i < n_ranks_; i++)
            if (borders[i] % kPackedValues && borders[i] != width) return false;
        return width % kPackedValues == 0;
    }
    // Is the slot only what a product of packed activations reads, cut into the same blocks?
    bool takes(const Step &step, Slot slot) const {
        const View &whole = open_[slot].exchange->out;
        const auto in_blocks = [&](const View &in) {
            return in.slot == slot && (in.first - whole.first) % kPackedValues == 0;
        };
        if (const auto *p = std::get_if<step::Product>(&step)) {
            bool all = in_blocks(p->in);
            for (uint32_t i = 0; i < p->n; i++)
                all = all && p->to[i].out.slot != slot && is_packed(p->to[i].weights);
            return all;
        }
        const auto *e = std::get_if<step::ExpertProduct>(&step);
        bool all = e && in_blocks(e->in) && e->out.slot != slot;
        for (uint32_t i = 0; all && i < (e->separate ? e->separate : 1); i++)
            all = is_packed(e->weights + i);
        return all;
    }
    bool is_packed(uint32_t weights) const {
        return fmt::type_info(p_.weights[weights].w.type)->kind == fmt::Kind::kQuantized;
    }

    Program &p_;
    const uint32_t n_ranks_;
    Vector<Open> open_;
};

} // namespace

void find_packed(Program &program, uint32_t n_ranks) {
    if (program.by_layers) return; // what goes from layer to layer is never packed
    PackedReaders readers(program, n_ranks);
    for (Step &step : program.steps) readers.look(step);
    readers.close_all();
}

} // namespace ggufx::model
