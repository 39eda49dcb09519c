// Declarations of the exported tables, one per object file, in the namespace of their layer;
// table.cpp combines them. Files of loops/ are compiled once per layer; meson.build defines
//   GGUFX_SET     namespace and folder of the set, with its formats.hpp
//   GGUFX_LAYER   namespace of the tables; differs for a set that is compiled several times
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/encode.hpp"
#include "kernels/table.hpp"

#define GGUFX_TEXT_OF(x) #x
#define GGUFX_TEXT(x) GGUFX_TEXT_OF(x)
// The path must not contain spaces.
// clang-format off
#define GGUFX_FORMATS GGUFX_TEXT(kernels/GGUFX_SET/formats.hpp)
// clang-format on

namespace ggufx::kernels {

// A kernel, or none, for each type id.
template <class Kernel> struct Family { Kernel of[fmt::kTypeIds]; };

namespace GGUFX_LAYER {

extern const Family<Dequant> kDequant;
extern const Family<Matvec> kMatvec, kMatvecPrecise;
extern const Family<MatvecF32> kMatvecF32;
extern const Family<Gemm> kGemm, kGemmPrecise, kGemmF32;
extern const Family<Encode> kEncoders;
extern const KvPages kKvPages;
extern const RowKernels kRows;
extern const Layer kLayer;

} // namespace GGUFX_LAYER

namespace {

// Kind of a type in formats.def.
enum class Kind { Quantized, Float, Integer, Activation };
// Float types of weights, without F64.
template <class F, Kind K>
constexpr bool kIsFloat = K == Kind::Float && sizeof(typename F::Block) <= sizeof(float);
// Values per sum of x that the minimums of a type need, see MatvecF32.
template <class F> constexpr uint32_t kSumsOf = F::kMins == fmt::Mins::kNone ? 0 : F::kGroup;

// Id of a type: its index in the table of another layer.
template <class F> constexpr uint32_t kIdOf = fmt::kTypeIds;
#define X(NAME, ID, ...) template <> constexpr uint32_t kIdOf<fmt::NAME> = ID;
#include "formats/formats.def"

// Calls make<F, Kind>() for every type F; removed types have no kernel.
template <class Kernel, class Make> consteval Family<Kernel> for_types(Make make) {
    return {{
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...)                                                \
    make.template operator()<fmt::NAME, Kind::KIND>(),
#define REMOVED(...) {},
#include "formats/formats.def"
    }};
}

} // namespace
} // namespace ggufx::kernels
