// AVX-VNNI attention on integer pages. Float pages and quantization of pages use AVX2.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

namespace {

template <KvKind K> constexpr KvKernels kIntegers = kKvKind<avxvnni::KvVec, K>;
constexpr KvKernels kKinds[kKvKinds] = {
    {}, // f32
    {}, // f16
    {}, // bf16
    kIntegers<KvKind::q8_0>,
    kIntegers<KvKind::q5_1>,
    kIntegers<KvKind::q5_0>,
    kIntegers<KvKind::q4_1>,
    kIntegers<KvKind::q4_0>,
    kIntegers<KvKind::iq4_nl>,
    kIntegers<KvKind::tq3_0>,
    kIntegers<KvKind::tq3_0_residual>,
    kIntegers<KvKind::gx2>,
    kIntegers<KvKind::gx3>,
    kIntegers<KvKind::gx4>,
};

} // namespace

const KvPages GGUFX_LAYER::kKvPages = kv_pages_with<avxvnni::KvVec>(kAvx2KvEncoders, kKinds);

} // namespace kernels
} // namespace ggufx
