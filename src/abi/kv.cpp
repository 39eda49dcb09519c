// KV caches and their types: include/ggufx/kv.h and the end of types.h.
// Calls of a decoding loop (append, attend, truncate, ...) report misuse without throwing.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/names.hpp"
#include "base/checked.hpp"
#include "kv/cache.hpp"

#include <ggufx/kv.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

struct ggufx_kv {
    Tag tag = Tag::kv;
    RuntimeRef runtime;
    kv::Cache *cache = nullptr;
};

// ---- types ------------------------------------------------------------------------------------

namespace {

uint32_t type_or_default(uint32_t type) {
    return type == GGUFX_KV_DEFAULT ? uint32_t(GGUFX_KV_F16) : type;
}

} // namespace

extern "C" ggufx_status ggufx_kv_type_info(ggufx_kv_type_facts *out, uint32_t type,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(out, "out must be set");
        const kv::TypeFacts *info = kv::type_facts(type_or_default(type));
        if (!info) fail(Status::type, {}, "KV type %u is unknown", type);
        ggufx_kv_type_facts facts = {};
        facts.flags = info->flags;
        facts.id = info->id;
        facts.block_values = info->block_values;
        facts.block_bytes = info->block_bytes;
        facts.name = info->name;
        export_struct(out, facts, "ggufx_kv_type_facts");
    });
}

extern "C" ggufx_status ggufx_kv_type_from_name(uint32_t *out, const char *name,
                                                ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        require(out && name, "out and name must be set");
        const size_t length = strlen(name);
        if (const kv::TypeFacts *info = kv::type_by_name(name, length)) {
            *out = info->id;
            return;
        }
        NearestName nearest(name, length);
        for (size_t i = 0; kv::type_at(i); i++) nearest.offer(kv::type_at(i)->name);
        fail(Status::not_found, {}, "no KV type is called \"%s\"; did you mean \"%s\"?",
             Quoted(name, length).c_str(), nearest.name());
    });
}

// ---- life -------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kFlags = GGUFX_KV_FIT_TQ3_0 | GGUFX_KV_CENTRE_ALL | GGUFX_KV_CENTRE_NONE;

static_assert(sizeof(ggufx_kv_layer) == sizeof(kv::LayerConfig), "the same struct");

kv::Config import_config(const ggufx_kv_options *options) {
    require(options, "options must be set: a cache has no default shape");
    const auto in = import_options(options, kFlags, "ggufx_kv_options");
    for (const uint64_t reserved : in.reserved)
        require(reserved == 0, "ggufx_kv_options.reserved must be 0");
    require(in.rope_style <= GGUFX_KV_ROPE_HALVES, "ggufx_kv_options.rope_style is unknown");
    const bool all = in.flags & GGUFX_KV_CENTRE_ALL, none = in.flags & GGUFX_KV_CENTRE_NONE;
    require(!all || !none, "ggufx_kv_options.flags centre all types and none");
    require(in.n_layer_options == 0 || (in.n_layer_options == in.n_layers && in.layers),
            "ggufx_kv_options.n_layer_options must be 0, or n_layers with layers set");
    for (uint32_t i = 0; i < in.n_layer_options; i++)
        require(in.layers[i].reserved == 0, "ggufx_kv_layer.reserved must be 0");
    kv::Config config;
    config.n_layers = in.n_layers;
    config.n_kv_heads = in.n_kv_heads;
    config.n_q_heads = in.n_q_heads;
    config.head_dim_k = in.head_dim_k;
    config.head_dim_v = in.head_dim_v;
    config.type_k = in.type_k;
    config.type_v = in.type_v;
    config.n_sequences = in.n_sequences;
    config.max_tokens = in.max_tokens;
    if (in.n_sinks) config.n_sinks = in.n_sinks == GGUFX_KV_NO_SINKS ? 0 : in.n_sinks;
    config.fit_tq3 = in.flags & GGUFX_KV_FIT_TQ3_0;
    config.centring = all    ? kv::Centring::always
                      : none ? kv::Centring::never
                             : kv::Centring::by_type;
    config.rope_style = static_cast<kv::RopeStyle>(in.rope_style);
    config.rope_dims = in.rope_dims;
    if (in.rope_base != 0.0f) config.rope_base = in.rope_base;
    if (in.rope_scale != 0.0f) config.rope_scale = in.rope_scale;
    config.model = in.model;
    if (in.n_layer_options) config.layers = reinterpret_cast<const kv::LayerConfig *>(in.layers);
    return config;
}

} // namespace

extern "C" void ggufx_kv_options_init(ggufx_kv_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

extern "C" ggufx_status ggufx_kv_create(ggufx_kv **out, const ggufx_runtime *rt,
                                        const ggufx_kv_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const kv::Config config = import_config(options);
        const Host &host = *rt->host;
        ggufx_kv *handle = make<ggufx_kv>(host);
        try {
            handle->cache = kv::Cache::create(rt->host, &rt->engine->kernels(), config);
        } catch (...) {
            unmake(host, handle);
            throw;
        }
        handle->runtime = RuntimeRef::share(const_cast<ggufx_runtime *>(rt));
        *out = handle;
    });
}

extern "C" ggufx_status ggufx_kv_estimate(uint64_t *out, const ggufx_runtime *rt,
                                          const ggufx_kv_options *options, uint64_t n_tokens,
                                          ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const kv::Config config = import_config(options);
        *out = kv::Cache::estimate(*rt->host, config, n_tokens) + sizeof(ggufx_kv);
    });
}

extern "C" void ggufx_kv_destroy(ggufx_kv *kv) {
    if (!alive(kv, Tag::kv)) return;
    kv::Cache::destroy(kv->cache);
    const RuntimeRef keep = kv->runtime;
    kv->tag = Tag::dead;
    unmake(*keep->host, kv);
}

// ---- calls ------------------------------------------------------------------------------------

namespace {

Status refuse(ggufx_error *error, const char *text) {
    return set_failure(failure_of(error), Status::argument, {}, "%s", text);
}

Status no_cache(ggufx_error *error) {
    return refuse(error, "kv must be a living cache");
}

// A buffer of `tokens` rows of heads * head_dim floats: set, and of exactly that length.
Status check_floats(const void *data, size_t given, const char *name, uint64_t tokens,
                    uint32_t heads, uint32_t head_dim, ggufx_error *error) {
    uint64_t want = 0;
    const bool fits = checked::mul(&want, tokens, uint64_t(heads) * head_dim);
    if (!fits || want != given)
        return set_failure(failure_of(error), Status::argument, {},
                           "%s has %zu floats; %llu tokens of %u heads of %u need %llu", name,
                           given, static_cast<unsigned long long>(tokens), heads, head_dim,
                           static_cast<unsigned long long>(want));
    if (!data && given)
        return set_failure(failure_of(error), Status::argument, {}, "%s must be set", name);
    return Status::ok;
}

} // namespace

extern "C" ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->reserve(sequence, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                        size_t n_tokens, const int32_t *positions, const float *k,
                                        size_t n_k, const float *v, size_t n_v,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = check_floats(k, n_k, "k", n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok)
            status = check_floats(v, n_v, "v", n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->append(layer, sequence, n_tokens, positions, {k, v}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append_half(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                             size_t n_tokens, const int32_t *positions,
                                             uint32_t format, const uint16_t *k, size_t n_k,
                                             const uint16_t *v, size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        if (format != GGUFX_KV_HALF_F16 && format != GGUFX_KV_HALF_BF16)
            return refuse(error, "format must be GGUFX_KV_HALF_F16 or GGUFX_KV_HALF_BF16");
        Status status = check_floats(k, n_k, "k", n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok)
            status = check_floats(v, n_v, "v", n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        const kv::Source source = {
            k, v, format == GGUFX_KV_HALF_F16 ? kv::SourceType::f16 : kv::SourceType::bf16};
        return kv->cache->append(layer, sequence, n_tokens, positions, source, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append_batch(ggufx_kv *kv, uint32_t layer, size_t n_tokens,
                                              const uint32_t *sequences, const int32_t *positions,
                                              const float *k, size_t n_k, const float *v,
                                              size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = check_floats(k, n_k, "k", n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok)
            status = check_floats(v, n_v, "v", n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        if (n_tokens && (!sequences || !positions))
            return refuse(error, "sequences and positions must be set");
        return kv->cache->append_batch(layer, n_tokens, sequences, positions, {k, v},
                                       failure_of(error));
    });
}

extern "C" void ggufx_attend_options_init(ggufx_attend_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

namespace {

Status check_per_head(const float *data, size_t n, const char *name, uint32_t heads,
                      ggufx_error *error) {
    if (n == (data ? heads : 0)) return Status::ok;
    return set_failure(failure_of(error), Status::argument, {},
                       "%s has %zu values; there are %u query heads", name, n, heads);
}

Status import_attend(kv::AttendOptions &out, const kv::Config &c,
                     const ggufx_attend_options *options, ggufx_error *error) {
    const auto in = import_options(options, GGUFX_ATTEND_ALL, "ggufx_attend_options");
    require(in.reserved0 == 0 && in.reserved[0] == 0 && in.reserved[1] == 0,
            "ggufx_attend_options.reserved must be 0");
    Status status =
        check_per_head(in.alibi_slopes, in.n_alibi_slopes, "alibi_slopes", c.n_q_heads, error);
    if (status == Status::ok)
        status =
            check_per_head(in.sink_logits, in.n_sink_logits, "sink_logits", c.n_q_heads, error);
    out.causal = !(in.flags & GGUFX_ATTEND_ALL);
    out.scale = in.scale;
    out.softcap = in.softcap;
    out.window = in.window;
    out.alibi_slopes = in.alibi_slopes;
    out.sink_logits = in.sink_logits;
    if (in.progress) {
        const auto progress = import_options(in.progress, 0, "ggufx_progress");
        out.progress = {progress.user, progress.report};
    }
    return status;
}

// n_queries of each of n sequences.
struct Queries {
    const uint32_t *sequences;
    size_t n, n_queries;
    const float *q;
    size_t n_q;
    const int32_t *positions;
};

Status attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv, uint32_t layer,
              const Queries &queries, const ggufx_attend_options *options, ggufx_error *error) {
    const kv::Config &c = kv->cache->config();
    kv::AttendOptions attend;
    Status status = import_attend(attend, c, options, error);
    uint64_t rows = 0;
    if (status == Status::ok && !checked::mul(&rows, queries.n, queries.n_queries))
        return refuse(error, "there are too many queries");
    if (status == Status::ok)
        status = check_floats(queries.q, queries.n_q, "q", rows, c.n_q_heads, c.head_dim_k, error);
    if (status == Status::ok)
        status = check_floats(out, n_out, "out", rows, c.n_q_heads, c.head_dim_v, error);
    if (status != Status::ok) return status;
    return kv->cache->attend(out, lse, layer, queries.sequences, queries.n, queries.q,
                             queries.n_queries, queries.positions, attend, failure_of(error));
}

} // namespace

extern "C" ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv,
                                        uint32_t layer, uint32_t sequence, const float *q,
                                        size_t n_q, size_t n_queries, const int32_t *positions,
                                        const ggufx_attend_options *options, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return attend(out, n_out, lse, kv, layer, {&sequence, 1, n_queries, q, n_q, positions},
                      options, error);
    });
}

extern "C" ggufx_status ggufx_kv_attend_batch(float *out, size_t n_out, float *lse,
                                              const ggufx_kv *kv, uint32_t layer,
                                              const uint32_t *sequences, const float *q, size_t n_q,
                                              size_t n, const int32_t *positions,
                                              const ggufx_attend_options *options,
                                              ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!sequences && n) return refuse(error, "sequences must be set");
        return attend(out, n_out, lse, kv, layer, {sequences, n, 1, q, n_q, positions}, options,
                      error);
    });
}

extern "C" ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v,
                                      const ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                      uint64_t first, uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = Status::ok;
        if (k || n_k)
            status = check_floats(k, n_k, "k", n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok && (v || n_v))
            status = check_floats(v, n_v, "v", n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->read(k, v, layer, sequence, first, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_scores(float *out, size_t n_out, const ggufx_kv *kv,
                                        uint32_t layer, uint32_t sequence, const float *q,
                                        size_t n_q, size_t n_queries, float scale,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        const Status status =
            check_floats(q, n_q, "q", n_queries, c.n_q_heads, c.head_dim_k, error);
        if (status != Status::ok) return status;
        if (!out && n_out) return refuse(error, "out must be set");
        return kv->cache->scores(out, n_out, layer, sequence, q, n_queries, scale,
                                 failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_length(uint64_t *out, const ggufx_kv *kv, uint32_t sequence,
                                        ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!out) return refuse(error, "out must be set");
        return kv->cache->length(out, sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_positions(int32_t *out, const ggufx_kv *kv, uint32_t sequence,
                                           uint64_t first, uint64_t n, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!out && n) return refuse(error, "out must be set");
        return kv->cache->positions(out, sequence, first, n, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_truncate(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                          ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->truncate(sequence, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_rollback(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->rollback(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_remove(ggufx_kv *kv, uint32_t sequence, int32_t p0, int32_t p1,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->remove(sequence, p0, p1, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_copy(ggufx_kv *kv, uint32_t from, uint32_t to, int32_t p0,
                                      int32_t p1, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->copy(from, to, p0, p1, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_shift(ggufx_kv *kv, uint32_t sequence, int32_t p0, int32_t p1,
                                       int32_t delta, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->shift(sequence, p0, p1, delta, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_keep(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->keep(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_calibrate(ggufx_kv *kv, uint32_t layer, const float *mu_k,
                                           const float *eq_k, size_t n_k, const float *mu_v,
                                           size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = Status::ok;
        for (const float *floats : {mu_k, eq_k})
            if (status == Status::ok && (floats || n_k))
                status = check_floats(&n_k, n_k, floats == mu_k ? "mu_k" : "eq_k", 1, c.n_kv_heads,
                                      c.head_dim_k, error);
        if (status == Status::ok && (mu_v || n_v))
            status = check_floats(mu_v, n_v, "mu_v", 1, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->calibrate(layer, mu_k, eq_k, mu_v, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_save(const ggufx_kv *kv, uint32_t sequence,
                                      ggufx_status (*write)(void *user, const void *data, size_t n),
                                      void *user, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!write) return refuse(error, "write must be set");
        return kv->cache->save(sequence, write, user, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_load(ggufx_kv *kv, uint32_t sequence,
                                      ggufx_status (*read)(void *user, void *data, size_t n),
                                      void *user, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!read) return refuse(error, "read must be set");
        return kv->cache->load(sequence, read, user, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_clear(ggufx_kv *kv, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        kv->cache->clear();
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_kv_stats(ggufx_kv_facts *out, const ggufx_kv *kv, uint32_t layer,
                                       ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(kv, Tag::kv), "out and kv must be set");
        kv::Stats stats;
        const Status status = kv->cache->stats(&stats, layer, failure_of(error));
        if (status != Status::ok) return status;
        ggufx_kv_facts facts = {};
        facts.type_k = stats.type_k;
        facts.type_v = stats.type_v;
        facts.n_tokens = stats.n_tokens;
        facts.n_pages = stats.n_pages;
        facts.n_plain_pages = stats.n_plain_pages;
        facts.n_shared_pages = stats.n_shared_pages;
        facts.page_bytes = stats.page_bytes;
        facts.bytes_per_token = stats.bytes_per_token;
        facts.bits_per_value = stats.bits_per_value;
        facts.k_error = stats.k_error;
        facts.v_error = stats.v_error;
        export_struct(out, facts, "ggufx_kv_facts");
        return Status::ok;
    });
}
