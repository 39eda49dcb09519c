// SPDX-License-Identifier: MIT
#include "choices.hpp"

#include "base/cpu.hpp"

#include <stdio.h>
#include <string.h>

namespace testdata {

using namespace ggufx;
using namespace ggufx::kernels;

namespace {

// Features that the instructions of a layer's objects need (src/kernels/meson.build).
struct Needs {
    const char *layer;
    uint64_t features;
};
constexpr Needs kNeeds[] = {
    {"scalar", 0},
    {"avx2", cpu::avx2},
    {"avxvnni", cpu::avx2 | cpu::avxvnni},
    {"avx512", cpu::avx2 | cpu::avx512},
    {"avx512vbmi", cpu::avx2 | cpu::avx512 | cpu::avx512vbmi},
    {"neon", cpu::neon},
    {"neon_dot", cpu::neon | cpu::neon_dot},
    {"neon_i8mm", cpu::neon | cpu::neon_dot | cpu::neon_i8mm},
};
constexpr uint64_t kFeatures[] = {cpu::avx2, cpu::avxvnni,  cpu::avx512,   cpu::avx512vbmi,
                                  cpu::neon, cpu::neon_dot, cpu::neon_i8mm};
constexpr uint32_t kSubsets = 1u << (sizeof kFeatures / sizeof *kFeatures);
constexpr size_t kMost = 8; // largest number of choices

// Returns the index in kNeeds, or the number of entries for an unknown layer.
size_t place_of(const Layer &layer) {
    size_t i = 0;
    while (i < sizeof kNeeds / sizeof *kNeeds && strcmp(kNeeds[i].layer, layer.name) != 0) i++;
    return i;
}

// Checks that the first layer has the choice's instruction set, the last one is scalar, and the
// features suffice for all layers.
bool is_right(const Kernels &choice, uint64_t features) {
    if (choice.layers[0]->isa != choice.isa) return false;
    size_t above = sizeof kNeeds / sizeof *kNeeds;
    for (const Layer *layer : choice.layers) {
        if (!layer) break;
        const size_t place = place_of(*layer);
        if (place >= above || (kNeeds[place].features & ~features) != 0) return false;
        above = place;
    }
    return above == 0;
}

// Checks that the list has every choice of the build that the features allow, and that a request
// selects the best one.
bool are_right(const Kernels *const *list, size_t n, uint64_t features, const Kernels *const *all,
               size_t n_all) {
    size_t n_allowed = 0;
    for (size_t i = 0; i < n_all; i++) {
        const size_t place = place_of(*all[i]->layers[0]);
        if (place == sizeof kNeeds / sizeof *kNeeds) return false;
        n_allowed += (kNeeds[place].features & ~features) == 0;
    }
    if (n != n_allowed || select(0, features) != list[n - 1]) return false;
    for (size_t i = 0; i < n; i++) {
        const Kernels *best = select(static_cast<int32_t>(list[i]->isa), features);
        const bool last = i + 1 == n || list[i + 1]->isa != list[i]->isa;
        if (!is_right(*list[i], features) || (last && best != list[i])) return false;
    }
    return true;
}

template <class T> void print_cell(const Kernels &kernels, const T *Layer::*family, uint32_t type) {
    const Layer *layer = nullptr;
    const bool found = find(kernels, family, type, &layer) != nullptr;
    printf(" %-10s", !found ? "-" : layer == kernels.layers[0] ? "own" : layer->name);
}

} // namespace

long count_wrong_choices(long *n_checked) {
    const Kernels *all[kMost], *list[kMost];
    const size_t n_all = kernels::list(all, kMost, ~uint64_t{0});
    long n_wrong = 0;
    for (uint32_t subset = 0; subset < kSubsets; subset++) {
        uint64_t features = 0;
        for (size_t i = 0; i < sizeof kFeatures / sizeof *kFeatures; i++) {
            if (subset >> i & 1u) features |= kFeatures[i];
        }
        const size_t n = kernels::list(list, kMost, features);
        ++*n_checked;
        if (are_right(list, n, features, all, n_all)) continue;
        n_wrong++;
        printf("FAILED choices for features 0x%llx\n", static_cast<unsigned long long>(features));
    }
    return n_wrong;
}

void print_coverage(const Kernels *const *list, size_t n) {
    printf("own = this set's kernel, a name = inherited from that set, - = no such product\n");
    for (size_t i = 0; i < n; i++) {
        printf("\n%-10s %-10s %-10s %-10s %-10s %-10s %-10s %-10s\n", set_name(*list[i]), "dequant",
               "matvec", "matvec_f32", "gemm", "gemm_f32", "matvec_15", "gemm_15");
        for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
            const fmt::TypeInfo *type = fmt::type_info(id);
            if (!type) continue;
            printf("%-10s", type->name);
            print_cell(*list[i], &Layer::dequant, id);
            print_cell(*list[i], &Layer::matvec, id);
            print_cell(*list[i], &Layer::matvec_f32, id);
            print_cell(*list[i], &Layer::gemm, id);
            print_cell(*list[i], &Layer::gemm_f32, id);
            print_cell(*list[i], &Layer::matvec_precise, id);
            print_cell(*list[i], &Layer::gemm_precise, id);
            printf("\n");
        }
    }
}

} // namespace testdata
