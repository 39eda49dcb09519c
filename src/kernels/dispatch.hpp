// Which kernels run: a stack of layers chosen by name and CPU features.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx::kernels {

// request: GGUFX_ISA_* (0 = the best there is); features: cpu::features(). Null when this build
// or these features lack the requested set. The result is constant data, valid for ever.
const Kernels *select(int32_t request, uint64_t features);

// What callers that know no more than `struct Kernels` ask.
Isa isa_of(const Kernels &kernels);
const char *name_of(const Kernels &kernels); // "avx512"
// The set whose kernel multiplies this type ("avx512"; for a type that is only decoded, the set
// that decodes it), null for unknown or removed ids.
const char *type_isa_name(const Kernels &kernels, uint32_t type);
bool built_in(const char *isa_name); // is this set compiled into the library?

// Every choice of this build that the features allow, scalar first: select(0, f) is the last.
// For tests and `bench --isa all`. Writes at most n, returns how many there are.
size_t list(const Kernels **out, size_t n, uint64_t features);

} // namespace ggufx::kernels
