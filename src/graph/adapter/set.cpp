// SPDX-License-Identifier: MIT
#include "graph/adapter/set.hpp"

#include "base/bytes.hpp"
#include "base/crc64.hpp"

#include <inttypes.h>
#include <math.h>

namespace ggufx::model {

namespace {

void check(const AdapterSet::Use &use, size_t index, const Graph &graph) {
    if (&use.adapter->graph() != &graph)
        fail(Status::mismatch, {kNone, index}, "adapter %zu was made for another model", index);
    if (!isfinite(use.scale))
        fail(Status::argument, {kNone, index}, "the scale of adapter %zu is not finite", index);
}

uint64_t add_use(uint64_t crc, const AdapterSet::Use &use) {
    uint8_t b[12];
    store_u32le(b, static_cast<uint32_t>(use.adapter->identity()));
    store_u32le(b + 4, static_cast<uint32_t>(use.adapter->identity() >> 32));
    store_f32le(b + 8, use.scale);
    return crc64(crc, b, sizeof b);
}

} // namespace

AdapterSet::AdapterSet(const Ref<Host> &host, const Graph &graph, const Use *uses, size_t n)
    : host_(host), uses_(HostAllocator<Use>(host.get())) {
    if (n > kMostAdapters)
        fail(Status::argument, {}, "%zu adapters, the limit is %zu", n, kMostAdapters);
    uses_.reserve(n);
    for (size_t i = 0; i < n; i++) {
        check(uses[i], i, graph);
        if (uses[i].scale == 0) continue; // adds nothing
        uses_.push_back(uses[i]);
        room_.widen(uses[i].adapter->room());
        identity_ = add_use(identity_, uses[i]);
    }
}

void AdapterSet::release() {
    if (!refs_.release()) return;
    const Ref<Host> keep = host_;
    unmake(*keep, this);
}

bool AdapterSet::same(const AdapterSet *a, const AdapterSet *b) {
    const size_t n = a ? a->uses_.size() : 0;
    if (n != (b ? b->uses_.size() : 0)) return false;
    for (size_t i = 0; a != b && i < n; i++)
        if (a->uses_[i].adapter.get() != b->uses_[i].adapter.get() ||
            a->uses_[i].scale != b->uses_[i].scale)
            return false;
    return true;
}

uint64_t AdapterSet::bytes(size_t n_uses) {
    return sizeof(AdapterSet) + n_uses * sizeof(Use);
}

Ref<AdapterSet> AdapterScratch::prepare(const Ref<Host> &host, const Graph &graph,
                                        const AdapterSet::Use *uses, size_t n, uint32_t n_tokens) {
    if (n == 0) return {};
    auto set = Ref<AdapterSet>::adopt(make<AdapterSet>(*host, host, graph, uses, n));
    if (set->uses().empty()) return {};
    const uint64_t n_floats = set->room().floats(n_tokens);
    if (n_floats <= floats_.size() && !floats_.empty()) return set;
    if (n_floats > SIZE_MAX / sizeof(float)) throw std::bad_alloc();
    Vector<float> larger(static_cast<size_t>(n_floats) + !n_floats, floats_.get_allocator());
    floats_.swap(larger);
    return set;
}

uint64_t AdapterScratch::bytes(const AdapterRoom &room, uint32_t n_tokens) {
    const uint64_t n_floats = room.floats(n_tokens);
    return (n_floats + !n_floats) * sizeof(float);
}

} // namespace ggufx::model
