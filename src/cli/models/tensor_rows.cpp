// Rows dequantized by the library; values of I32, I64 and F64 read from their bytes.
// SPDX-License-Identifier: MIT
#include "models/tensor_rows.hpp"

#include "common/text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

static uint64_t parse_row(std::string_view text, uint64_t absent) {
    if (text.empty()) return absent;
    uint64_t row = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw Failure(kUsage, "--rows: \"" + escape(text) + "\" is not a row number");
    }
    return row;
}

RowRange parse_rows(const std::string &text, uint64_t n_rows) {
    if (text.empty()) return {0, n_rows};
    const size_t colon = text.find(':');
    const bool single = colon == std::string::npos;
    RowRange range = {};
    range.first = parse_row(std::string_view(text).substr(0, colon), 0);
    // For a single row, a number that cannot be a row must not wrap to an empty range.
    range.end = single ? std::min(range.first, UINT64_MAX - 1) + 1
                       : parse_row(std::string_view(text).substr(colon + 1), n_rows);
    if (range.first > range.end || range.end > n_rows) {
        throw Failure(kUsage, fmt::format("--rows: {} is not a range of the tensor's {} rows",
                                          escape(text), n_rows));
    }
    return range;
}

std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info) {
    std::vector<uint64_t> shape;
    for (uint32_t d = info.n_dims; d-- > 0;) shape.push_back(info.ne[d]);
    return shape;
}

std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info, const RowRange &range) {
    return {range.end - range.first, info.ne[0]};
}

std::string tensor_name(const ggufx_tensor_facts &info) {
    return std::string(view(info.name));
}

const ggufx_tensor *find_tensor(const ggufx_file *file, const std::string &name) {
    size_t index = 0;
    if (ggufx_file_tensor_find(&index, file, name.data(), name.size(), nullptr) == GGUFX_OK) {
        return ggufx_file_tensor(file, index);
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        names.push_back(tensor_name(tensor_facts(ggufx_file_tensor(file, i))));
    }
    throw Failure(kRuntimeError, "no tensor \"" + escape(name) + "\"" + did_you_mean(name, names));
}

uint64_t rows_at_once(uint64_t n_columns) {
    return std::max<uint64_t>(1, (1u << 18) / std::max<uint64_t>(1, n_columns));
}

std::vector<float> row_floats(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                              const ggufx_tensor_facts &info, uint64_t first, uint64_t n) {
    std::vector<float> values(static_cast<size_t>(n * info.ne[0]));
    call([&](ggufx_error *error) {
        return ggufx_dequantize(values.data(), values.size(), rt, tensor, first, n, error);
    });
    return values;
}

// Returns number i of `width` little-endian bytes each.
static uint64_t little(const uint8_t *row, uint64_t i, unsigned width) {
    uint64_t bits = 0;
    for (unsigned b = width; b-- > 0;) bits = bits << 8 | row[i * width + b];
    return bits;
}

static double wide_value(const uint8_t *row, uint64_t i, uint32_t type) {
    if (type == GGUFX_TYPE_I32) return static_cast<int32_t>(little(row, i, 4));
    const uint64_t bits = little(row, i, 8);
    return type == GGUFX_TYPE_F64 ? std::bit_cast<double>(bits)
                                  : static_cast<double>(static_cast<int64_t>(bits));
}

std::vector<double> row_values(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                               const ggufx_tensor_facts &info, uint64_t first, uint64_t n) {
    const bool wide =
        info.type == GGUFX_TYPE_I32 || info.type == GGUFX_TYPE_I64 || info.type == GGUFX_TYPE_F64;
    if (!wide) {
        const std::vector<float> values = row_floats(rt, tensor, info, first, n);
        return {values.begin(), values.end()};
    }
    const auto *data = static_cast<const uint8_t *>(ggufx_tensor_data(tensor));
    std::vector<double> values;
    values.reserve(static_cast<size_t>(n * info.ne[0]));
    for (uint64_t row = first; row < first + n; row++) {
        for (uint64_t i = 0; i < info.ne[0]; i++) {
            values.push_back(wide_value(data + row * info.row_stride, i, info.type));
        }
    }
    return values;
}

} // namespace ggufx::cli
