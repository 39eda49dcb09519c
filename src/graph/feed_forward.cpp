// Feed-forward networks: dense, mixture of experts, and experts with a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

namespace ggufx::model {

namespace {

struct DenseNames {
    char gate[40], up[40], down[40];
    explicit DenseNames(const char *suffix) {
        snprintf(gate, sizeof gate, "ffn_gate%s", suffix);
        snprintf(up, sizeof up, "ffn_up%s", suffix);
        snprintf(down, sizeof down, "ffn_down%s", suffix);
    }
};

// gate = act(gate) * up; with a limit for the layer, both factors are clamped. A limit below 0.3
// would clamp the smallest values of act, which models with a limit leave unchanged.
void activate(Builder &b, Act act, const char *limit, View gate, View up) {
    const double most = limit ? b.keys().number_at_or(limit, b.layer(), 0, 1e6, 0) : 0;
    if (most == 0) return b.emit(op::Activate{gate, up, 1, gate.width, 0, act});
    if (most < 0.3) b.keys().reject(limit, "a limit below 0.3 is not supported");
    const float within = static_cast<float>(most);
    b.emit(op::Activate{gate, View{}, 1, gate.width, 0, act});
    b.emit(op::Clamp{gate, within});
    b.emit(op::Clamp{up, within});
    b.emit(op::Multiply{gate, up});
}

// Number and width of the experts of a layer.
struct ExpertShape {
    uint32_t n, used, width;

    explicit ExpertShape(Builder &b) {
        const Keys &keys = b.keys();
        n = keys.count("expert_count", {1, kMaxExperts});
        used = keys.count("expert_used_count", {1, n});
        b.graph().shape.n_experts = n;
        b.graph().shape.n_used_experts = used;
        // Expert width: its own key, else from the tensor: the width of the dense network, or part
        // of it.
        const char *down = b.has("ffn_down_exps") ? "ffn_down_exps" : "ffn_down.0";
        const uint64_t rows = b.binder().length({b.layer(), down});
        if (rows > kMaxWidth)
            fail(Status::hparam, {}, "experts of %" PRIu64 " values are too wide", rows);
        width = keys.count_at_or("expert_feed_forward_length", b.layer(), {1, kMaxWidth},
                                 static_cast<uint32_t>(rows));
    }
};

// One mixture-of-experts block over h.
class ExpertBlock {
public:
    ExpertBlock(Builder &b, const Experts &config) : b_(b), t_(config), s_(b) {}

    View build(View h, View scores) {
        b_.require(t_.needs);
        route(scores.none() ? b_.linear(h, {"ffn_gate_inp", s_.n, Role::kept}) : scores);
        share_ = b_.share(s_.width);
        const View own = t_.weighed ? expand(weigh(h), true) : expand(h, false);
        const View hidden = b_.whole(own, uint64_t{s_.used} * s_.width, share_.borders, s_.used);
        const Share share = b_.share(h.width); // columns of the sum
        const Rows rows = {"ffn_down_exps", h.width, share.first, share.n, Role::ffn_down};
        const View parts = product(hidden, rows, s_.width, true);
        const View out = b_.buffer(h.width), sum = out.part(share.first, share.n);
        b_.emit(op::ExpertSum{parts, t_.weighed ? View{} : weights_, sum, s_.used});
        b_.all_gather(sum, out, share.borders);
        return out;
    }

private:
    void route(View scores);
    View weigh(View h);
    View limited(View both, View hidden);
    View expand(View h, bool each);
    uint32_t bind_separate(const Rows &rows, uint64_t n_cols);
    uint32_t bind(const Rows &rows, uint64_t n_cols);
    View product(View in, const Rows &rows, uint64_t n_cols, bool each);
    Rows own_rows(const char *name, Role role) const {
        return {name, s_.width, share_.first, share_.n, role};
    }

    Builder &b_;
    const Experts &t_;
    const ExpertShape s_;
    Share share_; // columns of an expert's width
    View ids_, weights_;
};

void ExpertBlock::route(View scores) {
    const Keys &keys = b_.keys();
    op::Route route{};
    route.scores = scores;
    route.ids = ids_ = b_.buffer(s_.used);
    route.weights = weights_ = b_.buffer(s_.used);
    route.bias = b_.vector_if("exp_probs_b", s_.n, "bias");
    route.groups = keys.count_or("expert_group_count", {0, s_.n}, 0);
    if (route.groups > 1) {
        if (s_.n % route.groups || s_.n / route.groups < 2)
            keys.reject("expert_group_count",
                        "does not cut the experts into groups of two or more");
        route.groups_used = keys.count("expert_group_used_count", {1, route.groups});
        if (uint64_t{route.groups_used} * (s_.n / route.groups) < s_.used)
            keys.reject("expert_group_used_count", "leaves fewer experts than are used");
    }
    if (t_.weighed) { // the router orders experts by raw scores, since sigmoids may round to 1
        route.gating = Gating::none;
        route.scale = 1;
        b_.emit(route);
        return;
    }
    const uint32_t kind = keys.count_or("expert_gating_func", {0, 3}, 0);
    route.gating = kind ? static_cast<Gating>(kind) : t_.gating;
    route.normalize =
        keys.has("expert_weights_norm") ? keys.flag_or("expert_weights_norm", false) : t_.normalize;
    const double scale = t_.scaled ? keys.number_or("expert_weights_scale", 0, 1e6, 0) : 0;
    route.scale = scale == 0 ? 1 : static_cast<float>(scale);
    b_.emit(route);
}

// Files before 2024-04 have one matrix per expert: "ffn_up.3" is one part of "ffn_up_exps".
uint32_t ExpertBlock::bind_separate(const Rows &rows, uint64_t n_cols) {
    uint32_t first = 0;
    for (uint32_t e = 0; e < s_.n; e++) {
        char own[32];
        const int stem = static_cast<int>(strlen(rows.name) - strlen("_exps"));
        snprintf(own, sizeof own, "%.*s.%" PRIu32, stem, rows.name, e);
        const uint32_t weights =
            b_.binder().matrix({b_.layer(), own}, n_cols, rows.whole, rows.role);
        if (e == 0) first = weights;
    }
    if (rows.n == rows.whole) return first;
    for (uint32_t e = 0; e < s_.n; e++) (void)b_.binder().slice(first + e, rows.first, rows.n);
    return first + s_.n;
}

uint32_t ExpertBlock::bind(const Rows &rows, uint64_t n_cols) {
    const uint32_t all =
        b_.binder().matrices({b_.layer(), rows.name}, n_cols, rows.whole, s_.n, rows.role);
    return rows.n == rows.whole ? all : b_.binder().slice(all, rows.first, rows.n);
}

// Product with those rows of each expert.
View ExpertBlock::product(View in, const Rows &rows, uint64_t n_cols, bool each) {
    op::ExpertProduct p{};
    p.in = in;
    p.ids = ids_;
    p.out = b_.buffer(rows.n * s_.used);
    p.used = s_.used;
    p.each = each;
    if (b_.has("ffn_down.0")) {
        p.separate = s_.n;
        p.weights = bind_separate(rows, n_cols);
        p.order = b_.buffer(s_.used);
        p.columns = b_.buffer(n_cols * s_.used);
        p.results = b_.buffer(rows.n * s_.used);
    } else {
        p.weights = bind(rows, n_cols);
    }
    b_.emit(p);
    if (b_.has(rows.name, "scale"))
        b_.emit(op::ExpertScale{p.out, ids_, b_.vector(rows.name, s_.n, "scale")});
    if (b_.has(rows.name, "bias")) {
        Binder &binder = b_.binder();
        const Binder::Range range = {rows.first, rows.n};
        Vec bias = binder.table({b_.layer(), rows.name, "bias"}, rows.whole, s_.n);
        if (rows.n != rows.whole) bias = binder.columns(bias, rows.whole, s_.n, &range, 1);
        b_.emit(op::ExpertBias{p.out, ids_, bias});
    }
    return p.out;
}

// Weighted input of each expert: [used][width of h].
View ExpertBlock::weigh(View h) {
    const View in = b_.buffer(uint64_t{s_.used} * h.width);
    b_.emit(op::Gather{h, in, s_.used, 0, h.width, h.width});
    b_.emit(op::Gate{in, weights_, s_.used, 1, true});
    return in;
}

// Splits [used][gate, up] and writes the clamped product to `hidden`.
View ExpertBlock::limited(View both, View hidden) {
    const View up = b_.buffer(hidden.width);
    b_.emit(op::Gather{both, hidden, s_.used, 2 * s_.width, s_.width, s_.width});
    b_.emit(op::Gather{both.part(s_.width, both.width - s_.width), up, s_.used, 2 * s_.width,
                       s_.width, s_.width});
    activate(b_, t_.act, t_.limit, hidden, up);
    return hidden;
}

// Input of the down matrices: [used][width]; on a rank its share of each width. With `each`, h has
// one part per expert.
View ExpertBlock::expand(View h, bool each) {
    const uint32_t n_cols = each ? h.width / s_.used : h.width;
    const bool is_cut = share_.borders != kNoIndex, fused = b_.has("ffn_gate_up_exps");
    if (fused && is_cut) {
        const uint64_t both = uint64_t{2} * s_.width;
        Rows rows = {"ffn_gate_up_exps", both, share_.first, share_.n, Role::ffn_gate};
        const View gate = product(h, rows, n_cols, each);
        rows.first += s_.width;
        activate(b_, t_.act, t_.limit, gate, product(h, rows, n_cols, each));
        return gate;
    }
    if (fused) { // gate rows first
        const uint64_t width = uint64_t{2} * s_.width;
        const View both =
            product(h, {"ffn_gate_up_exps", width, 0, width, Role::ffn_gate}, n_cols, each);
        const View hidden = b_.buffer(uint64_t{s_.used} * s_.width);
        if (t_.limit) return limited(both, hidden);
        b_.emit(op::Activate{both, both.part(s_.width, both.width - s_.width), s_.used, s_.width,
                             2 * s_.width, t_.act});
        b_.emit(op::Gather{both, hidden, s_.used, 2 * s_.width, s_.width, s_.width});
        return hidden;
    }
    if (t_.plain) {
        const View hidden = product(h, own_rows("ffn_up_exps", Role::ffn_up), n_cols, each);
        b_.emit(op::Activate{hidden, View{}, s_.used, share_.n, share_.n, t_.act});
        return hidden;
    }
    const View gate = product(h, own_rows("ffn_gate_exps", Role::ffn_gate), n_cols, each);
    const View up = product(h, own_rows("ffn_up_exps", Role::ffn_up), n_cols, each);
    activate(b_, t_.act, t_.limit, gate, up);
    return gate;
}

} // namespace

// Width of a network by its key; for shared experts by the tensor.
static uint64_t width_of(const Builder &b, const char *down, bool has_key) {
    constexpr const char *key = "feed_forward_length";
    if (has_key) return b.keys().count_at(key, b.layer(), {1, kMaxWidth});
    const uint64_t ff = b.binder().length({b.layer(), down});
    if (ff <= kMaxWidth) return ff;
    fail(Status::hparam, {}, "a feed-forward network of %" PRIu64 " values is too wide", ff);
}

View dense(Builder &b, const Dense &d, View h) {
    const DenseNames names(d.suffix);
    const uint64_t ff = width_of(b, names.down, *d.suffix == 0);
    const Share s = b.share(ff);
    const View hidden = b.buffer(ff);
    View out[2] = {hidden.part(s.first, s.n), View{}}; // the share of this rank
    const uint64_t rows = b.binder().rows_of({b.layer(), names.up});
    if (d.plain) {
        const Rows list = {names.up, ff, s.first, s.n, Role::ffn_up};
        b.rows(out, h, &list, 1);
    } else if (!b.has(names.gate) && rows != 0 && rows != ff) { // gate rows first
        const Rows list[] = {{names.up, 2 * ff, s.first, s.n, Role::ffn_up},
                             {names.up, 2 * ff, ff + s.first, s.n, Role::ffn_up}};
        b.rows(out, h, list, 2);
    } else {
        const Rows list[] = {{names.gate, ff, s.first, s.n, Role::ffn_gate},
                             {names.up, ff, s.first, s.n, Role::ffn_up}};
        b.rows(out, h, list, 2);
    }
    activate(b, d.act, d.limit, out[0], out[1]);
    b.all_gather(out[0], hidden, s.borders);
    return b.linear(hidden, {names.down, h.width, Role::ffn_down});
}

View experts(Builder &b, const Experts &config, View h, View scores) {
    return ExpertBlock(b, config).build(h, scores);
}

bool has_experts(const Builder &b) {
    return b.has("ffn_gate_inp") || b.has("ffn_up_exps") || b.has("ffn_down_exps");
}

// Experts of a layer. Some run in a latent space, but their router reads the full input.
static View experts_of(Builder &b, const ArchConfig &t, View h) {
    if (!b.has("ffn_latent_down") && !b.has("ffn_latent_up")) return experts(b, t.experts, h, {});
    const uint32_t n = b.keys().count("expert_count", {1, kMaxExperts});
    const uint32_t width = b.keys().count("moe_latent_size", {1, kMaxWidth});
    const View scores = b.linear(h, {"ffn_gate_inp", n, Role::kept});
    const View latent = b.linear(h, {"ffn_latent_down", width});
    return b.linear(experts(b, t.experts, latent, scores), {"ffn_latent_up", h.width});
}

View feed_forward(Builder &b, const ArchConfig &t, View h) {
    if (!has_experts(b)) {
        b.require(t.ffn.needs);
        return dense(b, {t.ffn.act, "", t.ffn.plain}, h);
    }
    const View out = experts_of(b, t, h);
    if (!b.has("ffn_up_shexp") && !b.has("ffn_down_shexp")) return out;
    const Experts &e = t.experts;
    const View shared = dense(b, {e.act, "_shexp", e.plain, e.shared_limit}, h);
    if (t.ffn.shared_gate) {
        const View gate = b.linear(h, {"ffn_gate_inp_shexp", 1, Role::kept});
        b.emit(op::Gate{shared, gate, 1, 0, true});
    }
    b.add(out, shared);
    if (t.ffn.shared_factor != 1) b.emit(op::Scale{out, t.ffn.shared_factor});
    return out;
}

} // namespace ggufx::model
