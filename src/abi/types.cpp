// Types of tensors and of KV caches: include/ggufx/types.h.
// SPDX-License-Identifier: MIT
#include "abi/types.hpp"
#include "abi/guard.hpp"
#include "abi/names.hpp"
#include "abi/options.hpp"
#include "formats/format.hpp"
#include "kv/cache.hpp"
#include "quant/quantize.hpp"

#include <ggufx/types.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const fmt::TypeInfo &find_type(uint32_t type) {
    const fmt::TypeInfo *info = fmt::type_info(type);
    if (info) return *info;
    if (const char *text = fmt::removed_type_text(type))
        fail(Status::type, {.value = type}, "tensor type %u is %s", type, text);
    if (const kv::TypeFacts *cached = kv::type_of(type))
        fail(Status::type, {.value = type}, "type %u (%s) is a type of KV caches, not of tensors",
             type, cached->name);
    fail(Status::type, {.value = type}, "tensor type %u is unknown; the last one is %u", type,
         fmt::kTypeIds - 1);
}

uint32_t flags_of(const fmt::TypeInfo &info) {
    const uint32_t products = fmt::has_products(info) ? GGUFX_TYPE_HAS_MATVEC : 0;
    const uint32_t quantize = quant::encoder(info.id) ? GGUFX_TYPE_HAS_QUANTIZE : 0;
    switch (info.kind) {
    case fmt::Kind::kFloat:
        return GGUFX_TYPE_IS_FLOAT | products | quantize;
    case fmt::Kind::kInteger:
        return GGUFX_TYPE_IS_INTEGER;
    case fmt::Kind::kQuantized:
        return GGUFX_TYPE_IS_QUANTIZED | products | quantize;
    case fmt::Kind::kActivation:
        return GGUFX_TYPE_IS_QUANTIZED | GGUFX_TYPE_IS_ACTIVATION;
    }
    return 0;
}

// Name of a type that caches do not take, for a message.
const char *name_of(uint32_t type) {
    if (const fmt::TypeInfo *info = fmt::type_info(type)) return info->name;
    const char *const removed = fmt::removed_type_text(type);
    return removed ? removed : "unknown";
}

} // namespace

uint32_t abi::import_kv_type(uint32_t type, bool has, const char *member) {
    if (type == 0 && !has) return 0;
    if (const kv::TypeFacts *facts = kv::type_of(type)) return facts->id;
    fail(Status::type, {.value = type}, "%s: type %u, %s, is no type of KV caches", member, type,
         name_of(type));
}

uint32_t abi::export_kv_type(uint32_t id) {
    return kv::type_facts(id)->type;
}

extern "C" ggufx_status ggufx_type_info(ggufx_type_facts *out, uint32_t type, ggufx_error *error) {
    return guard(error, [&] {
        require(out, "out must be set");
        ggufx_type_facts facts = {};
        facts.id = type;
        const auto describe = [&](const auto &info, uint32_t flags) {
            facts.flags = flags;
            facts.block_values = info.block_values;
            facts.block_bytes = info.block_bytes;
            facts.name = info.name;
        };
        const kv::TypeFacts *const cached = kv::type_of(type);
        if (cached && !fmt::type_info(type)) {
            describe(*cached, cached->flags);
        } else {
            const fmt::TypeInfo &info = find_type(type);
            describe(info, flags_of(info) | GGUFX_TYPE_IN_FILES);
        }
        if (cached) facts.flags |= GGUFX_TYPE_IN_CACHES;
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
        if (const kv::TypeFacts *cached = kv::type_by_name(name, length)) {
            *out = cached->type;
            return;
        }
        NearestName nearest(name, length);
        for (uint32_t id = 0; id < fmt::kTypeIds; id++)
            if (const fmt::TypeInfo *info = fmt::type_info(id)) nearest.offer(info->name);
        for (size_t i = 0; kv::type_at(i); i++) nearest.offer(kv::type_at(i)->name);
        fail(Status::not_found, {}, "no type is called \"%s\"%s", Quoted(name, length).c_str(),
             nearest.question());
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
