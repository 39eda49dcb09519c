// Creation and destruction of KV caches: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"
#include "abi/options.hpp"
#include "abi/types.hpp"

using namespace ggufx;
using namespace ggufx::abi;

// ---- create, destroy --------------------------------------------------------------------------

namespace {

constexpr uint32_t kTypeFlags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
constexpr uint32_t kKvFlags = GGUFX_KV_FIT_TQ3_0 | GGUFX_KV_CENTRE_ALL | GGUFX_KV_CENTRE_NONE |
                              GGUFX_KV_CENTRE_BEFORE_ROPE | GGUFX_KV_V_IN_K | kTypeFlags;

// A config with the memory of its layers.
struct Shape {
    kv::Config config;
    Vector<kv::LayerConfig> layers;
};

void import_layers(Shape &shape, const ggufx_kv_options &in) {
    const char *const name = "ggufx_kv_layer_options";
    const StructList<ggufx_kv_layer_options> list(in.layers, in.n_layer_options, kTypeFlags, name);
    shape.layers.reserve(list.size());
    for (size_t i = 0; i < list.size(); i++) {
        const ggufx_kv_layer_options layer = list.at(i);
        try {
            shape.layers.push_back({import_kv_type(layer.type_k, layer.flags & GGUFX_KV_HAS_TYPE_K,
                                                   "ggufx_kv_layer_options.type_k"),
                                    import_kv_type(layer.type_v, layer.flags & GGUFX_KV_HAS_TYPE_V,
                                                   "ggufx_kv_layer_options.type_v"),
                                    layer.window, static_cast<kv::WindowKind>(layer.window_kind)});
        } catch (Error &e) {
            e.failure.index = i;
            throw;
        }
    }
    shape.config.layers = shape.layers.data();
}

Shape import_shape(const Host *host, const ggufx_kv_options *options) {
    require(options, "options must be set: a cache has no default shape");
    const auto in = import_options(options, kKvFlags, "ggufx_kv_options");
    require(in.rope_style <= GGUFX_ROPE_NEOX, "ggufx_kv_options.rope_style is unknown");
    const bool all = in.flags & GGUFX_KV_CENTRE_ALL, none = in.flags & GGUFX_KV_CENTRE_NONE;
    require(!all || !none, "ggufx_kv_options.flags: CENTRE_ALL and CENTRE_NONE exclude each other");
    const bool before_rope = in.flags & GGUFX_KV_CENTRE_BEFORE_ROPE;
    require(!before_rope || !none,
            "ggufx_kv_options.flags: CENTRE_BEFORE_ROPE and CENTRE_NONE exclude each other");
    require(in.n_layer_options == 0 || (in.n_layer_options == in.n_layers && in.layers),
            "ggufx_kv_options.n_layer_options must be 0, or n_layers with layers set");
    require((in.n_rope_frequencies == 0) == !in.rope_frequencies,
            "ggufx_kv_options.rope_frequencies and their number go together");
    Shape shape{{}, Vector<kv::LayerConfig>(HostAllocator<kv::LayerConfig>(host))};
    kv::Config &config = shape.config;
    config.n_layers = in.n_layers;
    config.n_kv_heads = in.n_kv_heads;
    config.n_q_heads = in.n_q_heads;
    config.head_dim_k = in.head_dim_k;
    config.head_dim_v = in.head_dim_v;
    config.type_k =
        import_kv_type(in.type_k, in.flags & GGUFX_KV_HAS_TYPE_K, "ggufx_kv_options.type_k");
    config.type_v =
        import_kv_type(in.type_v, in.flags & GGUFX_KV_HAS_TYPE_V, "ggufx_kv_options.type_v");
    config.n_sequences = in.n_sequences;
    config.max_tokens = in.max_tokens;
    if (in.n_sink_tokens)
        config.n_sinks = in.n_sink_tokens == GGUFX_KV_NO_SINK_TOKENS ? 0 : in.n_sink_tokens;
    config.v_in_k = in.flags & GGUFX_KV_V_IN_K;
    config.fit_tq3 = in.flags & GGUFX_KV_FIT_TQ3_0;
    config.centring = all    ? kv::Centring::always
                      : none ? kv::Centring::never
                             : kv::Centring::by_type;
    config.before_rope = before_rope;
    config.rope_style = static_cast<kv::RopeStyle>(in.rope_style);
    config.rope_dims = in.rope_dims;
    if (in.rope_base != 0.0f) config.rope_base = in.rope_base;
    if (in.rope_scale != 0.0f) config.rope_scale = in.rope_scale;
    config.model = in.model;
    config.rope_frequencies = in.rope_frequencies;
    config.n_rope_frequencies = in.n_rope_frequencies;
    if (in.n_layer_options && in.n_layers <= kv::kMostTracks) import_layers(shape, in);
    return shape;
}

} // namespace

extern "C" ggufx_status ggufx_kv_create(ggufx_kv **out, const ggufx_runtime *rt,
                                        const ggufx_kv_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const Host &host = *rt->host;
        const Shape shape = import_shape(&host, options);
        ggufx_kv *handle = make<ggufx_kv>(host);
        try {
            handle->cache = kv::Cache::create(rt->host, &rt->engine->kernels(), shape.config);
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
        const Shape shape = import_shape(rt->host.get(), options);
        *out = kv::Cache::estimate(*rt->host, shape.config, n_tokens) + sizeof(ggufx_kv);
    });
}

extern "C" void ggufx_kv_destroy(ggufx_kv *kv) {
    const NoCancel whole;
    if (!alive(kv, Tag::kv)) return;
    kv::Cache::destroy(kv->cache);
    const RuntimeRef keep = kv->runtime;
    destroy_object(keep->host, kv);
}

extern "C" ggufx_status ggufx_kv_info(ggufx_kv_facts *out, const ggufx_kv *kv, uint32_t layer,
                                      ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(kv, Tag::kv), "out and kv must be set");
        kv::Stats stats;
        const Status status = kv->cache->stats(&stats, layer, failure_of(error));
        if (status != Status::ok) return status;
        ggufx_kv_facts facts = {};
        facts.type_k = export_kv_type(stats.type_k);
        facts.type_v = export_kv_type(stats.type_v);
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
