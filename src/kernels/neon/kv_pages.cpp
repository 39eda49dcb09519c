// Attention on pages: the loops for every kind of page.
// SPDX-License-Identifier: MIT
#include "kernels/loops/kv_weigh.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <KvKind K> constexpr KvKernels kKind = kKvKind<KvVec, K>;
constexpr KvKernels kKinds[kKvKinds] = {
    kKind<KvKind::f32>,    kKind<KvKind::f16>,   kKind<KvKind::bf16>,           kKind<KvKind::q8_0>,
    kKind<KvKind::q5_1>,   kKind<KvKind::q5_0>,  kKind<KvKind::q4_1>,           kKind<KvKind::q4_0>,
    kKind<KvKind::iq4_nl>, kKind<KvKind::tq3_0>, kKind<KvKind::tq3_0_residual>, kKind<KvKind::gx2>,
    kKind<KvKind::gx3>,    kKind<KvKind::gx4>,
};

} // namespace
} // namespace neon

extern const KvPages GGUFX_NEON_TABLE(KvPages);
const KvPages GGUFX_NEON_TABLE(KvPages) = {neon::kKinds, kv_weigh<neon::KvVec>,
                                           kv_scale<neon::KvVec>, kv_merge<neon::KvVec>};

} // namespace kernels
} // namespace ggufx
