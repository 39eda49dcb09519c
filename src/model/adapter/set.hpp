// The adapters of a sequence, in the order they are added. Immutable, shared by sequences.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/adapter/adapter.hpp"

namespace ggufx::model {

constexpr size_t kMostAdapters = 64; // of a sequence

class AdapterSet {
public:
    struct Use {
        Ref<Adapter> adapter;
        float scale;
    };

    // Throws Error (argument, mismatch: made for another graph) / std::bad_alloc.
    AdapterSet(const Ref<Host> &host, const Graph &graph, const Use *uses, size_t n);

    void retain() { refs_.retain(); }
    void release();

    const Vector<Use> &uses() const { return uses_; }
    const AdapterRoom &room() const { return room_; }
    // Of adapters, scales and order; 0: of none.
    static uint64_t identity(const AdapterSet *set) { return set ? set->identity_ : 0; }
    // The same adapters with the same scales in the same order?
    static bool same(const AdapterSet *a, const AdapterSet *b);
    static uint64_t bytes(size_t n_uses); // that a set takes

private:
    RefCount refs_;
    Ref<Host> host_;
    Vector<Use> uses_;
    AdapterRoom room_;
    uint64_t identity_ = 0;
};

// What the arithmetic of adapters takes in a session or embedder; it only grows.
class AdapterScratch {
public:
    explicit AdapterScratch(const Host *host) : floats_(HostAllocator<float>(host)) {}

    // A set with room for batches of n_tokens; null where it adds nothing. Throws as AdapterSet
    // does; nothing has changed then.
    Ref<AdapterSet> prepare(const Ref<Host> &host, const Graph &graph, const AdapterSet::Use *uses,
                            size_t n, uint32_t n_tokens);
    static uint64_t bytes(const AdapterRoom &room, uint32_t n_tokens);

    float *data() { return floats_.empty() ? nullptr : floats_.data(); }
    size_t size() const { return floats_.size(); }

private:
    Vector<float> floats_;
};

} // namespace ggufx::model
