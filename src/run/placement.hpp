// Selects the matrices of a model for a device: the output matrix, then layers from the last one
// on.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "graph/graph.hpp"

namespace ggufx::model {

// Last layer that multiplies by each tensor; the number of layers for the output matrix.
using Places = Vector<uint32_t>;
constexpr uint32_t kNotMultiplied = UINT32_MAX;

// Returns the places of all tensors of the file. Throws std::bad_alloc.
Places places_of(const Graph &graph, const gguf::File &file);

// Returns whether a tensor goes to a device that has the last n layers.
inline bool goes_to_device(const Graph &graph, uint32_t place, uint32_t n_layers) {
    return place != kNotMultiplied && place + uint64_t{n_layers} >= graph.layer_ends.size();
}

// Uploads a matrix to a device.
class Placer {
public:
    // Throws Error / std::bad_alloc.
    virtual matmul::RemoteRows place(const gguf::Tensor &tensor) = 0;

protected:
    ~Placer() = default;
};

// Moves matrices to the device, which computes their products from then on. Throws what
// Placer::place does.
void place(Graph &graph, const gguf::File &file, Placer &placer, uint32_t n_layers);

} // namespace ggufx::model
