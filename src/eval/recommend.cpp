// Tries every recipe with every step of the ladder of KV types; picks the least loss that fits.
// SPDX-License-Identifier: MIT
#include "eval/estimate.hpp"
#include "eval/quality.hpp"
#include "formats/format.hpp"
#include "kv/types.hpp"

#include <inttypes.h>

namespace ggufx::model {

namespace {

bool takes_heads(uint32_t type, uint32_t head_dim) {
    const kv::TypeOps &ops = *kv::type_ops(type);
    return head_dim % ops.multiple == 0 && (ops.is_float() || head_dim <= kv::kMaxCodes);
}

bool all_take(const Graph &graph, uint32_t type_k, uint32_t type_v) {
    for (const CacheInfo &cache : graph.caches)
        if (!takes_heads(type_k, cache.shape.head_dim_k) ||
            !takes_heads(type_v, cache.shape.head_dim_v))
            return false;
    return true;
}

bool holds_quantized(const gguf::File &file) {
    for (size_t i = 0; i < file.n_tensors(); i++) {
        const fmt::TypeInfo *type = fmt::type_info(file.tensor(i).type);
        if (type && type->kind == fmt::Kind::kQuantized) return true;
    }
    return false;
}

} // namespace

struct Estimator::Best {
    Estimate best, smallest;
    bool any = false, fits = false;

    void offer(const Estimate &candidate, uint64_t limit) {
        if (!any || candidate.total < smallest.total) smallest = candidate;
        any = true;
        if (candidate.total > limit) return;
        const bool better = candidate.loss < best.loss ||
                            (candidate.loss == best.loss && candidate.total < best.total);
        if (!fits || better) best = candidate;
        fits = true;
    }
};

// A recipe is no candidate if its types do not fit the rows and have no fallback type.
Vector<WeightBytes> Estimator::candidates() const {
    Vector<WeightBytes> list{HostAllocator<WeightBytes>(file_->host().get())};
    if (options_.file_type) {
        list.push_back(weigh(options_.file_type));
        return list;
    }
    list.push_back(weigh(nullptr));
    if (holds_quantized(*file_) && !options_.plan.allow_requantize) return list;
    size_t n = 0;
    const quant::FileTypeInfo *types = quant::file_types(&n);
    for (size_t i = 0; i < n; i++) {
        try {
            const WeightBytes weights = weigh(&types[i]);
            if (!weights.sums.needs_imatrix) list.push_back(weights);
        } catch (const Error &e) {
            if (e.failure.status != static_cast<int32_t>(Status::shape)) throw;
        }
    }
    return list;
}

Vector<SessionOptions> Estimator::sessions_to_try() const {
    Vector<SessionOptions> list{HostAllocator<SessionOptions>(file_->host().get())};
    SessionOptions session = options_.session;
    if (session.type_k || session.type_v) {
        list.push_back(session);
        return list;
    }
    for (const KvPair &pair : kv_ladder()) {
        if (!all_take(outline_.graph, pair.k, pair.v)) continue;
        session.type_k = pair.k;
        session.type_v = pair.v;
        list.push_back(session);
    }
    return list;
}

void Estimator::fail_capacity(const Estimate &smallest) const {
    const quant::FileTypeInfo *type = smallest.weights.file_type;
    fail(Status::capacity, {.value = smallest.total, .limit = options_.memory_bytes},
         "nothing fits into %" PRIu64 " bytes with a context of %" PRIu32
         ": the smallest candidate, %s with keys %s and values %s, takes %" PRIu64
         ", and has room for a context of %" PRIu32,
         options_.memory_bytes, smallest.n_context, type ? type->name : "the file as it is",
         kv::type_ops(smallest.type_k)->facts.name, kv::type_ops(smallest.type_v)->facts.name,
         smallest.total, max_context(smallest));
}

Estimate Estimator::recommend() const {
    Best choice;
    const Vector<SessionOptions> sessions = sessions_to_try();
    for (const WeightBytes &weights : candidates())
        for (const SessionOptions &session : sessions)
            choice.offer(combine(weights, session), options_.memory_bytes);
    if (!choice.fits) fail_capacity(choice.smallest);
    return finish(choice.best);
}

} // namespace ggufx::model
