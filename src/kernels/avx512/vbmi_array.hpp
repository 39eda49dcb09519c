// Table of row-wise products with integer activations: the IQ types with codebooks and, for a single
// column of 8 bits, types that byte shuffles shorten. GGUFX_PLANES and GGUFX_FAMILY as in
// loops/matvec_array.hpp.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/vbmi_rows4.hpp"
#include "kernels/avx512/vbmi_rows8.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec.hpp"

namespace ggufx::kernels {

namespace avx512 {
extern const Family<Matvec> kMatvec;
}

using namespace avx512vbmi;

namespace {

// Whole steps of a single column in four streams; the layer below has the same order of codes and
// does the rest.
template <class U, uint32_t Id> struct OneColumn {
    static const Matvec &below() { return avx512::kMatvec.of[Id]; }
    static void pack(const Act &act, const float *x) { below().pack(act, x); }
    static void strip(Out y, const Rows &w, const Act *act, size_t n, const Strip &strip) {
        RowLanes<U> unused[kStreams];
        if (strip.n_streams == kStreams) return one_column<U>(y.y, unused, w, act, strip);
        below().run({y.y + strip.row, y.ld}, {strip.at(w, 0), w.stride, 1, w.k, w.near}, act, n);
    }
    static void run(Out y, Rows w, const Act *act, size_t n) {
        if (n == 1 && w.k % kStepValues<U> == 0) return each_strip(y, w, act, n, strip);
        below().run(y, w, act, n);
    }
};
template <class F>
constexpr bool kOneColumn = [] {
    if constexpr (GGUFX_PLANES == 1 && requires { avx512::UnpackLanes<F>::kOffset; })
        return avx512::UnpackLanes<F>::kByteShuffles;
    return false;
}();

} // namespace

constexpr Family<Matvec> GGUFX_LAYER::GGUFX_FAMILY = for_types<Matvec>([]<class F, Kind>()
                                                                           -> Matvec {
    if constexpr (requires { Unpack<F>::kOffset; })
        return {pack_planes<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
    else if constexpr (kOneColumn<F>) {
        using One = OneColumn<Planes<avx512::UnpackLanes<F>, 1>, kIdOf<F>>;
        return {One::pack, One::run};
    } else
        return {};
});

} // namespace ggufx::kernels
