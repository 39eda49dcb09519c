// Runs the chunks of a text through a graph, group by group: the activations of all chunks are kept
// between two groups.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/embedder.hpp"

#include <memory>

namespace ggufx::model {

class ActivationStream {
public:
    // graph and engine must outlive the stream; tokens [n_chunks][n_context], of which each chunk is
    // an input by itself. Throws Error (unsupported: layers that read the keys of other layers),
    // std::bad_alloc.
    ActivationStream(const Graph &graph, const Ref<Host> &host, const matmul::Engine &engine,
                     const int32_t *tokens, size_t n_chunks, uint32_t n_context);
    ActivationStream(const ActivationStream &) = delete;

    // Runs a chunk from the group where it was kept up to group `end`, and keeps it there. The
    // activations stay in scratch until the next call. Throws Error, std::bad_alloc.
    void advance(size_t chunk, uint32_t end, const Progress &progress);
    // Runs group `end` after advance(chunk, end), without keeping its results.
    void show(uint32_t group, ProductWatcher &watcher, const Progress &progress);
    // Returns row 0 of the view; context().stride(view) floats per row.
    const Context &context() const { return context_; }

private:
    // Recurrent states of one input; null without recurrent layers.
    struct DestroyStates {
        void operator()(state::StateCache *states) const { state::StateCache::destroy(states); }
    };
    using OwnedStates = std::unique_ptr<state::StateCache, DestroyStates>;
    static OwnedStates make_states(const Graph &graph, const Ref<Host> &host);
    void begin_states(uint32_t group);
    bool is_live(const BufferInfo &buffer, uint32_t group) const;
    size_t live_floats(uint32_t group) const;
    void restore(size_t chunk);
    void keep(size_t chunk, uint32_t group);
    void run(uint32_t group, const Progress &progress);

    const EmbedPlan plan_;
    TextCaches caches_;
    const OwnedStates states_;
    Buffer scratch_;
    Vector<uint32_t> positions_;
    Vector<const double *> frequencies_;
    const int32_t *const tokens_;
    const SequenceRows rows_;
    BatchPart part_{};
    state::Step memory_{};
    Context context_;
    struct Kept {
        uint32_t group;
        Vector<float> floats;
    };
    Vector<Kept> kept_;
};

} // namespace ggufx::model
