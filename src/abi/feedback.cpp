// Quantization with feedback: include/ggufx/feedback.h.
// SPDX-License-Identifier: MIT
#include "quant/feedback.hpp"

#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <ggufx/feedback.h>

using namespace ggufx;
using namespace ggufx::abi;

struct ggufx_moments {
    ggufx_moments(const Ref<Host> &h, size_t n_columns, bool with_drift)
        : host(h), moments(h, n_columns, with_drift) {}
    Tag tag = Tag::moments;
    Ref<Host> host;
    quant::Moments moments;
    bool is_broken = false; // a call was cancelled inside a sum
};

namespace {

constexpr uint64_t kMostColumns = 1u << 20; // 8 TiB of sums

const quant::Moments &moments_of(const ggufx_moments *handle, const char *name) {
    if (!alive(handle, Tag::moments)) fail(Status::argument, {}, "%s is no live handle", name);
    if (handle->is_broken) fail(Status::state, {}, "%s: a cancelled call left parts of sums", name);
    return handle->moments;
}

quant::FeedbackOptions options_of(const ggufx_feedback_args &args) {
    quant::FeedbackOptions options;
    if (args.flags & GGUFX_FEEDBACK_DAMPING) {
        require(args.damping > 0, "damping must be above 0");
        options.damping = args.damping;
    }
    if (args.n_passes > 0) options.n_passes = args.n_passes;
    options.corrects_target = !(args.flags & GGUFX_FEEDBACK_KEEP_TARGET);
    return options;
}

} // namespace

extern "C" ggufx_status ggufx_moments_create(ggufx_moments **out, const ggufx_runtime *rt,
                                             size_t n_columns, ggufx_moments_flags flags,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require((flags & ~GGUFX_MOMENTS_DRIFT) == 0, "flags have unknown bits");
        if (n_columns == 0 || n_columns > kMostColumns)
            fail(Status::argument, {.value = n_columns, .limit = kMostColumns},
                 "%zu columns; moments have 1 to %u", n_columns, unsigned(kMostColumns));
        *out =
            make<ggufx_moments>(*rt->host, rt->host, n_columns, (flags & GGUFX_MOMENTS_DRIFT) != 0);
    });
}

extern "C" void ggufx_moments_destroy(ggufx_moments *moments) {
    const NoCancel whole;
    if (!alive(moments, Tag::moments)) return;
    destroy_object(moments->host, moments);
}

extern "C" ggufx_status ggufx_moments_info(ggufx_moments_facts *out, const ggufx_moments *moments,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(alive(moments, Tag::moments) && out, "out and moments must be set");
        const quant::Moments &from = moments->moments;
        ggufx_moments_facts facts = {};
        facts.flags = from.drift() ? GGUFX_MOMENTS_DRIFT : 0;
        facts.n_columns = from.n_columns();
        facts.n_inputs = from.n_inputs();
        facts.memory_bytes = quant::Moments::bytes(from.n_columns(), from.drift() != nullptr);
        export_struct(out, facts, "ggufx_moments_facts");
    });
}

extern "C" ggufx_status ggufx_moments_add(ggufx_moments *moments,
                                          const ggufx_moments_inputs *inputs, ggufx_error *error) {
    return guard(error, [&] {
        (void)moments_of(moments, "moments");
        require(inputs, "inputs must be set");
        const auto in = import_options(inputs, 0, "ggufx_moments_inputs");
        quant::Moments &to = moments->moments;
        if (in.n_columns != to.n_columns())
            fail(Status::argument, {.value = in.n_columns, .limit = to.n_columns()},
                 "inputs have %zu values; the moments have %zu columns", in.n_columns,
                 to.n_columns());
        require(in.rows || in.n == 0, "rows must be set");
        const Progress progress = import_progress(in.progress);
        const uint64_t before = to.n_inputs();
        const Status status =
            to.add({in.rows, in.n ? in.source_rows : nullptr, in.n_columns, in.n_columns, in.n},
                   progress, failure_of(error));
        moments->is_broken = status != Status::ok && to.n_inputs() != before;
        return status;
    });
}

extern "C" ggufx_status ggufx_quantize_feedback(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                                const ggufx_feedback_args *args,
                                                ggufx_feedback_facts *out_facts,
                                                ggufx_error *error) {
    return guard(error, [&] {
        require(alive(rt, Tag::runtime), "rt is not a live runtime");
        require(args && out_facts, "args and out_facts must be set");
        const auto in = import_options(args, GGUFX_FEEDBACK_KEEP_TARGET | GGUFX_FEEDBACK_DAMPING,
                                       "ggufx_feedback_args");
        const quant::Moments &moments = moments_of(in.moments, "moments");
        const quant::Moments *const kept_out =
            in.kept_out ? &moments_of(in.kept_out, "kept_out") : nullptr;
        const Progress progress = import_progress(in.progress);
        const quant::FeedbackMetric metric(rt->host, moments, kept_out, options_of(in), progress,
                                           2 * uint64_t{in.n_rows});
        quant::FeedbackResult result;
        const Status status = quant::quantize_feedback(
            {static_cast<uint8_t *>(out), n_bytes, in.type}, rt->host, rt->engine->kernels(),
            {in.rows, in.n_rows, in.n_cols, nullptr}, metric, &result, progress, failure_of(error));
        if (status != Status::ok) return status;
        ggufx_feedback_facts found = {};
        found.is_used = result.is_used;
        found.error_before = result.before;
        found.error_after = result.after;
        found.kept_out_change = result.kept_out_change;
        export_struct(out_facts, found, "ggufx_feedback_facts");
        return status;
    });
}
