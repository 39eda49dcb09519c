// Quantization types for a target size. Errors are measured on samples. Starting from the smallest
// types, the next step is always the one that removes most error per byte. On the convex hull of
// each tensor's points this is optimal, except for the rest of the last step (Shoham and Gersho,
// 1988).
// SPDX-License-Identifier: MIT
#include "quantize/target.hpp"

#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/size.hpp"
#include "models/rewrite.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace ggufx::cli {

static constexpr uint64_t kSampleValues = uint64_t{256} << 10; // sampled values per tensor and type

namespace {

struct Point {
    uint32_t type;
    uint64_t bytes;
    double error; // sum of squared errors over the tensor
};

struct TypeChoice {
    size_t tensor;
    std::vector<Point> hull; // ascending bytes, descending error and error per byte
    size_t at = 0;

    bool can_grow() const { return at + 1 < hull.size(); }
    uint64_t step_bytes() const { return hull[at + 1].bytes - hull[at].bytes; }
    double gain() const { // removed error per byte of the next step
        return (hull[at].error - hull[at + 1].error) / static_cast<double>(step_bytes());
    }
};

} // namespace

// Each type has an advantage over all smaller ones.
static std::vector<std::string> default_candidates(bool with_imatrix) {
    std::vector<std::string> names = {"q2_K", "q3_K", "iq3_s", "iq4_xs", "iq4_nl", "q4_K",
                                      "q5_K", "q6_K", "q5_0",  "q5_1",   "q8_0"};
    if (with_imatrix) names.insert(names.end(), {"iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs"});
    return names;
}

static std::vector<Point> lower_hull(std::vector<Point> points) {
    std::sort(points.begin(), points.end(), [](const Point &a, const Point &b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.error < b.error;
    });
    std::vector<Point> hull;
    for (const Point &p : points) {
        if (!hull.empty() && (p.bytes == hull.back().bytes || p.error >= hull.back().error))
            continue;
        while (hull.size() > 1) { // removes points above the line from the one before to p
            const Point &a = hull[hull.size() - 2], &b = hull.back();
            const double ab = (a.error - b.error) * static_cast<double>(p.bytes - a.bytes);
            const double ap = (a.error - p.error) * static_cast<double>(b.bytes - a.bytes);
            if (ab > ap) break;
            hull.pop_back();
        }
        hull.push_back(p);
    }
    return hull;
}

// Measures a type. Returns false if the tensor cannot take it: rows are not whole blocks, or the
// type needs an imatrix.
static bool measure(Point &point, const ggufx_quantizer *job, size_t index,
                    const ggufx_progress &hook) {
    const ggufx_quantizer_tensor_facts t = job_tensor(job, index);
    uint64_t row = 0, values = 1;
    for (const uint64_t n : t.ne) values *= n;
    if (values == 0) return false;
    if (ggufx_type_row_bytes(&row, point.type, t.ne[0], nullptr) != GGUFX_OK) return false;
    double rmse = 0;
    ggufx_error error;
    const ggufx_status status =
        ggufx_quantizer_tensor_error(&rmse, job, index, point.type, kSampleValues, &hook, &error);
    if (status == GGUFX_E_ARGUMENT || status == GGUFX_E_SHAPE) return false;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    point.bytes = row * (values / t.ne[0]);
    point.error = rmse * rmse * static_cast<double>(values);
    return true;
}

static std::vector<TypeChoice> measure_all(const Globals &globals, const ggufx_quantizer *job,
                                           const std::vector<std::string> &candidates,
                                           const std::vector<uint32_t> &chosen) {
    ggufx_progress hook = {};
    hook.report = [](void *, uint64_t, uint64_t) -> int32_t { return pending_signal() != 0; };
    Progress progress(globals, "measure");
    std::vector<TypeChoice> choices;
    const size_t n = job_facts(job).n_tensors;
    for (size_t i = 0; i < n; i++) {
        const ggufx_quantizer_tensor_facts t = job_tensor(job, i);
        progress.update(i, n, escape(view(t.name)));
        if (chosen[i] != GGUFX_QUANTIZER_DEFAULT_TYPE) continue;
        if (t.reason != GGUFX_QUANTIZER_REASON_RECIPE &&
            t.reason != GGUFX_QUANTIZER_REASON_FALLBACK)
            continue;
        std::vector<Point> points;
        for (const std::string &type : candidates) {
            Point point = {type_from_name(type, "--candidates"), 0, 0};
            if (measure(point, job, i, hook)) points.push_back(point);
        }
        if (!points.empty()) choices.push_back({i, lower_hull(std::move(points))});
    }
    return choices;
}

// Grows types from the smallest on, with `budget` more bytes.
static void spend(std::vector<TypeChoice> &choices, uint64_t budget) {
    const auto less = [](const TypeChoice *a, const TypeChoice *b) {
        return a->gain() != b->gain() ? a->gain() < b->gain() : a->tensor > b->tensor;
    };
    std::priority_queue<TypeChoice *, std::vector<TypeChoice *>, decltype(less)> steps(less);
    for (TypeChoice &choice : choices) {
        choice.at = 0;
        if (choice.can_grow()) steps.push(&choice);
    }
    while (!steps.empty()) {
        TypeChoice *choice = steps.top();
        steps.pop();
        if (choice->step_bytes() > budget) continue; // a smaller tensor may still fit
        budget -= choice->step_bytes();
        choice->at++;
        if (choice->can_grow()) steps.push(choice);
    }
}

static void apply(ggufx_quantizer *job, const std::vector<TypeChoice> &choices,
                  std::vector<uint32_t> &chosen) {
    for (const TypeChoice &choice : choices) chosen[choice.tensor] = choice.hull[choice.at].type;
    call([&](ggufx_error *error) {
        return ggufx_quantizer_override_types(job, chosen.data(), chosen.size(), error);
    });
}

// Returns the plan's size and the limit in the target's unit: bytes of files or of tensors.
static std::pair<uint64_t, uint64_t> size_and_limit(const ggufx_quantizer *job,
                                                    const ModelQuantizeOptions &options) {
    const ggufx_quantizer_facts info = job_facts(job);
    if (!options.target_size.empty())
        return {info.file_bytes, parse_size(options.target_size, "--target-size")};
    const double bytes =
        static_cast<double>(options.target_bpw) / 8 * static_cast<double>(info.n_values);
    return {info.bytes_out, static_cast<uint64_t>(bytes)};
}

void meet_target(const Globals &globals, ggufx_quantizer *job, const ModelQuantizeOptions &options,
                 std::vector<uint32_t> &chosen) {
    chosen.resize(job_facts(job).n_tensors, GGUFX_QUANTIZER_DEFAULT_TYPE);
    const auto candidates = options.candidates.empty()
                                ? default_candidates(!options.imatrix.empty())
                                : options.candidates;
    std::vector<TypeChoice> choices = measure_all(globals, job, candidates, chosen);
    apply(job, choices, chosen);
    const auto [least, limit] = size_and_limit(job, options);
    if (least > limit) {
        throw Failure(
            kNoMemory,
            fmt::format(
                "the target of {} cannot be reached: the smallest types that were tried give {}",
                bytes_text(limit), bytes_text(least)));
    }
    // The budget excludes padding between tensors: the excess of a plan is subtracted.
    for (uint64_t budget = limit - least;;) {
        spend(choices, budget);
        apply(job, choices, chosen);
        const uint64_t size = size_and_limit(job, options).first;
        if (size <= limit) return;
        budget -= std::min(budget, size - limit);
    }
}

} // namespace ggufx::cli
