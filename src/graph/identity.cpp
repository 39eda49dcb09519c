// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "graph/graph.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

class Sum {
public:
    void bytes(const void *data, size_t n) { crc_ = crc64(crc_, data, n); }
    void u64(uint64_t v) {
        uint8_t b[8];
        store_u32le(b, static_cast<uint32_t>(v));
        store_u32le(b + 4, static_cast<uint32_t>(v >> 32));
        bytes(b, sizeof b);
    }
    void floats(const float *x, size_t n) {
        constexpr size_t kPiece = 256;
        uint8_t b[kPiece * sizeof(float)];
        for (size_t i = 0; i < n; i += kPiece) {
            const size_t some = n - i < kPiece ? n - i : kPiece;
            for (size_t j = 0; j < some; j++) store_f32le(b + j * sizeof(float), x[i + j]);
            bytes(b, some * sizeof(float));
        }
    }
    uint64_t value() const { return crc_; }

private:
    uint64_t crc_ = 0;
};

} // namespace

uint64_t identity_of(const Graph &graph) {
    Sum sum;
    sum.bytes(graph.architecture, strlen(graph.architecture));
    sum.u64(graph.shape.n_layers);
    sum.u64(graph.shape.n_vocab);
    for (const WeightInfo &weight : graph.weights)
        for (const uint64_t v : {uint64_t{weight.w.type}, weight.w.n_rows, weight.w.n_cols})
            sum.u64(v);
    sum.floats(graph.vectors.data(), graph.vectors.size());
    return sum.value();
}

} // namespace ggufx::model
