// Attention on pages: the loops for every kind of page.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/kv_vec.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <KvKind K> constexpr KvKernels kKind = kKvKind<KvVec, K>;
constexpr KvKernels kKinds[kKvKinds] = {
    kKind<KvKind::f32>,    kKind<KvKind::f16>,   kKind<KvKind::bf16>,           kKind<KvKind::q8_0>,
    kKind<KvKind::q5_1>,   kKind<KvKind::q5_0>,  kKind<KvKind::q4_1>,           kKind<KvKind::q4_0>,
    kKind<KvKind::iq4_nl>, kKind<KvKind::tq3_0>, kKind<KvKind::tq3_0_residual>, kKind<KvKind::gx2>,
    kKind<KvKind::gx3>,    kKind<KvKind::gx4>,
};

} // namespace
} // namespace avx2

extern const KvPages kAvx2KvPages;
const KvPages kAvx2KvPages = {avx2::kKinds, kv_weigh<avx2::KvVec>, kv_scale<avx2::KvVec>,
                              kv_merge<avx2::KvVec>};

} // namespace kernels
} // namespace ggufx
