// Tensor types: include/ggufx/types.h. (KV types: kv.cpp.)
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/names.hpp"
#include "abi/options.hpp"
#include "formats/format.hpp"
#include "quant/encoder.hpp"

#include <ggufx/types.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const fmt::TypeInfo &find_type(uint32_t type) {
    const fmt::TypeInfo *info = fmt::type_info(type);
    if (info) return *info;
    if (const char *text = fmt::removed_type_text(type))
        fail(Status::type, {}, "tensor type %u is %s", type, text);
    fail(Status::type, {}, "tensor type %u is unknown; this library knows 0..%u", type,
         fmt::kTypeIds - 1);
}

uint32_t flags_of(const fmt::TypeInfo &info) {
    const uint32_t products = fmt::has_products(info) ? GGUFX_TYPE_HAS_MATVEC : 0;
    switch (info.kind) {
    case fmt::Kind::kFloat:
        return GGUFX_TYPE_IS_FLOAT | products;
    case fmt::Kind::kInteger:
        return GGUFX_TYPE_IS_INTEGER;
    case fmt::Kind::kQuantized:
        return GGUFX_TYPE_IS_QUANTIZED | products;
    case fmt::Kind::kActivation:
        return GGUFX_TYPE_IS_QUANTIZED | GGUFX_TYPE_IS_ACTIVATION;
    }
    return 0;
}

} // namespace

extern "C" ggufx_status ggufx_type_info(ggufx_type_facts *out, uint32_t type, ggufx_error *error) {
    return guard(error, [&] {
        require(out, "out must be set");
        const fmt::TypeInfo &info = find_type(type);
        ggufx_type_facts facts = {};
        facts.flags = flags_of(info) | (quant::encoder(type) ? GGUFX_TYPE_HAS_QUANTIZE : 0u);
        facts.id = info.id;
        facts.block_values = info.block_values;
        facts.block_bytes = info.block_bytes;
        facts.name = info.name;
        export_struct(out, facts, "ggufx_type_facts");
    });
}

extern "C" ggufx_status ggufx_type_find(uint32_t *out, const char *name, ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        require(out && name, "out and name must be set");
        const size_t length = strlen(name);
        if (const fmt::TypeInfo *info = fmt::type_by_name(name, length)) {
            *out = info->id;
            return;
        }
        NearestName nearest(name, length);
        for (uint32_t id = 0; id < fmt::kTypeIds; id++)
            if (const fmt::TypeInfo *info = fmt::type_info(id)) nearest.offer(info->name);
        fail(Status::not_found, {}, "no tensor type is called \"%s\"%s",
             Quoted(name, length).c_str(), nearest.question());
    });
}

extern "C" ggufx_status ggufx_type_row_bytes(uint64_t *out, uint32_t type, uint64_t n,
                                             ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        require(out, "out must be set");
        const fmt::TypeInfo &info = find_type(type);
        if (n % info.block_values)
            fail(Status::shape, {}, "a row of %llu values is not whole blocks of %u (type %s)",
                 static_cast<unsigned long long>(n), info.block_values, info.name);
        if (!fmt::row_bytes(out, info, n))
            fail(Status::overflow, {}, "a row of %llu values of type %s exceeds 2^64 bytes",
                 static_cast<unsigned long long>(n), info.name);
    });
}
