// Which matrices of a model lie on a device: the output matrix, then layers from the last one on.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "model/graph/graph.hpp"

namespace ggufx::model {

// Of a tensor: the last layer that multiplies by it, the number of layers where the output does.
using Places = Vector<uint32_t>;
constexpr uint32_t kNotMultiplied = UINT32_MAX;

// Of all tensors of the file. Throws std::bad_alloc.
Places places_of(const Graph &graph, const gguf::File &file);

// Does it go to a device with the last n layers?
inline bool goes_to_device(const Graph &graph, uint32_t place, uint32_t n_layers) {
    return place != kNotMultiplied && place + uint64_t{n_layers} >= graph.layer_ends.size();
}

// Who brings a matrix to a device.
class Placer {
public:
    // Throws Error / std::bad_alloc.
    virtual matmul::RemoteRows place(const gguf::Tensor &tensor) = 0;

protected:
    ~Placer() = default;
};

// Their products are the device's from then on. Throws what place does.
void place(Graph &graph, const gguf::File &file, Placer &placer, uint32_t n_layers);

} // namespace ggufx::model
