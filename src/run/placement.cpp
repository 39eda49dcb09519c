// SPDX-License-Identifier: MIT
#include "run/placement.hpp"

#include <algorithm>
#include <variant>

namespace ggufx::model {

namespace {

// Records the weights that operations multiply by.
class Marker {
public:
    Marker(const Graph &graph, Places &places) : graph_(graph), places_(places) {}

    uint32_t place = 0; // layer of the current operations

    template <class S> void operator()(const S &) {}
    void operator()(const op::Product &s) {
        for (uint32_t i = 0; i < s.n; i++) mark(s.to[i].weights);
    }
    void operator()(const op::HeadProduct &s) { mark(s.weights); }
    void operator()(const op::ExpertProduct &s) {
        for (uint32_t e = 0; e < (s.separate ? s.separate : 1); e++) mark(s.weights + e);
    }

private:
    void mark(uint32_t weights) {
        uint32_t &at = places_[graph_.weights[weights].tensor];
        at = at == kNotMultiplied ? place : std::max(at, place);
    }

    const Graph &graph_;
    Places &places_;
};

} // namespace

Places places_of(const Graph &graph, const gguf::File &file) {
    Places places(file.n_tensors(), kNotMultiplied,
                  HostAllocator<uint32_t>(graph.weights.get_allocator()));
    Marker marker(graph, places);
    for (uint32_t i = graph.first_layer_op; i < graph.ops.size(); i++) {
        while (marker.place < graph.layer_ends.size() && graph.layer_ends[marker.place] <= i)
            marker.place++;
        std::visit(marker, graph.ops[i]);
    }
    return places;
}

void place(Graph &graph, const gguf::File &file, Placer &placer, uint32_t n_layers) {
    const Places places = places_of(graph, file);
    Vector<matmul::RemoteRows> there(
        places.size(), {}, HostAllocator<matmul::RemoteRows>(graph.weights.get_allocator()));
    for (WeightInfo &info : graph.weights) {
        if (!goes_to_device(graph, places[info.tensor], n_layers)) continue;
        matmul::RemoteRows &rows = there[info.tensor]; // several weights may be parts of a tensor
        if (!rows.home) rows = placer.place(file.tensor(info.tensor));
        info.w.remote = rows;
        info.w.remote.at += info.first * rows.stride;
    }
}

} // namespace ggufx::model
