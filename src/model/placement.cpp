// SPDX-License-Identifier: MIT
#include "model/placement.hpp"

#include <algorithm>
#include <variant>

namespace ggufx::model {

namespace {

// Notes the weights that steps multiply by.
class Marker {
public:
    Marker(const Program &program, Places &places) : program_(program), places_(places) {}

    uint32_t place = 0; // of the steps that come now

    template <class S> void operator()(const S &) {}
    void operator()(const step::Product &s) {
        for (uint32_t i = 0; i < s.n; i++) mark(s.to[i].weights);
    }
    void operator()(const step::HeadProduct &s) { mark(s.weights); }
    void operator()(const step::ExpertProduct &s) {
        for (uint32_t e = 0; e < (s.separate ? s.separate : 1); e++) mark(s.weights + e);
    }

private:
    void mark(uint32_t weights) {
        uint32_t &at = places_[program_.weights[weights].tensor];
        at = at == kNotMultiplied ? place : std::max(at, place);
    }

    const Program &program_;
    Places &places_;
};

} // namespace

Places places_of(const Program &program, const gguf::File &file) {
    Places places(file.n_tensors(), kNotMultiplied,
                  HostAllocator<uint32_t>(program.weights.get_allocator()));
    Marker marker(program, places);
    for (uint32_t i = program.first_layer_step; i < program.steps.size(); i++) {
        while (marker.place < program.layer_ends.size() && program.layer_ends[marker.place] <= i)
            marker.place++;
        std::visit(marker, program.steps[i]);
    }
    return places;
}

void place(Program &program, const gguf::File &file, Placer &placer, uint32_t n_layers) {
    const Places places = places_of(program, file);
    Vector<matmul::RemoteRows> there(
        places.size(), {}, HostAllocator<matmul::RemoteRows>(program.weights.get_allocator()));
    for (WeightInfo &info : program.weights) {
        if (!goes_to_device(program, places[info.tensor], n_layers)) continue;
        matmul::RemoteRows &rows = there[info.tensor]; // several weights may be parts of a tensor
        if (!rows.home) rows = placer.place(file.tensor(info.tensor));
        info.w.remote = rows;
        info.w.remote.at += info.first * rows.stride;
    }
}

} // namespace ggufx::model
