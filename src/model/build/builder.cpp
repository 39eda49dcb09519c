// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"
#include "base/fpenv.hpp"
#include "base/math.hpp"

#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr uint64_t kMaxSlot = uint64_t{1} << 31; // values of a row of activations

// Very large ones keep a pair from turning.
void check_divisors(const float *divisors, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (!(divisors[i] > 1e-6f && divisors[i] <= 3e38f))
            fail(Status::hparam, {kNone, i}, "%s.weight: value %" PRIu32 " is out of range", name,
                 i);
}

} // namespace

LayerTest all_but_first_of(uint32_t n) {
    return [n](uint32_t layer) { return n == 0 || layer % n != 0; };
}

LayerTest all_but_last_of(uint32_t n) {
    return [n](uint32_t layer) { return n == 0 || layer % n + 1 < n; };
}

Builder::Builder(const gguf::File &file, const Keys &keys, Program &program,
                 const Progress &progress)
    : keys_(keys), program_(program), progress_(progress), binder_(file, program),
      ropes_(HostAllocator<Rope>(file.host().get())),
      angles_(HostAllocator<View>(file.host().get())) {
    Shape &shape = program.shape;
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
    // Old converters stored the rotation's angles, which the keys determine. Heads that predict
    // several tokens are not run.
    binder_.pass_over(".attn_rot_embd");
    binder_.pass_over(".nextn.");
    binder_.pass_over_layers(shape.n_layers, shape.n_layers + unread);
}

// What the keys alone tell, before any tensor is asked for.
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

// Of the vocabulary, or by its key; 0: the embedding decides.
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

View Builder::slot(uint64_t width) {
    if (width > kMaxSlot)
        fail(Status::limit, {}, "a row of %" PRIu64 " activations is too wide", width);
    SlotInfo info;
    info.width = static_cast<uint32_t>(width);
    program_.slots.push_back(info);
    return {static_cast<Slot>(program_.slots.size() - 1), 0, info.width};
}

// Bias and factor of a product that are rows first, first + 1 ... of `whole` rows of a matrix.
void Builder::epilogue(View out, const char *name, uint64_t first, uint64_t whole) {
    if (has(name, "scale")) emit(step::MultiplyVector{out, vector(name, 1, "scale"), true});
    if (!has(name, "bias")) return;
    const Vec bias = vector(name, whole, "bias");
    emit(step::AddVector{out, static_cast<Vec>(bias + first)});
}

void Builder::linears(View *out, View in, const Linear *list, uint32_t n) {
    step::Product product{};
    product.in = in;
    product.n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (out[i].none()) out[i] = slot(list[i].width);
        product.to[i] = {
            out[i], binder_.matrix({layer_, list[i].name}, in.width, list[i].width, list[i].role)};
    }
    emit(product);
    for (uint32_t i = 0; i < n; i++) epilogue(out[i], list[i].name, 0, list[i].width);
}

View Builder::linear(View in, const Linear &linear) {
    View out;
    linears(&out, in, &linear, 1);
    return out;
}

void Builder::split(View *out, View in, const char *name, const uint64_t *widths, uint32_t n,
                    Role role) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all += widths[i];
    const uint32_t whole = binder_.matrix({layer_, name}, in.width, all, role);
    step::Product product{};
    product.in = in;
    product.n = n;
    uint64_t first = 0;
    for (uint32_t i = 0; i < n; i++, first += widths[i - 1]) {
        if (out[i].none()) out[i] = slot(widths[i]);
        product.to[i] = {out[i], binder_.slice(whole, first, widths[i])};
    }
    emit(product);
    first = 0;
    for (uint32_t i = 0; i < n; i++, first += widths[i - 1]) epilogue(out[i], name, first, all);
}

void Builder::norm(View out, View in, const char *name, NormKind kind, uint32_t groups) {
    step::Norm norm{};
    norm.in = in;
    norm.out = out;
    norm.kind = kind;
    norm.groups = groups;
    norm.w = vector(name, in.width / groups);
    norm.b = kind == NormKind::layer ? vector_if(name, in.width / groups, "bias") : kNoIndex;
    norm.epsilon = epsilon_;
    emit(norm);
}

void Builder::norm_parts(View x, const char *name, NormKind kind, uint32_t parts) {
    emit(step::Norm{x, x, kind, kNoIndex, kNoIndex, parts, epsilon_});
    const Vec weights = binder_.table({layer_, name}, x.width / parts, parts);
    emit(step::MultiplyVector{x, weights, false});
}

void Builder::norm_by(View out, View in, Vec w, uint32_t groups) {
    emit(step::Norm{in, out, NormKind::rms, w, kNoIndex, groups, epsilon_});
}

View Builder::plain(View in, const Linear &linear) {
    const View out = slot(linear.width);
    step::Product product{};
    product.in = in;
    product.to[0] = {out,
                     binder_.matrix({layer_, linear.name}, in.width, linear.width, linear.role)};
    product.n = 1;
    emit(product);
    return out;
}

View Builder::normed(View in, const char *name, NormKind kind) {
    const View out = slot(in.width);
    norm(out, in, name, kind);
    return out;
}

uint32_t Builder::rotation(const Rope &rope) {
    for (uint32_t i = 0; i < ropes_.size(); i++)
        if (ropes_[i] == rope) return i;
    Rotation out{rope.dims / 2, program_.frequencies.size(), 0, kNoIndex, rope.factor()};
    const auto add = [&](const char *divisors) {
        const size_t start = program_.frequencies.size();
        program_.frequencies.resize(start + out.pairs);
        Vec v = divisors ? binder_.vector({kNoLayer, divisors}, out.pairs) : kNoIndex;
        if (divisors && !binder_.is_read({kNoLayer, divisors})) v = kNoIndex; // any will do
        if (v != kNoIndex) check_divisors(program_.vector(v), out.pairs, divisors);
        rope.frequencies(program_.frequencies.data() + start, program_.vector(v));
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
    program_.rotations.push_back(out);
    const View view = slot(uint64_t{2} * out.pairs);
    angles_.push_back(view);
    emit(step::Angles{view, static_cast<uint32_t>(ropes_.size() - 1)});
    return static_cast<uint32_t>(ropes_.size() - 1);
}

View Builder::angles(uint32_t rotation) {
    return angles_[rotation];
}

void Builder::cache_layer(step::Attend *attend, const CacheShape &shape,
                          const CacheWindow &window) {
    uint32_t cache = 0;
    for (; cache < program_.caches.size(); cache++)
        if (program_.caches[cache].shape == shape) break;
    const HostAllocator<CacheLayer> allocator(program_.caches.get_allocator().host());
    if (cache == program_.caches.size())
        program_.caches.push_back({shape, Vector<CacheLayer>(allocator)});
    Vector<CacheLayer> &layers = program_.caches[cache].layers;
    layers.push_back({layer_, window});
    attend->cache = cache;
    attend->layer = static_cast<uint32_t>(layers.size() - 1);
}

void Builder::note_heads(uint32_t heads, uint32_t kv_heads, uint32_t dim_k, uint32_t dim_v) {
    Shape &shape = program_.shape;
    if (shape.n_heads) return;
    shape.n_heads = heads;
    shape.n_kv_heads = kv_heads;
    shape.head_dim_k = dim_k;
    shape.head_dim_v = dim_v;
}

void Builder::share_layer(step::Attend *attend, const CacheShape &shape, uint32_t owner) {
    for (Step &s : program_.steps) {
        step::Attend *other = std::get_if<step::Attend>(&s);
        if (!other || other->model_layer != owner) continue;
        other->shared = true;
        attend->cache = other->cache;
        attend->layer = other->layer;
        attend->shared = true;
        if (program_.caches[other->cache].shape == shape) return;
        break;
    }
    fail(Status::hparam, {},
         "layer %" PRIu32 " reads the keys of layer %" PRIu32 ", whose heads are of other sizes",
         layer_, owner);
}

uint32_t Builder::state(const StateInfo &info) {
    program_.states.push_back(info);
    return static_cast<uint32_t>(program_.states.size() - 1);
}

void Builder::begin_layer(uint32_t layer) {
    layer_ = layer;
    if (layer == 0) program_.first_layer_step = static_cast<uint32_t>(program_.steps.size());
}

View Builder::embed(float scale) {
    const TensorName name(kNoLayer, "token_embd");
    Shape &shape = program_.shape;
    tokens_ = binder_.matrix(name, shape.n_embd, vocabulary(), Role::token_embd);
    shape.n_vocab = program_.weights[tokens_].w.n_rows;
    if (shape.n_vocab > INT32_MAX) fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    const View x = slot(shape.n_embd);
    program_.stream = x;
    emit(step::Embed{x, tokens_, scale});
    return x;
}

void Builder::add_positions(View x, const char *table) {
    Shape &shape = program_.shape;
    const View p = slot(x.width);
    const uint32_t rows = binder_.matrix({kNoLayer, table}, x.width, shape.n_context, Role::kept);
    shape.n_positions = shape.n_context;
    emit(step::Embed{p, rows, 1, true});
    add(x, p);
}

Vec Builder::first_row(const char *what, uint64_t n_rows) {
    return binder_.table({kNoLayer, what}, n_embd(), n_rows);
}

bool Builder::causal(const Traits &traits) const {
    return traits.causal && keys_.flag_or("attention.causal", true);
}

// 2^(-largest (h + 1) / n) for the first n heads, a power of two; the others fall between them.
uint32_t Builder::slopes(uint32_t heads, float largest) {
    Vector<float> &all = program_.slopes;
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
    program_.layer_ends.push_back(static_cast<uint32_t>(program_.steps.size()));
    layer_ = kNoLayer;
    const uint64_t done = program_.layer_ends.size();
    if (progress_.cancelled(done, n_layers()))
        fail(Status::cancelled, {}, "cancelled after %" PRIu64 " of %" PRIu32 " layers", done,
             n_layers());
}

void Builder::begin_part(PartKind part) {
    program_.parts[static_cast<uint32_t>(part)].first_step =
        static_cast<uint32_t>(program_.steps.size());
}

void Builder::output(View x, const Traits &traits) {
    begin_part(PartKind::hidden);
    program_.hidden = traits.output_norm ? normed(x, traits.output_norm, traits.norm) : x;
    begin_part(PartKind::logits);
    if (traits.logits) logits(program_.hidden, traits);
    pool(program_.hidden, traits);
}

void Builder::logits(View h, const Traits &traits) {
    View logits = slot(program_.shape.n_vocab);
    program_.slots[logits.slot].outside = true;
    program_.logits = logits;
    if (binder_.has({kNoLayer, "output"})) {
        const Linear list = {"output", program_.shape.n_vocab, Role::output};
        linears(&logits, h, &list, 1);
    } else {
        step::Product product{};
        product.in = h;
        product.to[0] = {logits, tokens_};
        product.n = 1;
        emit(product);
        epilogue(logits, "output", 0, program_.shape.n_vocab);
    }
    if (traits.logit_scale != 1) emit(step::Scale{logits, traits.logit_scale});
    if (traits.logit_cap != 0) emit(step::Cap{logits, traits.logit_cap});
}

void Builder::finish() {
    constexpr const char *experts = "expert_count";
    if (keys_.count_or(experts, {0, kMaxExperts}, 0) > 0 && program_.shape.n_experts == 0)
        keys_.reject(experts, "the file has no tensors of experts");
    lay_out(program_);
    program_.shrink();
    binder_.refuse_leftovers();
}

} // namespace ggufx::model
