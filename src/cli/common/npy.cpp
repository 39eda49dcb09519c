// The header: magic, header length, a Python dict padded to 64 bytes.
// SPDX-License-Identifier: MIT
#include "common/npy.hpp"

#include <fmt/format.h>
#include <ggufx/types.h>

namespace ggufx::cli {

const char *npy_descr(uint32_t type) {
    switch (type) {
    case GGUFX_TYPE_F32:
        return "<f4";
    case GGUFX_TYPE_F16:
        return "<f2";
    case GGUFX_TYPE_F64:
        return "<f8";
    case GGUFX_TYPE_I8:
        return "|i1";
    case GGUFX_TYPE_I16:
        return "<i2";
    case GGUFX_TYPE_I32:
        return "<i4";
    case GGUFX_TYPE_I64:
        return "<i8";
    default:
        return nullptr;
    }
}

std::string npy_header(const char *descr, const std::vector<uint64_t> &shape) {
    std::string dimensions;
    for (const uint64_t n : shape) dimensions += fmt::format("{},", n);
    std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr, dimensions);
    constexpr size_t kPrefix = 10;
    dict += std::string(63 - (kPrefix + dict.size()) % 64, ' ') + "\n";
    const auto low = static_cast<char>(dict.size() & 0xff);
    const auto high = static_cast<char>(dict.size() >> 8);
    return std::string("\x93NUMPY\x01\x00", 8) + low + high + dict;
}

} // namespace ggufx::cli
