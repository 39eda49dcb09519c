// SPDX-License-Identifier: MIT
#include "gguf/tensor_list.hpp"

#include "formats/format.hpp"
#include "gguf/limits.hpp"
#include "gguf/shape.hpp"

#include <string.h>

namespace ggufx::gguf {

static_assert(kMaxNameBytes <= UINT8_MAX && kMaxDims == 4);

std::string_view TensorList::name(size_t i) const {
    return {records_[i]->name(), records_[i]->name_bytes};
}

Tensor TensorList::operator[](size_t i) const {
    const Record &r = *records_[i];
    Tensor t;
    t.name = name(i);
    t.type = r.type;
    t.n_dims = r.n_dims;
    for (uint32_t d = 0; d < r.n_dims; d++) t.ne[d] = r.ne()[d];
    t.offset = r.offset;
    t.info_offset = r.info_offset;
    set_sizes(t, fmt::type_info(t.type));
    return t;
}

void TensorList::add(const Tensor &t) {
    const size_t n_ne = t.n_dims * sizeof(uint64_t);
    const size_t bytes = (sizeof(Record) + n_ne + t.name.size() + 7) / 8 * 8;
    auto *r = new (memory_.add(bytes))
        Record{t.offset, t.info_offset, t.type, static_cast<uint8_t>(t.n_dims),
               static_cast<uint8_t>(t.name.size())};
    auto *rest = reinterpret_cast<uint8_t *>(r + 1);
    memcpy(rest, t.ne, n_ne);
    memcpy(rest + n_ne, t.name.data(), t.name.size());
    records_.add() = r;
}

} // namespace ggufx::gguf
