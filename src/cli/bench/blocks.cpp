// Random blocks are drawn until they dequantize to values of usual size.
// SPDX-License-Identifier: MIT
#include "bench/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ggufx::cli {

static void fill(uint8_t *bytes, size_t n, Random &random) {
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        const uint64_t word = random.next();
        std::memcpy(bytes + at, &word, std::min(sizeof word, n - at));
    }
}

static bool is_tame(const std::vector<float> &values) {
    constexpr float kLargest = 64; // sums of thousands of products stay far from overflow
    return std::all_of(values.begin(), values.end(),
                       [](float v) { return std::isfinite(v) && std::fabs(v) <= kLargest; });
}

std::vector<uint8_t> random_blocks(const ggufx_runtime *rt, const ggufx_type_facts &type,
                                   size_t n_blocks, Blocks kind, Random &random) {
    std::vector<uint8_t> bytes(n_blocks * type.block_bytes);
    std::vector<float> values(type.block_values);
    for (size_t i = 0; i < n_blocks; i++) {
        uint8_t *block = bytes.data() + i * type.block_bytes;
        // About half of all random scales are tame. The bounded loop always ends with a block.
        for (int attempt = 0; attempt < 1000; attempt++) {
            fill(block, type.block_bytes, random);
            if (kind == Blocks::wild) break;
            dequantize_blocks(values, rt, type.id, {block, type.block_bytes});
            if (is_tame(values)) break;
        }
    }
    return bytes;
}

std::vector<float> random_vector(size_t n, Random &random) {
    std::vector<float> x(n);
    for (float &value : x) value = random.real();
    return x;
}

Tensor wrap_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_cols, uint64_t n_rows,
                   uint64_t row_stride, const void *data, uint64_t n_bytes) {
    auto options = sized<ggufx_tensor_options>();
    options.type = type;
    options.n_dims = 2;
    options.ne[0] = n_cols;
    options.ne[1] = n_rows;
    options.row_stride = row_stride;
    options.data = data;
    options.n_bytes = n_bytes;
    options.name = "random";
    ggufx_tensor *tensor = nullptr;
    call([&](ggufx_error *error) { return ggufx_tensor_create(&tensor, rt, &options, error); });
    return Tensor(tensor);
}

} // namespace ggufx::cli
