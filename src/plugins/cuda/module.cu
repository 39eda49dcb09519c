// All kernels of the tensor type TYPE, FLOATS for F32, F16 and BF16; without TYPE the kernels that
// need none.
// SPDX-License-Identifier: MIT
#include "plugins/cuda/language.hpp"

#include "plugins/cuda/kernels.hpp"

namespace card = ggufx::card;

#define ENTRY(NAME, CALL)                                                                          \
    KERNEL void NAME(const card::Arguments a) {                                                    \
        CALL(a);                                                                                   \
    }

#if !defined(TYPE)
ENTRY(pack8, card::pack<1>)
ENTRY(pack15, card::pack<2>)
ENTRY(sums, card::sum_group)
ENTRY(probe, card::probe)
ENTRY(read, card::read_words)
#elif FLOATS
using F = ggufx::lanes::TYPE;
ENTRY(dots_f32_1, (card::float_dots<F, 1>))
ENTRY(dots_f32_2, (card::float_dots<F, 2>))
ENTRY(dots_f32_3, (card::float_dots<F, 3>))
ENTRY(chains_f32, (card::float_chains<F>))
#else
using F = ggufx::lanes::TYPE;
ENTRY(dots8_1, (card::dots<F, 1, 1>))
ENTRY(dots8_2, (card::dots<F, 2, 1>))
ENTRY(dots8_3, (card::dots<F, 3, 1>))
ENTRY(dots15_1, (card::dots<F, 1, 2>))
ENTRY(dots15_2, (card::dots<F, 2, 2>))
ENTRY(dots15_3, (card::dots<F, 3, 2>))
ENTRY(dots_f32_1, (card::dots_f32<F, 1>))
ENTRY(dots_f32_2, (card::dots_f32<F, 2>))
ENTRY(dots_f32_3, (card::dots_f32<F, 3>))
ENTRY(chains8, (card::chains<F, 1>))
ENTRY(chains15, (card::chains<F, 2>))
ENTRY(chains_f32, (card::chains_f32<F>))
#endif
