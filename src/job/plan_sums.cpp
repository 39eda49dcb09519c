// SPDX-License-Identifier: MIT
#include "job/plan_sums.hpp"

#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "formats/format.hpp"

#include <math.h>

namespace ggufx::job {

namespace {

// Relative RMSE, and RMSE weighted by the given imatrix: tests/bench/quantize.md,
// GGUFX_QUANTIZE_REFINED, Gaussian samples, the reference's search. Types that need an imatrix have
// the weighted RMSE in both places.
constexpr struct {
    uint32_t type;
    float plain, weighed;
} kErrors[] = {
    {fmt::id::Q1_0, 0.59979f, 0.60085f},    {fmt::id::IQ1_S, 0.44273f, 0.44273f},
    {fmt::id::TQ1_0, 0.80967f, 0.80897f},   {fmt::id::IQ1_M, 0.58121f, 0.39291f},
    {fmt::id::IQ2_XXS, 0.29888f, 0.29888f}, {fmt::id::TQ2_0, 0.80967f, 0.80897f},
    {fmt::id::Q2_0, 0.71952f, 0.71899f},    {fmt::id::IQ2_XS, 0.26136f, 0.26136f},
    {fmt::id::IQ2_S, 0.26517f, 0.22672f},   {fmt::id::Q2_K, 0.29706f, 0.23811f},
    {fmt::id::IQ3_XXS, 0.21299f, 0.15434f}, {fmt::id::Q3_K, 0.15096f, 0.13481f},
    {fmt::id::IQ3_S, 0.16632f, 0.12067f},   {fmt::id::IQ4_XS, 0.07681f, 0.07139f},
    {fmt::id::MXFP4, 0.11394f, 0.11362f},   {fmt::id::Q4_0, 0.08608f, 0.07793f},
    {fmt::id::Q4_K, 0.07148f, 0.06511f},    {fmt::id::IQ4_NL, 0.07620f, 0.07062f},
    {fmt::id::NVFP4, 0.10323f, 0.10299f},   {fmt::id::Q4_1, 0.07837f, 0.06414f},
    {fmt::id::Q5_0, 0.04271f, 0.03847f},    {fmt::id::Q5_K, 0.03615f, 0.03299f},
    {fmt::id::Q5_1, 0.03781f, 0.03097f},    {fmt::id::Q6_K, 0.01776f, 0.01619f},
    {fmt::id::Q8_0, 0.00536f, 0.00536f},    {fmt::id::F16, 0.00021f, 0.00021f},
    {fmt::id::BF16, 0.00166f, 0.00166f},
};

// A type without an entry would count as lossless.
consteval bool has_error(uint32_t type) {
    for (const auto &row : kErrors)
        if (row.type == type) return true;
    return false;
}
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...)                                                \
    static_assert(fmt::Kind::k##KIND != fmt::Kind::kQuantized || has_error(ID));
#define REMOVED(...)
#include "formats/formats.def"

bool is_weighed(const Plan &plan, const PlannedTensor &t) {
    if (t.weights) return true;
    return plan.options().assume_imatrix && quant::is_weighed(t.role);
}

// Returns the bytes that one token reads. An embedding is read a row at a time, unless it is also
// the output matrix.
uint64_t token_bytes(const PlannedTensor &t, bool tied, uint64_t n_experts, uint64_t n_used) {
    const gguf::Tensor &source = t.source;
    const bool tied_one = tied && source.name == "token_embd.weight";
    const bool by_row = t.role == quant::Category::token_embd && !tied_one;
    if (by_row) return source.n_rows ? t.n_bytes / source.n_rows : 0;
    const bool routed = source.name.find("_exps.") != std::string_view::npos;
    if (routed && n_experts && source.ne[2] == n_experts) return t.n_bytes / n_experts * n_used;
    return t.n_bytes;
}

// Returns the RMS of a type's error relative to the RMS of the input; 0 for lossless types.
double type_error(uint32_t type, bool weighed) {
    for (const auto &row : kErrors)
        if (row.type == type) return static_cast<double>(weighed ? row.weighed : row.plain);
    return 0;
}

} // namespace

PlanSums sum_plan(const Plan &plan, uint64_t n_experts, uint64_t n_used_experts) {
    const CanonicalFp canonical;
    PlanSums sums;
    const bool tied = !plan.has_output();
    double squares = 0, n_values = 0;
    bool ok = true;
    for (const PlannedTensor &t : plan.tensors()) {
        const uint64_t n = t.source.ne[0] * t.source.n_rows; // below 2^63, checked by the reader
        if (!t.source.name.starts_with("rope_"))
            ok = ok && checked::add(&sums.n_parameters, sums.n_parameters, n);
        ok = ok && checked::add(&sums.n_bytes, sums.n_bytes, t.n_bytes) &&
             checked::add(&sums.token_bytes, sums.token_bytes,
                          token_bytes(t, tied, n_experts, n_used_experts));
        sums.needs_imatrix |= t.needs_weights;
        n_values += static_cast<double>(n);
        if (t.copies()) continue;
        const double error = type_error(t.choice.type, is_weighed(plan, t));
        squares += error * error * static_cast<double>(n);
    }
    if (!ok) fail(Status::overflow, {}, "the tensors have more than 2^64 bytes");
    sums.error = n_values > 0 ? sqrt(squares / n_values) : 0;
    return sums;
}

} // namespace ggufx::job
