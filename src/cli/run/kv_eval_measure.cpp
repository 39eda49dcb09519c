// Runs each chunk once with an F32 cache, then once with each pair of cache types. During the F32
// run its keys, values and queries also go through a cache of each pair, for the comparison per
// layer.
// SPDX-License-Identifier: MIT
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/timing.hpp"
#include "run/kv_eval.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fmt/format.h>

namespace ggufx::cli {

void KvSums::add(const KvSums &other) {
    noise.resize(other.noise.size());
    power.resize(other.power.size());
    for (size_t i = 0; i < noise.size(); i++) {
        noise[i] += other.noise[i];
        power[i] += other.power[i];
    }
    decode_seconds += other.decode_seconds;
    logits.add(other.logits);
}

void KvReport::add(const KvChunk &chunk) {
    reference.add(chunk.reference);
    for (size_t i = 0; i < results.size(); i++) results[i].sums.add(chunk.sums[i]);
}

double KvSums::error(size_t layer) const {
    return power[layer] > 0 ? std::sqrt(noise[layer] / power[layer]) : 0;
}

double KvSums::error() const {
    double all_noise = 0, all_power = 0;
    for (size_t i = 0; i < noise.size(); i++) {
        all_noise += noise[i];
        all_power += power[i];
    }
    return all_power > 0 ? std::sqrt(all_noise / all_power) : 0;
}

std::vector<KvPair> kv_pairs(const KvEvalOptions &options) {
    std::vector<KvPair> pairs;
    for (const std::string &k : options.types_k) {
        const std::vector<std::string> same = {k};
        for (const std::string &v : options.types_v.empty() ? same : options.types_v) {
            const uint32_t type_k = kv_type_from_name(k, "--k"),
                           type_v = kv_type_from_name(v, "--v");
            pairs.push_back({type_name(type_k), type_name(type_v), type_k, type_v});
        }
    }
    return pairs;
}

namespace {

// Creates the cache of one layer of the model.
Kv make_cache(const TextModel &model, const ggufx_layer_facts &layer, const KvPair &pair,
              uint32_t n_context) {
    auto window = sized<ggufx_kv_layer_options>();
    window.window = layer.window;
    auto shape = sized<ggufx_kv_options>();
    const bool v_in_k = (layer.flags & GGUFX_LAYER_V_IN_K) != 0;
    shape.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
    if (v_in_k) shape.flags |= GGUFX_KV_V_IN_K;
    shape.n_layers = shape.n_layer_options = 1;
    shape.layers = &window;
    shape.n_kv_heads = layer.n_kv_heads;
    shape.n_q_heads = layer.n_heads;
    shape.head_dim_k = layer.head_dim_k;
    shape.head_dim_v = layer.head_dim_v;
    shape.type_k = pair.type_k;
    shape.type_v = v_in_k ? pair.type_k : pair.type_v;
    ggufx_kv *kv = nullptr;
    call([&](ggufx_error *error) { return ggufx_kv_create(&kv, model.rt.get(), &shape, error); });
    Kv owner(kv);
    call([&](ggufx_error *error) { return ggufx_kv_reserve(kv, 0, n_context, error); });
    return owner;
}

// Caches of one pair, filled with the keys and values of an F32 session.
class Shadow {
public:
    Shadow(const TextModel &model, KvResult &result, const std::vector<ggufx_layer_facts> &layers,
           uint32_t n_context)
        : layers_(layers), result_(result) {
        for (const ggufx_layer_facts &layer : layers)
            caches_.push_back(make_cache(model, layer, result.pair, n_context));
    }

    // Starts a new chunk, which adds to `sums`.
    void begin(KvSums &sums) {
        sums_ = &sums;
        sums.noise.assign(layers_.size(), 0);
        sums.power.assign(layers_.size(), 0);
        for (const Kv &kv : caches_)
            call([&](ggufx_error *error) { return ggufx_kv_truncate(kv.get(), 0, 0, error); });
    }

    // Appends a batch to a layer and compares the attention of its queries with `out`.
    void compare(size_t at, size_t n, const float *q, const float *k, const float *v,
                 const float *out) {
        const ggufx_layer_facts &layer = layers_[at];
        auto tokens = sized<ggufx_kv_tokens>();
        tokens.n_tokens = n;
        tokens.k = k;
        tokens.n_k = n * layer.n_kv_heads * layer.head_dim_k;
        tokens.v = v;
        tokens.n_v = v ? n * layer.n_kv_heads * layer.head_dim_v : 0;
        call(
            [&](ggufx_error *error) { return ggufx_kv_append(caches_[at].get(), &tokens, error); });
        attend(at, q, n);
        for (size_t i = 0; i < mine_.size(); i++) {
            const double x = static_cast<double>(out[i]), y = static_cast<double>(mine_[i]);
            sums_->noise[at] += (x - y) * (x - y);
            sums_->power[at] += x * x;
        }
    }

    // Measures the memory of the full caches, and the attention time of a decode step.
    void measure(const std::vector<std::vector<float>> &queries) {
        const auto stats = facts<ggufx_kv_facts>([&](ggufx_kv_facts *out, ggufx_error *error) {
            return ggufx_kv_info(out, caches_[0].get(), 0, error);
        });
        result_.bits_per_value = stats.bits_per_value;
        const double seconds = median_seconds(0.02, [&] {
            for (size_t i = 0; i < caches_.size(); i++) attend(i, queries[i].data(), 1);
        });
        result_.attend_seconds = seconds / static_cast<double>(caches_.size());
    }

private:
    void attend(size_t at, const float *q, size_t n) {
        const ggufx_layer_facts &layer = layers_[at];
        auto options = sized<ggufx_attend_options>();
        options.scale = layer.scale;
        options.softcap = layer.softcap;
        options.sink_logits = layer.sink_logits;
        options.n_sink_logits = layer.sink_logits ? layer.n_heads : 0;
        auto queries = sized<ggufx_kv_queries>();
        queries.n_queries = n;
        queries.q = q;
        queries.n_q = n * layer.n_heads * layer.head_dim_k;
        mine_.resize(n * layer.n_heads * layer.head_dim_v);
        call([&](ggufx_error *error) {
            return ggufx_kv_attend(mine_.data(), mine_.size(), nullptr, 0, caches_[at].get(),
                                   &queries, &options, error);
        });
    }

    const std::vector<ggufx_layer_facts> &layers_;
    KvResult &result_;
    KvSums *sums_ = nullptr;
    std::vector<Kv> caches_;
    std::vector<float> mine_;
};

// Attention hook of the F32 session; errors are reported after the decode has returned.
struct Observer {
    std::vector<unsigned> layers;
    std::vector<ggufx_layer_facts> layer_facts;
    std::vector<Shadow> shadows;
    std::vector<std::vector<float>> queries; // last queries of each layer
    std::exception_ptr failure;

    int32_t look(uint32_t layer, size_t n, const float *q, const float *k, const float *v,
                 const float *out) {
        const auto at = std::find(layers.begin(), layers.end(), layer);
        if (at == layers.end()) return pending_signal() != 0;
        try {
            const auto i = static_cast<size_t>(at - layers.begin());
            for (Shadow &shadow : shadows) {
                check_interrupt();
                shadow.compare(i, n, q, k, v, out);
            }
            const size_t floats = size_t{layer_facts[i].n_heads} * layer_facts[i].head_dim_k;
            queries[i].assign(q + (n - 1) * floats, q + n * floats);
        } catch (...) {
            failure = std::current_exception();
            return 1;
        }
        return 0;
    }

    ggufx_attention_hook hook() {
        ggufx_attention_hook hook = {};
        hook.struct_size = sizeof hook;
        hook.user = this;
        hook.layer = [](void *user, uint32_t layer, uint64_t, size_t n, const float *q,
                        const float *k, const float *v, const float *out) {
            return static_cast<Observer *>(user)->look(layer, n, q, k, v, out);
        };
        return hook;
    }
};

// Computes the logits of all positions of a chunk except the last, which has no next token to
// predict.
void decode(const TextModel &model, ggufx_session *session, std::span<const int32_t> ids,
            std::vector<float> &logits, const ggufx_attention_hook *hook) {
    logits.resize(ids.size() * model.facts.n_vocab);
    const ggufx_progress cancel = cancel_hook();
    const ggufx_decode_item item = batch_item(0, GGUFX_DECODE_ALL_LOGITS, ids);
    auto options = sized<ggufx_decode_options>();
    options.progress = &cancel;
    options.logits = logits.data();
    options.n_logits = logits.size();
    options.attention = hook;
    call([&](ggufx_error *error) { return ggufx_session_truncate(session, 0, 0, error); });
    call([&](ggufx_error *error) {
        return ggufx_session_decode(session, &item, 1, &options, error);
    });
}

ggufx_layer_facts layer_facts(const TextModel &model, unsigned layer) {
    return facts<ggufx_layer_facts>([&](ggufx_layer_facts *out, ggufx_error *error) {
        return ggufx_model_layer_info(out, model.model.get(), layer, error);
    });
}

bool has_own_keys(const ggufx_layer_facts &facts, unsigned layer) {
    return facts.kind == GGUFX_LAYER_ATTENTION && facts.kv_layer == layer;
}

// Returns the selected layers that have their own keys.
std::vector<unsigned> chosen_layers(const KvEvalOptions &options, const TextModel &model) {
    const uint32_t n_layers = model.facts.n_layers;
    std::vector<unsigned> layers = options.layers;
    for (const unsigned layer : layers) {
        if (layer >= n_layers)
            throw Failure(kUsage,
                          fmt::format("--layers: no layer {}, the model has {}", layer, n_layers));
        if (!has_own_keys(layer_facts(model, layer), layer))
            throw Failure(kUsage, fmt::format("--layers: layer {} has no keys of its own", layer));
    }
    for (unsigned i = 0; options.layers.empty() && i < n_layers; i++)
        if (has_own_keys(layer_facts(model, i), i)) layers.push_back(i);
    if (layers.empty()) throw Failure(kUsage, "the model has no layers with keys and values");
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
}

// Returns the cache memory of a session with that pair.
uint64_t estimate(const TextModel &model, const KvPair &pair, uint32_t n_context) {
    auto options = sized<ggufx_estimate_options>();
    options.n_context = n_context;
    options.flags = GGUFX_ESTIMATE_HAS_TYPE_K | GGUFX_ESTIMATE_HAS_TYPE_V;
    options.type_k = pair.type_k;
    options.type_v = pair.type_v;
    return facts<ggufx_estimate_facts>([&](ggufx_estimate_facts *out, ggufx_error *error) {
               return ggufx_estimate(out, model.rt.get(), model.file.get(), &options, error);
           })
        .kv_bytes;
}

class Evaluation {
public:
    Evaluation(KvReport &report, const Globals &globals, const KvEvalOptions &options,
               const TextModel &model)
        : report_(report), options_(options), model_(model), progress_(globals, "kv-eval") {
        observer_.layers = report_.layers;
        for (const unsigned layer : report_.layers)
            observer_.layer_facts.push_back(layer_facts(model, layer));
        observer_.queries.resize(report_.layers.size());
        for (KvResult &result : report_.results) {
            observer_.shadows.emplace_back(model, result, observer_.layer_facts, options.n_context);
            sessions_.push_back(session(result.pair.type_k, result.pair.type_v));
        }
        reference_ = session(GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    }

    void run() {
        for (uint64_t i = 0; i < report_.n_chunks; i++) chunk(i);
        for (Shadow &shadow : observer_.shadows) {
            check_interrupt();
            shadow.measure(observer_.queries);
        }
        const uint64_t steps = report_.n_chunks * (report_.results.size() + 1);
        progress_.update(steps, steps);
    }

private:
    Session session(uint32_t type_k, uint32_t type_v) const {
        return make_session(model_.rt.get(), model_.file.get(), model_.model.get(),
                            options_.n_context, type_k, type_v);
    }

    void chunk(uint64_t index) {
        const auto begin = model_.ids.begin() + static_cast<ptrdiff_t>(index * options_.n_context);
        std::vector<int32_t> ids(begin, begin + options_.n_context);
        if (model_.first >= 0) ids[0] = model_.first;
        const size_t n_vocab = model_.facts.n_vocab;
        const std::span<const int32_t> fed(ids.data(), ids.size() - 1);
        KvChunk chunk;
        chunk.sums.resize(report_.results.size());
        for (size_t i = 0; i < chunk.sums.size(); i++) observer_.shadows[i].begin(chunk.sums[i]);
        const ggufx_attention_hook hook = observer_.hook();
        step(index, 0, "f32");
        try {
            decode(model_, reference_.get(), fed, true_logits_, &hook);
        } catch (const Failure &) {
            if (observer_.failure) std::rethrow_exception(observer_.failure);
            throw;
        }
        chunk.reference.add(true_logits_, true_logits_, ids, n_vocab);
        for (size_t i = 0; i < chunk.sums.size(); i++) {
            step(index, i + 1, report_.results[i].pair.name());
            chunk.sums[i].decode_seconds =
                seconds_of([&] { decode(model_, sessions_[i].get(), fed, logits_, nullptr); });
            chunk.sums[i].logits.add(logits_, true_logits_, ids, n_vocab);
        }
        report_.add(chunk);
    }

    void step(uint64_t chunk, size_t pair, const std::string &name) {
        check_interrupt();
        const uint64_t per_chunk = report_.results.size() + 1;
        progress_.update(chunk * per_chunk + pair, report_.n_chunks * per_chunk,
                         fmt::format("chunk {} of {}, {}", chunk + 1, report_.n_chunks, name));
    }

    KvReport &report_;
    const KvEvalOptions &options_;
    const TextModel &model_;
    Progress progress_;
    Observer observer_;
    Session reference_;
    std::vector<Session> sessions_; // one session per pair for all chunks
    std::vector<float> true_logits_, logits_;
};

} // namespace

KvReport begin_kv_report(const KvEvalOptions &options, const TextModel &model) {
    KvReport report;
    report.n_chunks = count_chunks(model, options.n_context, options.chunks);
    report.layers = chosen_layers(options, model);
    for (const KvPair &pair : kv_pairs(options)) {
        KvResult result;
        result.pair = pair;
        result.cache_bytes = estimate(model, pair, options.n_context);
        report.results.push_back(result);
    }
    return report;
}

void evaluate_kv(KvReport &report, const Globals &globals, const KvEvalOptions &options,
                 const TextModel &model) {
    Evaluation(report, globals, options, model).run();
}

} // namespace ggufx::cli
