// Options of a cache: checks, defaults, and the description of its layers.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

constexpr double kInfiniteFrequency = __builtin_inf();

const TypeOps &find_type(const Config &c, uint32_t id, uint32_t head_dim, const char *stream) {
    const TypeOps *type = type_ops(id);
    if (!type) fail(Status::type, {}, "KV type %u of the %s is unknown", id, stream);
    if (!type->is_float() && head_dim > kMaxCodes)
        fail(Status::argument, {}, "heads of %u: type %s of the %s holds at most %u", head_dim,
             type->facts.name, stream, kMaxCodes);
    if (head_dim % type->multiple)
        fail(Status::argument, {}, "heads of %u: type %s of the %s needs a multiple of %u",
             head_dim, type->facts.name, stream, type->multiple);
    return c.fit_tq3 && id == id::TQ3_0 ? fitted_tq3() : *type;
}

[[noreturn]] void refuse_value_type(uint32_t type_v, uint32_t type_k) {
    const auto name = [](uint32_t id) {
        const TypeOps *type = type_ops(id);
        return type ? type->facts.name : "unknown";
    };
    fail(Status::argument, {}, "values in keys: type %s of the values, %s of the keys",
         name(type_v), name(type_k));
}

// Checked for every rope_style, because snapshots compare both values.
void check_positive(float value, const char *name) {
    if (value > 0.0f && value < 1e30f) return;
    fail(Status::argument, {}, "%s is %g: it must be more than 0 and less than 1e30", name,
         static_cast<double>(value));
}

void check_frequencies(const Config &c) {
    const size_t want = c.turns() ? c.rope_dims / 2 : 0;
    if (c.n_rope_frequencies == 0) return;
    if (c.n_rope_frequencies != want || !c.rope_frequencies)
        fail(Status::argument, {}, "%zu rope_frequencies: rope_dims and rope_style say %zu",
             c.n_rope_frequencies, want);
    for (size_t i = 0; i < want; i++)
        if (!(__builtin_fabs(c.rope_frequencies[i]) < kInfiniteFrequency))
            fail(Status::argument, {.index = i}, "rope_frequencies[%zu] is NaN or infinite", i);
}

void check_rope(Config &c) {
    check_positive(c.rope_base, "rope_base");
    check_positive(c.rope_scale, "rope_scale");
    if (c.before_rope && !c.turns())
        fail(Status::argument, {},
             "centring before RoPE needs the rope_style of the keys, INTERLEAVED or NEOX");
    if (!c.turns()) return;
    const uint32_t most = c.head_dim_k - c.rope_first();
    if (c.rope_dims == 0) c.rope_dims = most;
    if (c.rope_dims % 2 || c.head_dim_k > kMaxCodes || c.rope_dims > most)
        fail(Status::argument, {}, "rope_dims must be even and at most %u (it is %u)", most,
             c.rope_dims);
}

} // namespace

Config checked_config(Config c) {
    const auto need = [](bool ok, const char *text, uint32_t value) {
        if (!ok) fail(Status::argument, {}, "%s (it is %u)", text, value);
    };
    if (c.head_dim_v == 0) c.head_dim_v = c.head_dim_k;
    if (c.type_k == 0) c.type_k = id::F16;
    if (c.type_v == 0) c.type_v = c.v_in_k ? c.type_k : id::F16;
    if (c.n_sequences == 0) c.n_sequences = 1;
    need(c.n_layers >= 1, "n_layers must be at least 1", c.n_layers);
    if (c.n_layers > kMostTracks || c.n_sequences > kMostTracks / c.n_layers)
        fail(Status::limit, {.limit = kMostTracks},
             "%u layers of %u sequences each: the limit is %u in all", c.n_layers, c.n_sequences,
             kMostTracks);
    need(c.n_kv_heads >= 1, "n_kv_heads must be at least 1", c.n_kv_heads);
    need(c.n_q_heads >= 1 && c.n_q_heads % c.n_kv_heads == 0,
         "n_q_heads must be a multiple of n_kv_heads", c.n_q_heads);
    need(c.head_dim_k >= 1, "head_dim_k must be at least 1", c.head_dim_k);
    need(c.n_sinks <= kPageTokens, "n_sink_tokens must be at most 64", c.n_sinks);
    if (c.v_in_k && c.type_v != c.type_k) refuse_value_type(c.type_v, c.type_k);
    if (c.v_in_k && c.head_dim_v > c.head_dim_k)
        fail(Status::argument, {}, "values in keys: head_dim_v %u is more than head_dim_k %u",
             c.head_dim_v, c.head_dim_k);
    check_rope(c);
    check_frequencies(c);
    if (c.n_rope_frequencies == 0) c.rope_frequencies = nullptr;
    return c;
}

namespace {

bool centres(const Config &c, const TypeOps &type) {
    if (type.is_float() || c.centring == Centring::never) return false;
    return c.centring == Centring::always || type.calibrated;
}

} // namespace

Layer layer_of(const Config &c, const LayerConfig &own) {
    Layer layer;
    layer.k = &find_type(c, own.type_k ? own.type_k : c.type_k, c.head_dim_k, "keys");
    const uint32_t type_v = own.type_v ? own.type_v : c.type_v;
    layer.v = c.v_in_k ? layer.k : &find_type(c, type_v, c.head_dim_v, "values");
    if (c.v_in_k && own.type_v && own.type_v != layer.k->facts.id)
        refuse_value_type(own.type_v, layer.k->facts.id);
    layer.v_in_k = c.v_in_k;
    layer.max_blocks = c.max_pages;
    if (own.window_kind > WindowKind::symmetric ||
        (own.window == 0 && own.window_kind != WindowKind::sliding))
        fail(Status::argument, {}, "window_kind %u of a window of %u positions is unknown",
             static_cast<uint32_t>(own.window_kind), own.window);
    layer.window = {own.window, own.window_kind};
    layer.encodes = !layer.k->is_float() || !layer.v->is_float();
    const TypeOps &sink_k = sink_type(*layer.k), &sink_v = sink_type(*layer.v);
    layer.sinks = &sink_k != layer.k || &sink_v != layer.v;
    layer.centre_k = centres(c, *layer.k);
    layer.before_rope = layer.centre_k && c.before_rope;
    layer.shape[kPlain] = block_shape(c, plain_type(*layer.k), plain_type(*layer.v), false);
    layer.shape[kEncoded] = block_shape(c, *layer.k, *layer.v, layer.before_rope);
    layer.shape[kSinks] = block_shape(c, sink_k, sink_v, false);
    layer.centre_v = !c.v_in_k && centres(c, *layer.v);
    return layer;
}

Layer make_layer(const Config &c, uint32_t index) {
    Layer layer = layer_of(c, c.layers ? c.layers[index] : LayerConfig{});
    layer.append_tokens = c.append_tokens ? c.append_tokens[index] : 0;
    layer.window_history = c.window_history;
    return layer;
}

LayerMemory layer_memory(const Host &host, const Config &c, bool encodes, bool centred) {
    LayerMemory sizes{};
    uint64_t bytes = 0;
    if (encodes) {
        sizes.scratch_one =
            Scratch::bytes(c.head_dim_k > c.head_dim_v ? c.head_dim_k : c.head_dim_v);
        sizes.scratch = sizes.scratch_one * host.max_workers();
    }
    if (centred) {
        sizes.calibration_one = calibration_floats(c) * sizeof(float);
        const uint64_t tracks = uint64_t(c.n_layers) * (uint64_t(c.n_sequences) + 1);
        if (!checked::mul(&bytes, sizes.calibration_one, tracks) ||
            !checked::to_size(&sizes.calibration, bytes))
            throw std::bad_alloc();
    }
    return sizes;
}

} // namespace ggufx::kv
