// Stacks of layers, lowest instruction set first. Sets that are not compiled for this processor
// family are absent; meson.build defines GGUFX_KERNELS_*.
// SPDX-License-Identifier: MIT
#include "kernels/dispatch.hpp"

#include "base/cpu.hpp"

#include <string.h>

namespace ggufx::kernels {

namespace scalar {
extern const Layer kLayer;
}
namespace avx2 {
extern const Layer kLayer;
}
namespace avxvnni {
extern const Layer kLayer;
}
namespace avx512 {
extern const Layer kLayer;
}
namespace avx512vbmi {
extern const Layer kLayer;
}
namespace neon {
extern const Layer kLayer;
}
namespace neon_dot {
extern const Layer kLayer;
}
namespace neon_i8mm {
extern const Layer kLayer;
}

namespace {

struct Choice {
    uint64_t needs; // required CPU features
    Kernels kernels;
};

constexpr Choice kChoices[] = {
    {0, {Isa::scalar, "scalar", {&scalar::kLayer}}},
#ifdef GGUFX_KERNELS_AVX2
    {cpu::avx2, {Isa::avx2, "avx2", {&avx2::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_AVXVNNI
    {cpu::avx2 | cpu::avxvnni,
     {Isa::avxvnni, "avxvnni", {&avxvnni::kLayer, &avx2::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_AVX512
    {cpu::avx2 | cpu::avx512,
     {Isa::avx512, "avx512", {&avx512::kLayer, &avx2::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_AVX512VBMI
    {cpu::avx2 | cpu::avx512 | cpu::avx512vbmi,
     {Isa::avx512,
      "avx512",
      {&avx512vbmi::kLayer, &avx512::kLayer, &avx2::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_NEON
    {cpu::neon, {Isa::neon, "neon", {&neon::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_NEON_DOT
    {cpu::neon | cpu::neon_dot,
     {Isa::neon_dot, "neon_dot", {&neon_dot::kLayer, &neon::kLayer, &scalar::kLayer}}},
#endif
#ifdef GGUFX_KERNELS_NEON_I8MM
    {cpu::neon | cpu::neon_dot | cpu::neon_i8mm,
     {Isa::neon_i8mm,
      "neon_i8mm",
      {&neon_i8mm::kLayer, &neon_dot::kLayer, &neon::kLayer, &scalar::kLayer}}},
#endif
};

bool usable(const Choice &choice, uint64_t features) {
    return (choice.needs & ~features) == 0;
}

} // namespace

const Kernels *select(int32_t request, uint64_t features) {
    const Kernels *best = nullptr;
    for (const Choice &choice : kChoices) {
        if (!usable(choice, features)) continue;
        if (request == 0 || static_cast<int32_t>(choice.kernels.isa) == request) {
            best = &choice.kernels;
        }
    }
    return best;
}

Isa isa_of(const Kernels &kernels) {
    return kernels.isa;
}

const char *name_of(const Kernels &kernels) {
    return kernels.name;
}

bool built_in(const char *isa_name) {
    for (const Choice &choice : kChoices) {
        if (strcmp(choice.kernels.name, isa_name) == 0) return true;
    }
    return false;
}

const char *type_isa_name(const Kernels &kernels, uint32_t type) {
    const Layer *layer = nullptr;
    if (find(kernels, &Layer::matvec, type, &layer)) return layer->name;
    if (find(kernels, &Layer::matvec_f32, type, &layer)) return layer->name;
    if (find(kernels, &Layer::dequant, type, &layer)) return layer->name;
    return nullptr;
}

size_t list(const Kernels **out, size_t n, uint64_t features) {
    size_t found = 0;
    for (const Choice &choice : kChoices) {
        if (!usable(choice, features)) continue;
        if (found < n) out[found] = &choice.kernels;
        found++;
    }
    return found;
}

} // namespace ggufx::kernels
