// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"
#include "base/fpenv.hpp"
#include "base/math.hpp"

#include <inttypes.h>
#include <string.h>

#include <iterator>

namespace ggufx::model {

namespace {

constexpr uint32_t kPackedBlock = 32;                   // values in a block of packed activations
constexpr uint64_t kMaxBufferWidth = uint64_t{1} << 31; // values in a row of activations

// Rejects invalid RoPE divisors. Very large ones are valid: they keep a pair from rotating.
void check_divisors(const float *divisors, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (!(divisors[i] > 1e-6f && divisors[i] <= 3e38f))
            fail(Status::hparam, {kNone, i}, "%s.weight: value %" PRIu32 " is out of range", name,
                 i);
}

constexpr const char *kWindowPattern = "attention.sliding_window_pattern";

} // namespace

LayerTest all_but_first_of(uint32_t n) {
    return [n](uint32_t layer) { return n == 0 || layer % n != 0; };
}

void temper_by_keys(const Keys &keys, ArchConfig *config) {
    const double scale = keys.number_or("attention.temperature_scale", 0, 1e6, 0);
    if (scale == 0) return;
    config->temperature.scale = static_cast<float>(scale);
    constexpr const char *length = "attention.temperature_length";
    config->temperature.floor = static_cast<float>(keys.count(
        keys.has(length) ? length : "rope.scaling.original_context_length", {1, kMaxContext}));
}

LayerTest window_flags(const Keys &keys) {
    return [&keys](uint32_t layer) { return keys.flag_at(kWindowPattern, layer); };
}

LayerTest window_pattern(const Keys &keys, LayerTest (*of)(uint32_t n), uint32_t usual) {
    if (keys.is_array(kWindowPattern)) return window_flags(keys);
    return of(keys.count_or(kWindowPattern, {0, kMaxLayers}, usual));
}

LayerTest all_but_last_of(uint32_t n) {
    return [n](uint32_t layer) { return n == 0 || layer % n + 1 < n; };
}

Builder::Builder(const gguf::File &file, const PartialTensors *partial, const Keys &keys,
                 Graph &graph, const Partition &partition, const Progress &progress)
    : keys_(keys), graph_(graph), partition_(partition), progress_(progress),
      binder_(file, partial, graph), ropes_(HostAllocator<Rope>(file.host().get())),
      angles_(HostAllocator<View>(file.host().get())),
      layer_vectors_(HostAllocator<uint64_t>(file.host().get())) {
    Shape &shape = graph.shape;
    shape.n_layers = keys.count("block_count", {1, kMaxLayers});
    const uint32_t unread = keys.count_or("nextn_predict_layers", {0, kMaxLayers}, 0);
    if (unread >= shape.n_layers) keys.reject("nextn_predict_layers", "leaves no layer");
    shape.n_layers -= unread;
    shape.n_context = keys.count("context_length", {1, kMaxContext});
    shape.n_embd = keys.count("embedding_length", {1, kMaxWidth});
    const char *rms = "attention.layer_norm_rms_epsilon", *layer = "attention.layer_norm_epsilon";
    epsilon_ =
        static_cast<float>(keys.number(keys.has(layer) && !keys.has(rms) ? layer : rms, 0, 1));
    check_heads();
    binder_.pass_over_layers(shape.n_layers, shape.n_layers + unread);
}

// Checks head counts that depend on keys alone, before any tensor is read.
void Builder::check_heads() const {
    constexpr const char *heads = "attention.head_count", *kv_heads = "attention.head_count_kv";
    if (!keys_.has(heads) || keys_.is_array(heads)) return;
    const uint32_t n = keys_.count(heads, {0, kMaxHeads});
    if (n == 0) return;
    if (!keys_.has("attention.key_length") && n_embd() % n)
        keys_.reject(heads, "does not divide the embedding, and there is no key_length");
    if (!keys_.has(kv_heads) || keys_.is_array(kv_heads)) return;
    const uint32_t n_kv = keys_.count(kv_heads, {0, kMaxHeads});
    if (n_kv && n % n_kv) keys_.reject(kv_heads, "does not divide the number of heads");
}

// Vocabulary size from the tokenizer or its key; 0: the embedding decides.
uint64_t Builder::vocabulary() const {
    const gguf::File &file = keys_.file();
    const size_t tokens = file.find_meta("tokenizer.ggml.tokens");
    if (tokens != gguf::kNotFound) return file.meta(tokens).count;
    return keys_.count_or("vocab_size", {1, INT32_MAX}, 0);
}

void Builder::require(const Names &names) const {
    for (const char *name : names) {
        if (!name) return;
        const TensorName full(layer_, name, "");
        if (!binder_.has(full)) fail(Status::missing, {}, "tensor \"%s\" is missing", full.text);
    }
}

View Builder::buffer(uint64_t width) {
    if (width > kMaxBufferWidth)
        fail(Status::limit, {}, "a row of %" PRIu64 " activations is too wide", width);
    BufferInfo info;
    info.width = static_cast<uint32_t>(width);
    graph_.buffers.push_back(info);
    return {static_cast<BufferId>(graph_.buffers.size() - 1), 0, info.width};
}

// Bias and scale of a product with the rows from `first` on in a matrix with `whole` rows.
void Builder::epilogue(View out, const char *name, uint64_t first, uint64_t whole) {
    if (has(name, "scale")) emit(op::MultiplyVector{out, vector(name, 1, "scale"), true});
    if (!has(name, "bias")) return;
    const Vec bias = vector(name, whole, "bias");
    emit(op::AddVector{out, static_cast<Vec>(bias + first)});
}

Share Builder::share(uint64_t width) {
    if (partition_.is_whole()) return {kNoIndex, 0, static_cast<uint32_t>(width)};
    const Borders of = partition_.assign(width, kPackedBlock);
    const uint32_t rank = partition_.rank();
    return {borders(of), of[rank], of[rank + 1] - of[rank]};
}

uint32_t Builder::borders(const Borders &of, uint32_t width) {
    if (partition_.is_whole()) return kNoIndex;
    Vector<uint32_t> &all = graph_.borders;
    for (size_t at = 0; at < all.size(); at += of.size()) {
        size_t same = 0;
        while (same < of.size() && all[at + same] == of[same] * width) same++;
        if (same == of.size()) return static_cast<uint32_t>(at);
    }
    for (const uint32_t border : of) all.push_back(border * width);
    return static_cast<uint32_t>(all.size() - of.size());
}

void Builder::all_gather(View in, View out, uint32_t borders, uint32_t parts) {
    if (borders != kNoIndex) emit(op::AllGather{in, out, parts, borders, false});
}

View Builder::whole(View in, uint64_t width, uint32_t borders, uint32_t parts) {
    if (borders == kNoIndex) return in;
    const View out = buffer(width);
    all_gather(in, out, borders, parts);
    return out;
}

void Builder::linears(View *out, View in, const Linear *list, uint32_t n) {
    op::Product product{};
    product.in = in;
    Share shares[4];
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t width = list[i].width;
        if (out[i].none()) out[i] = buffer(width);
        shares[i] = list[i].role == Role::kept ? Share{kNoIndex, 0, out[i].width} : share(width);
        uint32_t w = binder_.matrix({layer_, list[i].name}, in.width, width, list[i].role);
        const Share &s = shares[i];
        if (s.borders != kNoIndex) w = binder_.slice(w, s.first, s.n);
        product.to[product.n++] = {out[i].part(s.first, s.n), w};
    }
    emit(product); // also without rows: all ranks have the same operations
    for (uint32_t i = 0; i < n; i++) {
        const Share &s = shares[i];
        epilogue(out[i].part(s.first, s.n), list[i].name, s.first, list[i].width);
        all_gather(out[i].part(s.first, s.n), out[i], s.borders);
    }
}

void Builder::rows(View *out, View in, const Rows *list, size_t n) {
    op::Product product{};
    product.in = in;
    uint32_t w = kNoIndex;
    for (size_t i = 0; i < n; i++) {
        const Rows &r = list[i];
        if (out[i].none()) out[i] = buffer(r.n);
        if (i == 0 || strcmp(r.name, list[i - 1].name) != 0)
            w = binder_.matrix({layer_, r.name}, in.width, r.whole, r.role);
        const uint32_t own = r.n == r.whole ? w : binder_.slice(w, r.first, r.n);
        product.to[product.n++] = {out[i], own};
        if (product.n == std::size(product.to) || i + 1 == n) {
            emit(product);
            product.n = 0;
        }
    }
    for (size_t i = 0; i < n; i++) epilogue(out[i], list[i].name, list[i].first, list[i].whole);
}

View Builder::linear(View in, const Linear &linear) {
    View out;
    linears(&out, in, &linear, 1);
    return out;
}

void Builder::split(View *out, View in, const char *name, const uint64_t *widths, uint32_t n,
                    Role role) {
    constexpr uint32_t kMost = 4;
    Rows list[kMost];
    View own[kMost];
    Share shares[kMost];
    uint64_t all = 0, first = 0;
    for (uint32_t i = 0; i < n; i++) all += widths[i];
    for (uint32_t i = 0; i < n; first += widths[i++]) {
        if (out[i].none()) out[i] = buffer(widths[i]);
        shares[i] = share(widths[i]);
        own[i] = out[i].part(shares[i].first, shares[i].n);
        list[i] = {name, all, first + shares[i].first, shares[i].n, role};
    }
    rows(own, in, list, n);
    for (uint32_t i = 0; i < n; i++) all_gather(own[i], out[i], shares[i].borders);
}

void Builder::norm(View out, View in, const char *name, NormKind kind, uint32_t groups) {
    op::Norm norm{};
    norm.in = in;
    norm.out = out;
    norm.kind = kind;
    norm.groups = groups;
    norm.w = vector(name, in.width / groups);
    norm.b = kind == NormKind::layer ? vector_if(name, in.width / groups, "bias") : kNoIndex;
    norm.epsilon = epsilon_;
    emit(norm);
}

void Builder::norm_parts(View x, const char *name, NormKind kind, uint32_t parts, uint32_t first,
                         uint32_t whole) {
    emit(op::Norm{x, x, kind, kNoIndex, kNoIndex, parts, epsilon_});
    const uint32_t width = x.width / parts;
    const Vec weights = binder_.table({layer_, name}, width, whole);
    emit(op::MultiplyVector{x, weights + first * width, false});
}

void Builder::norm_by(View out, View in, Vec w, uint32_t groups) {
    emit(op::Norm{in, out, NormKind::rms, w, kNoIndex, groups, epsilon_});
}

View Builder::plain(View in, const Linear &linear) {
    const View out = buffer(linear.width);
    op::Product product{};
    product.in = in;
    product.to[0] = {out,
                     binder_.matrix({layer_, linear.name}, in.width, linear.width, linear.role)};
    product.n = 1;
    emit(product);
    return out;
}

View Builder::normed(View in, const char *name, NormKind kind) {
    const View out = buffer(in.width);
    norm(out, in, name, kind);
    return out;
}

uint32_t Builder::rope_table(const Rope &rope) {
    for (uint32_t i = 0; i < ropes_.size(); i++)
        if (ropes_[i] == rope) return i;
    RopeTable out{rope.dims / 2, graph_.frequencies.size(), 0, kNoIndex, rope.factor()};
    const auto add = [&](const char *divisors) {
        const size_t start = graph_.frequencies.size();
        graph_.frequencies.resize(start + out.pairs);
        const uint32_t n = rope.divided_dims ? rope.divided_dims / 2 : out.pairs;
        Vec v = divisors ? binder_.vector({kNoLayer, divisors}, n) : kNoIndex;
        // without data, any divisors serve
        if (divisors && !binder_.is_read({kNoLayer, divisors})) v = kNoIndex;
        if (v != kNoIndex) check_divisors(graph_.vector(v), n, divisors);
        rope.frequencies(graph_.frequencies.data() + start, graph_.vector(v));
        return start;
    };
    const auto has = [&](const char *name) {
        return rope.has_divisors && binder_.has({kNoLayer, name});
    };
    if (has("rope_freqs")) {
        add("rope_freqs");
    } else if (has("rope_factors_short") || has("rope_factors_long")) {
        add("rope_factors_short");
        out.long_frequencies = add("rope_factors_long");
        out.long_above = rope.original_context;
    } else {
        add(nullptr);
    }
    ropes_.push_back(rope);
    graph_.rope_tables.push_back(out);
    const View view = buffer(uint64_t{2} * out.pairs);
    angles_.push_back(view);
    emit(op::Angles{view, static_cast<uint32_t>(ropes_.size() - 1)});
    return static_cast<uint32_t>(ropes_.size() - 1);
}

View Builder::angles(uint32_t rope_table) {
    return angles_[rope_table];
}

void Builder::cache_layer(op::Attend *attend, const CacheShape &shape, const CacheWindow &window) {
    uint32_t cache = 0;
    for (; cache < graph_.caches.size(); cache++)
        if (graph_.caches[cache].shape == shape) break;
    const HostAllocator<CacheLayer> allocator(graph_.caches.get_allocator().host());
    if (cache == graph_.caches.size())
        graph_.caches.push_back({shape, Vector<CacheLayer>(allocator)});
    Vector<CacheLayer> &layers = graph_.caches[cache].layers;
    layers.push_back({layer_, window});
    attend->cache = cache;
    attend->layer = static_cast<uint32_t>(layers.size() - 1);
}

void Builder::note_heads(uint32_t heads, uint32_t kv_heads, uint32_t dim_k, uint32_t dim_v) {
    Shape &shape = graph_.shape;
    if (shape.n_heads) return;
    shape.n_heads = heads;
    shape.n_kv_heads = kv_heads;
    shape.head_dim_k = dim_k;
    shape.head_dim_v = dim_v;
}

void Builder::share_layer(op::Attend *attend, const CacheShape &shape, uint32_t owner) {
    for (Op &s : graph_.ops) {
        op::Attend *other = std::get_if<op::Attend>(&s);
        if (!other || other->model_layer != owner) continue;
        other->shared = true;
        attend->cache = other->cache;
        attend->layer = other->layer;
        attend->shared = true;
        if (graph_.caches[other->cache].shape == shape) return;
        break;
    }
    fail(Status::hparam, {},
         "layer %" PRIu32 " reads the keys of layer %" PRIu32 ", whose heads are of other sizes",
         layer_, owner);
}

uint32_t Builder::state(const StateInfo &info) {
    graph_.states.push_back(info);
    return static_cast<uint32_t>(graph_.states.size() - 1);
}

void Builder::begin_layer(uint32_t layer) {
    layer_ = layer;
    if (layer > 0) return;
    graph_.first_layer_op = static_cast<uint32_t>(graph_.ops.size());
    layer_vectors_.push_back(graph_.n_vector_floats);
}

bool Builder::causal(const ArchConfig &config) const {
    return config.attention.causal && keys_.flag_or("attention.causal", true);
}

// ALiBi slopes: 2^(-largest (h + 1) / n) for the first n heads, a power of two; the slopes of the
// other heads fall between them.
uint32_t Builder::slopes(uint32_t heads, float largest) {
    Vector<float> &all = graph_.slopes;
    if (heads == slope_heads_) return static_cast<uint32_t>(all.size() - heads);
    slope_heads_ = heads;
    const CanonicalFp canonical;
    uint32_t n = 1;
    while (2 * n <= heads) n *= 2;
    const auto power = [](double exponent) { return static_cast<float>(pow_f64(2.0, exponent)); };
    const auto slope = [&](uint32_t h) {
        const double bias = -static_cast<double>(largest) / n;
        return h < n ? power(bias * (h + 1)) : power(bias / 2 * (2 * (h - n) + 1));
    };
    const uint32_t start = static_cast<uint32_t>(all.size());
    for (uint32_t h = 0; h < heads; h++) all.push_back(slope(h));
    return start;
}

void Builder::end_layer() {
    graph_.layer_ends.push_back(static_cast<uint32_t>(graph_.ops.size()));
    layer_vectors_.push_back(graph_.n_vector_floats);
    layer_ = kNoLayer;
    const uint64_t done = graph_.layer_ends.size();
    if (progress_.cancelled(done, n_layers()))
        fail(Status::cancelled, {}, "cancelled after %" PRIu64 " of %" PRIu32 " layers", done,
             n_layers());
}

void Builder::finish() {
    constexpr const char *experts = "expert_count";
    if (keys_.count_or(experts, {0, kMaxExperts}, 0) > 0 && graph_.shape.n_experts == 0)
        keys_.reject(experts, "the file has no tensors of experts");
    lay_out(graph_);
    graph_.shrink();
    binder_.refuse_leftovers();
}

} // namespace ggufx::model
