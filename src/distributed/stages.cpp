// SPDX-License-Identifier: MIT
#include "distributed/stages.hpp"

#include "distributed/layer_partition.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

constexpr PartKind kBehindLogits = PartKind::pool;

uint32_t layer_start(const Graph &p, size_t layer) {
    return layer ? p.layer_ends[layer - 1] : p.first_layer_op;
}

// Returns whether an operation with a view of the buffer may change it. Operations by which layers
// read values made before all layers are known not to write them.
bool may_write(const Op &s, BufferId buffer) {
    if (const auto *p = std::get_if<op::Product>(&s))
        return std::any_of(p->to, p->to + p->n,
                           [&](const auto &to) { return to.out.buffer == buffer; });
    if (const auto *n = std::get_if<op::Norm>(&s)) return n->out.buffer == buffer;
    if (const auto *a = std::get_if<op::Add>(&s)) return a->x.buffer == buffer;
    if (const auto *m = std::get_if<op::Multiply>(&s)) return m->x.buffer == buffer;
    if (const auto *a = std::get_if<op::Activate>(&s)) return a->gate.buffer == buffer;
    return true;
}

// Calls f(vector) for each start of an operation's vectors.
template <class F> void each_vector(Op &s, const F &f) {
    if (auto *x = std::get_if<op::Norm>(&s)) {
        f(x->w);
        f(x->b);
    }
    if (auto *x = std::get_if<op::AddVector>(&s)) f(x->v);
    if (auto *x = std::get_if<op::MultiplyVector>(&s)) f(x->v);
    if (auto *x = std::get_if<op::Route>(&s)) f(x->bias);
    if (auto *x = std::get_if<op::ExpertScale>(&s)) f(x->v);
    if (auto *x = std::get_if<op::ExpertBias>(&s)) f(x->v);
    if (auto *x = std::get_if<op::DeltaGates>(&s)) {
        f(x->bias);
        f(x->a);
    }
    if (auto *x = std::get_if<op::TimeSteps>(&s)) {
        f(x->bias);
        f(x->a);
    }
    if (auto *x = std::get_if<op::Attend>(&s)) f(x->sinks);
    if (auto *x = std::get_if<op::Conv>(&s)) {
        f(x->w);
        f(x->b);
    }
    if (auto *x = std::get_if<op::ScanEach>(&s)) f(x->a);
}

// Calls f(state) for an operation with a recurrent state.
template <class F> void each_state(Op &s, const F &f) {
    if (auto *x = std::get_if<op::Conv>(&s)) f(x->state);
    if (auto *x = std::get_if<op::Delta>(&s)) f(x->state);
    if (auto *x = std::get_if<op::Scan>(&s)) f(x->state);
    if (auto *x = std::get_if<op::ScanEach>(&s)) f(x->state);
}

class Stage {
public:
    Stage(Graph &graph, const RankOptions &ranks, const Vector<uint64_t> &layer_vectors)
        : p_(graph), ranks_(ranks), vectors_(layer_vectors), layers_(assign_layers(graph, ranks)),
          ops_(graph.ops.get_allocator()), places_(graph.layer_ends.get_allocator()),
          buffers_(graph.buffers.size(), Use(), HostAllocator<Use>(graph.buffers.get_allocator())) {
    }

    void run() {
        // first operation after alone_group
        const uint32_t alone_op = p_.alone_group ? p_.groups[p_.alone_group - 1].end : 0;
        const bool counts = p_.alone_counts;
        find_cuts();
        find_angles();
        take_ops();
        move_marks();
        take_caches();
        take_states();
        take_vectors();
        p_.by_layers = true;
        lay_out_again();
        p_.alone_counts = counts;
        p_.alone_group = 0;
        while (p_.alone_group < p_.groups.size() &&
               p_.groups[p_.alone_group].first < places_[alone_op])
            p_.alone_group++;
    }

private:
    struct Use {
        bool is_angles = false, is_wanted = false; // used by this rank
        bool is_written = false;                   // since the last transfer
        uint32_t first = kNoIndex, end = 0;        // columns that later operations use
        bool was_used = false;
    };
    uint32_t last_rank() const { return ranks_.size - 1; }
    uint32_t own_first() const { return layers_[ranks_.rank]; }
    uint32_t own_end() const { return layers_[ranks_.rank + 1]; }
    uint32_t n_layers() const { return static_cast<uint32_t>(p_.layer_ends.size()); }
    // Returns the rank of an operation, ascending: the first rank before the layers, the last after
    // them.
    uint32_t owner(uint32_t op) const {
        if (op < p_.first_layer_op) return 0;
        const auto end = std::upper_bound(p_.layer_ends.begin(), p_.layer_ends.end(), op);
        if (end == p_.layer_ends.end()) return last_rank();
        const auto layer = static_cast<uint32_t>(end - p_.layer_ends.begin());
        const auto behind = std::upper_bound(layers_.begin(), layers_.end(), layer);
        return static_cast<uint32_t>(behind - layers_.begin()) - 1;
    }
    // Ranks whose layers have different kinds may truncate caches and states to different lengths.
    void find_cuts() {
        p_.cuts_differ = !p_.states.empty();
        for (const CacheInfo &cache : p_.caches)
            for (const CacheLayer &layer : cache.layers) p_.cuts_differ |= layer.window.n > 0;
        Vector<uint8_t> attends(ranks_.size, 0, HostAllocator<uint8_t>(p_.ops.get_allocator()));
        for (uint32_t i = 0; i < p_.ops.size(); i++)
            if (std::holds_alternative<op::Attend>(p_.ops[i])) attends[owner(i)] = 1;
        p_.cuts_differ |= std::find(attends.begin(), attends.end(), 0) != attends.end();
    }
    bool is_own(uint32_t op) const { return owner(op) == ranks_.rank; }
    void find_angles() {
        for (const Op &s : p_.ops)
            if (const auto *a = std::get_if<op::Angles>(&s))
                buffers_[a->out.buffer].is_angles = true;
        for (uint32_t i = 0; i < p_.ops.size(); i++) {
            if (!is_own(i) || std::holds_alternative<op::Angles>(p_.ops[i])) continue;
            views(p_.ops[i], [&](const View &v) { buffers_[v.buffer].is_wanted = true; });
        }
    }
    template <class F> static void views(const Op &s, const F &f) {
        const auto call = [&](const View &v) {
            if (!v.none()) f(v);
        };
        std::visit([&](const auto &any) { any.views(call); }, s);
    }
    bool is_kept(uint32_t op) const {
        const auto *a = std::get_if<op::Angles>(&p_.ops[op]);
        return a ? buffers_[a->out.buffer].is_wanted : is_own(op);
    }
    void note(const Op &s) {
        views(s, [&](const View &v) {
            buffers_[v.buffer].was_used = true;
            buffers_[v.buffer].is_written |= may_write(s, v.buffer);
        });
    }
    // Broadcasts columns from one rank to all.
    void send(const View &v, uint32_t from) {
        op::AllGather x{v, v, 1, borders(v.width, from), false};
        if (from != ranks_.rank) x.in.width = 0;
        ops_.push_back(x);
    }
    uint32_t borders(uint32_t width, uint32_t from) {
        Vector<uint32_t> &all = p_.borders;
        const size_t n = ranks_.size + size_t{1};
        const auto border = [&](size_t i) { return i > from ? width : 0; };
        for (size_t at = 0; at < all.size(); at += n) {
            size_t same = 0;
            while (same < n && all[at + same] == border(same)) same++;
            if (same == n) return static_cast<uint32_t>(at);
        }
        for (size_t i = 0; i < n; i++) all.push_back(border(i));
        return static_cast<uint32_t>(all.size() - n);
    }
    // Sends the values that operations from `op` on read from earlier ones, in order of buffers.
    void hop(uint32_t op, uint32_t from) {
        for (Use &use : buffers_) use.first = kNoIndex, use.end = 0;
        for (uint32_t i = op; i < p_.ops.size(); i++)
            views(p_.ops[i], [&](const View &v) {
                Use &use = buffers_[v.buffer];
                use.first = std::min(use.first, v.first);
                use.end = std::max(use.end, v.first + v.width);
            });
        for (BufferId buffer = 0; buffer < buffers_.size(); buffer++) {
            Use &use = buffers_[buffer];
            const bool travels = use.was_used && use.end > use.first && use.is_written;
            if (travels && !use.is_angles) send({buffer, use.first, use.end - use.first}, from);
            use.is_written = false;
        }
    }
    void take_ops() {
        uint32_t before = 0; // rank of the previous operation
        for (uint32_t i = 0; i < p_.ops.size(); i++) {
            if (owner(i) != before) hop(i, before);
            before = owner(i);
            ends(i);
            places_.push_back(static_cast<uint32_t>(ops_.size()));
            note(p_.ops[i]);
            if (is_kept(i)) ops_.push_back(p_.ops[i]);
        }
        ends(static_cast<uint32_t>(p_.ops.size()));
        places_.push_back(static_cast<uint32_t>(ops_.size()));
    }
    // After the parts that compute them, hidden states and logits go to all ranks. A part that
    // begins here begins with its all-gather.
    void ends(uint32_t op) {
        if (op == p_.first_op(PartKind::spread) && !is_spread_) {
            spread_ = static_cast<uint32_t>(ops_.size());
            is_spread_ = true;
            send(p_.hidden, last_rank());
        }
        if (op == p_.first_op(kBehindLogits) && !is_told_) {
            is_told_ = true;
            if (!p_.logits.none()) send(p_.logits, last_rank());
        }
    }
    // Start positions at removed operations move to the next kept operation.
    void move_marks() {
        for (uint32_t i = 0; i < kParts; i++) p_.parts[i].first_op = places_[p_.parts[i].first_op];
        for (const PartKind part : {PartKind::hidden, PartKind::spread}) {
            uint32_t &first = p_.parts[static_cast<uint32_t>(part)].first_op;
            first = std::min(first, spread_); // neither may have an operation
        }
        const uint32_t first = own_first(), end = own_end();
        const uint32_t start = layer_start(p_, first);
        Vector<uint32_t> own(p_.layer_ends.get_allocator());
        for (uint32_t layer = first; layer < end; layer++)
            own.push_back(end_of(p_.layer_ends[layer]));
        p_.first_layer_op = places_[start];
        p_.layer_ends.swap(own);
        p_.first_layer = first;
        p_.ops.swap(ops_);
    }

    // Returns the position after the last kept operation before `op`: all-gathers that follow
    // belong to no layer.
    uint32_t end_of(uint32_t op) const { return places_[op - 1] + (is_kept(op - 1) ? 1 : 0); }

    void take_caches();
    void take_states();
    void take_vectors();
    void lay_out_again() {
        for (BufferInfo &buffer : p_.buffers) {
            BufferInfo fresh;
            fresh.width = buffer.width;
            fresh.outside = buffer.outside;
            buffer = fresh;
        }
        p_.groups.clear();
        p_.row_floats = 0;
        lay_out(p_);
    }

    Graph &p_;
    const RankOptions &ranks_;
    const Vector<uint64_t> &vectors_;
    const Vector<uint32_t> layers_; // first layer of each rank
    Vector<Op> ops_;
    Vector<uint32_t>
        places_; // new positions of the whole graph's operations; the next kept position for
                 // removed ones
    Vector<Use> buffers_;
    uint32_t spread_ = 0;
    bool is_spread_ = false, is_told_ = false;
};

// Keeps the caches of the rank's layers, in order.
void Stage::take_caches() {
    const HostAllocator<uint32_t> allocator(p_.ops.get_allocator());
    struct Place {
        uint32_t cache = kNoIndex, layer = 0;
    };
    Vector<uint32_t> starts(allocator); // first layer of each cache among all
    uint32_t n = 0;
    for (const CacheInfo &cache : p_.caches) {
        starts.push_back(n);
        n += static_cast<uint32_t>(cache.layers.size());
    }
    Vector<Place> places(n, Place(), HostAllocator<Place>(allocator));
    for (const Op &s : p_.ops)
        if (const auto *a = std::get_if<op::Attend>(&s))
            places[starts[a->cache] + a->layer].cache = 0; // marks it as read
    Vector<CacheInfo> own(p_.caches.get_allocator());
    for (uint32_t c = 0; c < p_.caches.size(); c++) {
        Vector<CacheLayer> layers{HostAllocator<CacheLayer>(allocator)};
        for (uint32_t l = 0; l < p_.caches[c].layers.size(); l++) {
            Place &place = places[starts[c] + l];
            if (place.cache == kNoIndex) continue;
            place = {static_cast<uint32_t>(own.size()), static_cast<uint32_t>(layers.size())};
            layers.push_back(p_.caches[c].layers[l]);
        }
        if (!layers.empty()) own.push_back({p_.caches[c].shape, std::move(layers)});
    }
    for (Op &s : p_.ops) {
        auto *a = std::get_if<op::Attend>(&s);
        if (!a) continue;
        const Place &place = places[starts[a->cache] + a->layer];
        a->cache = place.cache;
        a->layer = place.layer;
    }
    p_.caches.swap(own);
}

void Stage::take_states() {
    Vector<StateInfo> own(p_.states.get_allocator());
    Vector<uint32_t> numbers(p_.states.size(), kNoIndex, p_.layer_ends.get_allocator());
    for (Op &s : p_.ops)
        each_state(s, [&](uint32_t &state) {
            if (numbers[state] == kNoIndex) {
                numbers[state] = static_cast<uint32_t>(own.size());
                own.push_back(p_.states[state]);
            }
            state = numbers[state];
        });
    p_.states.swap(own);
}

// Keeps the vectors before all layers, of each kept layer, and after all layers: vectors are in the
// order of operations.
void Stage::take_vectors() {
    struct Range {
        uint64_t first, end, to;
    };
    const uint64_t all = p_.n_vector_floats, layers_end = vectors_.back();
    const bool is_first = ranks_.rank == 0, is_last = ranks_.rank == last_rank();
    Range ranges[] = {{0, is_first ? vectors_.front() : 0, 0},
                      {vectors_[own_first()], vectors_[own_end()], 0},
                      {layers_end, is_last ? all : layers_end, 0}};
    uint64_t n = 0;
    for (Range &r : ranges) {
        r.to = n;
        n += r.end - r.first;
    }
    for (Op &s : p_.ops)
        each_vector(s, [&](Vec &v) {
            if (v == kNoIndex) return;
            for (const Range &r : ranges) {
                if (v < r.first || v >= r.end) continue;
                v = static_cast<Vec>(r.to + (v - r.first));
                return;
            }
            fail(Status::internal, {}, "a layer reads a vector of another layer");
        });
    p_.n_vector_floats = n;
    if (p_.vectors.size() < all) { // no data
        p_.vectors.clear();
        return;
    }
    Vector<float> own(p_.vectors.get_allocator());
    own.reserve(static_cast<size_t>(n));
    for (const Range &r : ranges)
        own.insert(own.end(), p_.vectors.begin() + ptrdiff_t(r.first),
                   p_.vectors.begin() + ptrdiff_t(r.end));
    p_.vectors.swap(own);
}

} // namespace

void keep_stage(Graph &graph, const RankOptions &ranks, const Vector<uint64_t> &layer_vectors) {
    Stage(graph, ranks, layer_vectors).run();
    graph.shrink();
}

} // namespace ggufx::model
