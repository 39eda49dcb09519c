// Names the buffers of a layer a, b, c ... by their first use in it, so that equal layers have
// equal text; "x" is the residual stream.
// SPDX-License-Identifier: MIT
#include "graph/print.hpp"

#include "formats/format.hpp"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

namespace ggufx::model {

namespace {

// Text of the operations of one layer, or of those before or after all layers.
class Lines {
public:
    Lines(const Graph &graph, const gguf::File &file, bool in_layer)
        : p_(graph), file_(file), in_layer_(in_layer),
          text_(HostAllocator<char>(file.host().get())),
          names_(HostAllocator<BufferId>(file.host().get())) {}

    void add(const Op &op) {
        std::visit([this](const auto &s) { line(s); }, op);
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): called once, at the end of the lines
    Text take() { return std::move(text_); }

private:
    bool is_outer(BufferId buffer) const { // written before all layers
        return in_layer_ && p_.buffers[buffer].first_op < p_.first_layer_op;
    }
    // 26 * 26 names exceed the buffers of a layer.
    void name(char (&out)[64], const View &v) {
        const char *shown = v.buffer == p_.stream.buffer   ? "x"
                            : p_.buffers[v.buffer].outside ? "logits"
                            : is_outer(v.buffer)           ? "per layer"
                                                           : nullptr;
        if (shown) {
            snprintf(out, sizeof out, "%s", shown);
            return;
        }
        size_t i = 0;
        while (i < names_.size() && names_[i] != v.buffer) i++;
        if (i == names_.size()) names_.push_back(v.buffer);
        const char letter = static_cast<char>('a' + i % 26);
        const bool whole = v.width == p_.buffers[v.buffer].width;
        char number[24] = "";
        if (i >= 26) snprintf(number, sizeof number, "%zu", i / 26);
        if (whole)
            snprintf(out, sizeof out, "%c%s", letter, number);
        else
            snprintf(out, sizeof out, "%c%s[%" PRIu32 "..%" PRIu32 "]", letter, number, v.first,
                     v.first + v.width - 1);
    }
    void put(const char *format, ...) GGUFX_PRINTF(2, 3) {
        char part[160];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(part, sizeof part, format, arguments);
        va_end(arguments);
        text_ += part;
    }
    void begin(const char *what) { put("  %-10s", what); }
    void see(const View &v) {
        char shown[64];
        name(shown, v);
        put(" %s", shown);
    }
    void give(const View &v) {
        put(" ->");
        see(v);
        put(" (%" PRIu32 ")", v.width);
    }
    void end() { text_ += '\n'; }
    // Prints the tensor's name without its layer and ".weight".
    void tensor(uint32_t weights) {
        const gguf::Tensor t = file_.tensor(p_.weights[weights].tensor);
        std::string_view shown = t.name;
        if (shown.starts_with("blk.")) shown = shown.substr(shown.find('.', 4) + 1);
        if (shown.ends_with(".weight")) shown.remove_suffix(7);
        const fmt::TypeInfo *type = fmt::type_info(t.type);
        put(" %s %s", Quoted(shown).c_str(), type ? type->name : "?");
    }

    void line(const op::Embed &s) {
        begin("embed");
        tensor(s.weights);
        if (s.by_position) put(" by position");
        if (s.scale != 1) put(" * %g", static_cast<double>(s.scale));
        give(s.out);
        end();
    }
    void line(const op::Angles &s) {
        const RopeTable &r = p_.rope_tables[s.rope_table];
        begin("angles");
        put(" %" PRIu32 " pairs", r.pairs);
        if (r.factor != 1) put(", * %g", r.factor);
        give(s.out);
        end();
    }
    void line(const op::Norm &s) {
        begin(s.kind == NormKind::rms ? "rms" : s.kind == NormKind::layer ? "layer norm" : "l2");
        see(s.in);
        if (s.groups > 1) put(" in %" PRIu32 " parts", s.groups);
        if (s.w == kNoIndex && s.kind != NormKind::l2) put(" without weights");
        give(s.out);
        end();
    }
    void line(const op::Rotate &s) {
        begin("rotate");
        see(s.x);
        put(" %" PRIu32 " heads, %" PRIu32 " %s", s.heads, s.pairs,
            s.style == RopeStyle::pairs ? "pairs" : "halves");
        if (s.first) put(" from %" PRIu32, s.first);
        end();
    }
    void line(const op::Temperature &s) {
        begin("temper");
        see(s.x);
        put(" %g above %g", static_cast<double>(s.scale), static_cast<double>(s.floor));
        end();
    }
    void line(const op::Scale &s) {
        begin("scale");
        see(s.x);
        put(" * %g", static_cast<double>(s.factor));
        end();
    }
    void line(const op::Add &s) {
        begin("add");
        see(s.x);
        put(" +=");
        if (s.scale != 1) put(" %g *", static_cast<double>(s.scale));
        see(s.y);
        end();
    }
    void line(const op::AddVector &s) {
        begin("bias");
        see(s.x);
        end();
    }
    void line(const op::MultiplyVector &s) {
        begin("factor");
        see(s.x);
        end();
    }
    void line(const op::Multiply &s) {
        begin("multiply");
        see(s.x);
        put(" *=");
        see(s.y);
        end();
    }
    void line(const op::Clamp &s) {
        begin("clamp");
        see(s.x);
        put(" %g", static_cast<double>(s.limit));
        end();
    }
    void line(const op::Cap &s) {
        begin("cap");
        see(s.x);
        put(" %g", static_cast<double>(s.cap));
        end();
    }
    void line(const op::Activate &s) {
        constexpr const char *names[] = {"silu", "gelu", "relu2", "swiglu_oai"};
        begin(names[static_cast<size_t>(s.act)]);
        see(s.gate);
        if (!s.up.none()) {
            put(" *");
            see(s.up);
        }
        end();
    }
    void line(const op::Gather &s) {
        begin("gather");
        see(s.in);
        give(s.out);
        end();
    }
    void line(const op::Gate &s) {
        begin("gate");
        see(s.x);
        put(s.squash == Squash::softplus ? " * softplus" : " * sigmoid");
        see(s.gate);
        end();
    }
    void line(const op::Route &s) {
        constexpr const char *kinds[] = {"scores", "softmax", "sigmoid", "softmax of the chosen"};
        begin("route");
        see(s.scores);
        put(" %" PRIu32 " of %" PRIu32 ", %s", s.ids.width, s.scores.width,
            kinds[static_cast<size_t>(s.gating)]);
        if (s.groups > 1) put(", %" PRIu32 " of %" PRIu32 " groups", s.groups_used, s.groups);
        give(s.weights);
        end();
    }
    void line(const op::ExpertSum &s) {
        begin("sum");
        see(s.in);
        give(s.out);
        end();
    }
    void line(const op::ExpertScale &s) {
        begin("factor");
        see(s.x);
        put(" of each expert");
        end();
    }
    void line(const op::ExpertBias &s) {
        begin("bias");
        see(s.x);
        put(" of each expert");
        end();
    }
    void line(const op::DeltaGates &s) {
        begin("gates");
        see(s.decay);
        see(s.beta);
        end();
    }
    void line(const op::TimeSteps &s) {
        begin("steps");
        see(s.dt);
        if (!s.decay.none()) give(s.decay);
        end();
    }
    void line(const op::Product &s) {
        begin("product");
        see(s.in);
        for (uint32_t i = 0; i < s.n; i++) {
            if (i) put(",");
            tensor(s.to[i].weights);
            give(s.to[i].out);
        }
        end();
    }
    void line(const op::HeadProduct &s) {
        begin("per head");
        see(s.in);
        tensor(s.weights);
        give(s.out);
        end();
    }
    void line(const op::AllGather &s) {
        begin("all_gather");
        if (s.in.width) see(s.in); // otherwise the rank has no columns of it
        if (s.parts > 1) put(" in %" PRIu32 " parts", s.parts);
        if (s.packs) put(" packed");
        give(s.out);
        end();
    }
    void line(const op::ExpertProduct &s) {
        begin("experts");
        see(s.in);
        tensor(s.weights);
        give(s.out);
        end();
    }
    void line(const op::Attend &s) {
        const CacheInfo &cache = p_.caches[s.cache];
        const CacheShape &c = cache.shape;
        begin("attend");
        see(s.q);
        if (!s.k.none()) see(s.k);
        if (!s.v.none()) see(s.v);
        put(" %" PRIu32 "/%" PRIu32 " heads of %" PRIu32, c.n_heads, c.n_kv_heads, c.head_dim_k);
        if (c.head_dim_v != c.head_dim_k) put("/%" PRIu32, c.head_dim_v);
        if (c.v_in_k) put(", values in keys");
        const CacheWindow &window = cache.layers[s.layer].window;
        if (window.n) put(", %s %" PRIu32, window.chunked ? "chunks of" : "window", window.n);
        if (s.scale != 0) put(", scale %g", static_cast<double>(s.scale));
        if (s.cap != 0) put(", cap %g", static_cast<double>(s.cap));
        if (s.sinks != kNoIndex) put(", sinks");
        if (s.slopes != kNoIndex) put(", ALiBi");
        if (!s.causal) put(", to both sides");
        if (s.k.none()) put(", keys of layer %" PRIu32, cache.layers[s.layer].model_layer);
        give(s.out);
        end();
    }
    void line(const op::Softmax &s) {
        begin("softmax");
        see(s.x);
        end();
    }
    void line(const op::Pool &s) {
        constexpr const char *kinds[] = {"", ": mean", ": first", ": last", ": rank"};
        begin("pool");
        see(s.in);
        put("%s", kinds[static_cast<size_t>(p_.pooling)]);
        give(s.out);
        end();
    }
    void line(const op::Conv &s) {
        begin("conv");
        see(s.in);
        put(" %" PRIu32 " taps%s", s.taps, s.activate ? ", silu" : "");
        give(s.out);
        end();
    }
    void line(const op::Delta &s) {
        begin("delta");
        see(s.q);
        see(s.k);
        see(s.v);
        put(" %" PRIu32 " heads of %" PRIu32, s.heads, s.values);
        give(s.out);
        end();
    }
    void line(const op::Scan &s) {
        begin("scan");
        for (const View &v : {s.u, s.b, s.c, s.dt}) see(v);
        put(" %" PRIu32 " heads", s.heads);
        if (s.groups > 1) put(" in %" PRIu32 " groups", s.groups);
        put(", states of %" PRIu32, s.b.width / s.groups);
        give(s.out);
        end();
    }
    void line(const op::ScanEach &s) {
        begin("scan");
        for (const View &v : {s.u, s.b, s.c, s.dt}) see(v);
        put(" each, states of %" PRIu32, s.b.width);
        give(s.out);
        end();
    }

    const Graph &p_;
    const gguf::File &file_;
    const bool in_layer_;
    Text text_;
    Vector<BufferId> names_;
};

// Distinct texts of all layers, and the layers that have each text.
class Layers {
public:
    // from: index of the first layer.
    Layers(const Host *host, uint32_t from)
        : from_(from), texts_(HostAllocator<Text>(host)), first_(HostAllocator<uint32_t>(host)) {}

    void add(Text text) {
        uint32_t same = 0;
        while (same < texts_.size() && texts_[same] != text) same++;
        if (same == texts_.size()) texts_.push_back(std::move(text));
        first_.push_back(same);
    }
    void write(Text &out) const {
        for (uint32_t i = 0; i < texts_.size(); i++) {
            heading(out, i);
            out += texts_[i];
        }
    }

private:
    // Writes "layers 0-4, 6-10".
    void heading(Text &out, uint32_t text) const {
        const char *before = "layer ";
        for (uint32_t i = 0; i < first_.size(); i++) {
            if (first_[i] != text) continue;
            uint32_t end = i + 1;
            while (end < first_.size() && first_[end] == text) end++;
            char part[48];
            if (end - i == 1)
                snprintf(part, sizeof part, "%s%" PRIu32, before, from_ + i);
            else
                snprintf(part, sizeof part, "%s%" PRIu32 "-%" PRIu32, before, from_ + i,
                         from_ + end - 1);
            out += part;
            before = ", ";
            i = end - 1;
        }
        out += '\n';
    }

    const uint32_t from_;
    Vector<Text> texts_;
    Vector<uint32_t> first_; // index of each layer's text
};

} // namespace

Text print(const Graph &graph, const gguf::File &file) {
    const Host *host = file.host().get();
    Lines before(graph, file, false);
    Layers layers(host, graph.first_layer);
    const Vector<Op> &ops = graph.ops;
    uint32_t i = 0;
    for (; i < graph.first_layer_op; i++) before.add(ops[i]);
    for (const uint32_t end : graph.layer_ends) {
        Lines layer(graph, file, true);
        for (; i < end; i++) {
            // Angles are computed at their first use, for all layers.
            const bool common = std::holds_alternative<op::Angles>(ops[i]);
            (common ? before : layer).add(ops[i]);
        }
        layers.add(layer.take());
    }
    Text out = before.take();
    layers.write(out);
    const auto rest = [&](const char *heading, size_t end) {
        if (i == end) return;
        Lines lines(graph, file, false);
        for (; i < end; i++) lines.add(ops[i]);
        out += heading;
        out += lines.take();
    };
    rest("output\n", graph.first_op(PartKind::pool));
    if (graph.pools) rest("text\n", ops.size());
    return out;
}

} // namespace ggufx::model
