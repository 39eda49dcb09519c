// Attention on pages: the loops for every kind of page.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/kv_vec.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <KvKind K> constexpr KvKernels kKind = kKvKind<KvVec, K>;
constexpr KvKernels kKinds[kKvKinds] = {
    kKind<KvKind::f32>,    kKind<KvKind::f16>,   kKind<KvKind::bf16>,           kKind<KvKind::q8_0>,
    kKind<KvKind::q5_1>,   kKind<KvKind::q5_0>,  kKind<KvKind::q4_1>,           kKind<KvKind::q4_0>,
    kKind<KvKind::iq4_nl>, kKind<KvKind::tq3_0>, kKind<KvKind::tq3_0_residual>, kKind<KvKind::gx2>,
    kKind<KvKind::gx3>,    kKind<KvKind::gx4>,
};

} // namespace
} // namespace avx512

const KvPages kAvx512KvPages = {avx512::kKinds, kv_weigh<avx512::KvVec>, kv_scale<avx512::KvVec>,
                                kv_merge<avx512::KvVec>};

} // namespace kernels
} // namespace ggufx
