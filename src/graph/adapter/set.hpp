// The adapters of a sequence, in the order of application. Immutable, shared by sequences.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/adapter/adapter.hpp"

namespace ggufx::model {

constexpr size_t kMostAdapters = 64; // for one sequence

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
    // Returns a fingerprint of adapters, scales and order; 0 without adapters.
    static uint64_t identity(const AdapterSet *set) { return set ? set->identity_ : 0; }
    // Returns whether both have the same adapters with the same scales in the same order.
    static bool same(const AdapterSet *a, const AdapterSet *b);
    static uint64_t bytes(size_t n_uses); // memory of a set

private:
    RefCount refs_;
    Ref<Host> host_;
    Vector<Use> uses_;
    AdapterRoom room_;
    uint64_t identity_ = 0;
};

// Scratch memory for adapters in a session or embedder; it only grows.
class AdapterScratch {
public:
    explicit AdapterScratch(const Host *host) : floats_(HostAllocator<float>(host)) {}

    // Returns a set with scratch for batches of n_tokens; null if it adds nothing. Throws as
    // AdapterSet does; nothing has changed then.
    Ref<AdapterSet> prepare(const Ref<Host> &host, const Graph &graph, const AdapterSet::Use *uses,
                            size_t n, uint32_t n_tokens);
    static uint64_t bytes(const AdapterRoom &room, uint32_t n_tokens);

    float *data() { return floats_.empty() ? nullptr : floats_.data(); }
    size_t size() const { return floats_.size(); }

private:
    Vector<float> floats_;
};

} // namespace ggufx::model
