// SPDX-License-Identifier: MIT
#include "device/emulated_kernels.hpp"

#include "device/emulation.hpp"

namespace ggufx::emulation {

namespace {

using card::Arguments;

template <class F> Kernel of_blocks(const std::string &name) {
    if (name == "dots8_1") return card::dots<F, 1, 1>;
    if (name == "dots8_2") return card::dots<F, 2, 1>;
    if (name == "dots8_3") return card::dots<F, 3, 1>;
    if (name == "dots15_1") return card::dots<F, 1, 2>;
    if (name == "dots15_2") return card::dots<F, 2, 2>;
    if (name == "dots15_3") return card::dots<F, 3, 2>;
    if (name == "dots_f32_1") return card::dots_f32<F, 1>;
    if (name == "dots_f32_2") return card::dots_f32<F, 2>;
    if (name == "dots_f32_3") return card::dots_f32<F, 3>;
    if (name == "chains8") return card::chains<F, 1>;
    if (name == "chains15") return card::chains<F, 2>;
    if (name == "chains_f32") return card::chains_f32<F>;
    return nullptr;
}
template <class F> Kernel of_floats(const std::string &name) {
    if (name == "dots_f32_1") return card::float_dots<F, 1>;
    if (name == "dots_f32_2") return card::float_dots<F, 2>;
    if (name == "dots_f32_3") return card::float_dots<F, 3>;
    if (name == "chains_f32") return card::float_chains<F>;
    return nullptr;
}
Kernel of_columns(const std::string &name) {
    if (name == "pack8") return card::pack<1>;
    if (name == "pack15") return card::pack<2>;
    if (name == "sums") return card::sum_group;
    if (name == "probe") return card::probe;
    if (name == "read") return card::read_words;
    return nullptr;
}

} // namespace

Kernel find_kernel(const std::string &type, const std::string &name) {
    if (type == "columns") return of_columns(name);
    if (type == "F32") return of_floats<lanes::F32>(name);
    if (type == "F16") return of_floats<lanes::F16>(name);
    if (type == "BF16") return of_floats<lanes::BF16>(name);
#define GGUFX_Float(NAME)
#define GGUFX_Integer(NAME)
#define GGUFX_Activation(NAME)
#define GGUFX_Quantized(NAME)                                                                      \
    if (type == #NAME) return of_blocks<lanes::NAME>(name);
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) GGUFX_##KIND(NAME)
#define REMOVED(...)
#include "formats/formats.def"
    return nullptr;
}

void run_kernel(Control &control, Kernel kernel, const Arguments &arguments, uint32_t grid_x,
                uint32_t grid_y, size_t shared_bytes) {
    static Card card(control); // reuses its stacks
    card.control = control;
    card.run(grid_x, grid_y, card::kThreads, shared_bytes, [&] { kernel(arguments); });
    control = card.control;
}

} // namespace ggufx::emulation
