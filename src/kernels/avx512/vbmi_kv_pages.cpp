// AVX-512 VBMI attention on pages with table lookups of codes; the other kinds use AVX-512.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/vbmi_kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

namespace {

template <KvKind K> constexpr KvKernels kTabled = kKvKind<avx512::VbmiKvVec, K>;
constexpr KvKernels kBelow = {};
constexpr KvKernels kKinds[kKvKinds] = {
    kBelow,
    kBelow,
    kBelow,
    kBelow,
    kBelow,
    kBelow,
    kBelow,
    kBelow, // floats, Q8_0 to Q4_0
    kTabled<KvKind::iq4_nl>,
    kTabled<KvKind::tq3_0>,
    kTabled<KvKind::tq3_0_residual>,
    kTabled<KvKind::gx2>,
    kTabled<KvKind::gx3>,
    kTabled<KvKind::gx4>,
};

} // namespace

const KvPages avx512vbmi::kKvPages = kv_pages_with<avx512::VbmiKvVec>(kAvx512KvEncoders, kKinds);

} // namespace kernels
} // namespace ggufx
