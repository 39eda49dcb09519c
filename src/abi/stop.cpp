// Log-probabilities and stop strings: include/ggufx/sampler.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "model/sampling/logprobs.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint64_t kMostStopBytes = uint64_t{1} << 20;

const kernels::RowKernels &row_kernels(const ggufx_runtime *rt) {
    return *kernels::rows_of(rt->engine->kernels());
}

Status check_logprobs(const ggufx_runtime *rt, const float *logits, size_t n, size_t k,
                      bool has_room, Failure *failure) {
    if (!alive(rt, Tag::runtime) || !logits || !has_room)
        return set_failure(failure, Status::argument, {}, "outputs, rt and logits must be set");
    if (n == 0 || n > INT32_MAX || k > n)
        return set_failure(failure, Status::argument, {},
                           "n is %" PRIu64 ": it must be 1 to 2^31 - 1, and k (%" PRIu64
                           ") no more",
                           static_cast<uint64_t>(n), static_cast<uint64_t>(k));
    const float most = sampling::largest_of(row_kernels(rt), logits, n);
    if (most == __builtin_inff()) return sampling::bad_logit(logits, failure);
    if (most != sampling::kGone) return Status::ok;
    return set_failure(failure, Status::value, {}, "no logit is finite");
}

Vector<std::string_view> import_texts(const Host *host, const ggufx_stop_text *texts, size_t n) {
    Vector<std::string_view> out(HostAllocator<std::string_view>{host});
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!texts[i].text || texts[i].length == 0)
            fail(Status::argument, {kNone, i}, "stop string %" PRIu64 " is empty",
                 static_cast<uint64_t>(i));
        if (!checked::add(&bytes, bytes, texts[i].length) || bytes > kMostStopBytes)
            fail(Status::limit, {kNone, i}, "the stop strings have more than %" PRIu64 " bytes",
                 kMostStopBytes);
        out.push_back({texts[i].text, texts[i].length});
    }
    return out;
}

} // namespace

extern "C" ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                       float *out_chosen, const ggufx_runtime *rt,
                                       const float *logits, size_t n, int32_t chosen,
                                       ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const CanonicalFp canonical;
        const Status status =
            check_logprobs(rt, logits, n, k, k == 0 || (out_ids && out_logprobs), failure);
        if (status != Status::ok) return status;
        if (out_chosen && (chosen < 0 || static_cast<size_t>(chosen) >= n))
            return set_failure(failure, Status::argument, {},
                               "chosen is %" PRId32 ", there are %" PRIu64 " tokens", chosen,
                               static_cast<uint64_t>(n));
        const sampling::Logprobs logprobs(row_kernels(rt), logits, n);
        sampling::find_likeliest(out_ids, out_logprobs, k, logits, n);
        for (size_t i = 0; i < k; i++) out_logprobs[i] = logprobs.of(out_logprobs[i]);
        if (out_chosen) *out_chosen = logprobs.of(logits[chosen]);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_stop_create(ggufx_stop **out, const ggufx_runtime *rt,
                                          const ggufx_stop_text *texts, size_t n_texts,
                                          ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(texts || n_texts == 0, "texts must be set");
        const auto imported = import_texts(rt->host.get(), texts, n_texts);
        *out = make<ggufx_stop>(*rt->host, rt->host, imported.data(), imported.size());
    });
}

extern "C" void ggufx_stop_destroy(ggufx_stop *stop) {
    const NoCancel whole;
    if (alive(stop, Tag::stop)) destroy_object(stop->host, stop);
}

extern "C" ggufx_status ggufx_stop_feed(ggufx_stop_facts *out, ggufx_stop *stop, const char *text,
                                        size_t length, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(stop, Tag::stop) && (text || length == 0), "stop and text must be set");
        check_output(out, "ggufx_stop_facts");
        if (stop->stop.found() >= 0)
            fail(Status::state, {}, "stop string %" PRId32 " was found: no text follows it",
                 stop->stop.found());
        stop->stop.feed({text, length});
        ggufx_stop_facts facts = {};
        facts.found = stop->stop.found();
        facts.n_shown = stop->stop.n_shown();
        facts.n_taken = stop->stop.n_fed();
        export_struct(out, facts, "ggufx_stop_facts");
    });
}

extern "C" ggufx_status ggufx_stop_reset(ggufx_stop *stop, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(stop, Tag::stop), "stop must be set");
        stop->stop.reset();
    });
}
