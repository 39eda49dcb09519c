// Kernel dispatch: a stack of layers chosen by name and CPU features.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx::kernels {

// Selects kernels. request: GGUFX_ISA_* (0 = the best available); features: cpu::features().
// Returns null if this build or these features lack the requested set. The result is constant data
// without a lifetime.
const Kernels *select(int32_t request, uint64_t features);

// Accessors for callers that have only a forward declaration of `struct Kernels`.
Isa isa_of(const Kernels &kernels);
const char *name_of(const Kernels &kernels); // "avx512"
// Returns the name of the set whose kernel multiplies this type ("avx512"), or dequantizes it if
// nothing multiplies it. Null for unknown or removed ids.
const char *type_isa_name(const Kernels &kernels, uint32_t type);
bool built_in(const char *isa_name); // returns whether this set is compiled into the library

// Lists every choice of this build that the features allow, scalar first: select(0, f) is the last.
// For tests and `bench --isa all`. Writes at most n, returns the total number.
size_t list(const Kernels **out, size_t n, uint64_t features);

} // namespace ggufx::kernels
