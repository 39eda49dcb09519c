// Requantize: changes the types of streams that hold tokens. Every block gets one successor, so
// that sequences keep sharing blocks. Successors are built apart from the cache and replace the old
// blocks last.
// SPDX-License-Identifier: MIT
#include "kv/rebuild.hpp"

#include <string.h>

namespace ggufx::kv {

// Plan for one block, whose slots first .. end - 1 are in use.
struct Move {
    Block *old;
    Block *to;    // slots from n_sinks on if there is `sinks`, else all; may be `old` itself
    Block *sinks; // slots before n_sinks, if the sequence began without a page of sinks
    uint16_t first, end;
    uint64_t used;          // a bit per slot
    bool tail, inner, head; // holds the last page of a sequence; one before that; the first one
    uint32_t sequence;      // first sequence that holds the block
};

namespace {

constexpr size_t kPlanBytes = sizeof(void *); // bytes of a pointer to a LayerPlan

// Returns bits first .. end - 1; end > first.
uint64_t slots(uint32_t first, uint32_t end) {
    return UINT64_MAX >> (kPageTokens - (end - first)) << first;
}

// Calibration of one sequence.
struct Means {
    uint32_t group;  // first of the sequences that share pages with it, and so calibrations
    bool calibrated; // after the call
};

// Plan for one layer: its new description, and all its blocks.
struct LayerPlan {
    explicit LayerPlan(const Host &host)
        : moves(host), targets(host), pieces(host), centring(host) {}
    uint32_t index = 0;
    Layer next;
    HostArray<Move> moves;
    HostArray<Target> targets;
    HostArray<Piece> pieces;
    HostArray<Means> centring; // [n_sequences]
    size_t n_moves = 0, n_targets = 0;
    bool same = true; // types stay: nothing to do
};

class Requantize {
public:
    Requantize(Cache::State &state, const Progress &progress, Failure *failure)
        : s_(state), host_(*state.host), failure_(failure), progress_(progress) {}
    ~Requantize();
    Requantize(const Requantize &) = delete;
    Requantize &operator=(const Requantize &) = delete;
    Status run(uint32_t first, uint32_t end, uint32_t type_k, uint32_t type_v);

private:
    Status no_memory();
    Status plan(LayerPlan &plan, uint32_t index, uint32_t type_k, uint32_t type_v);
    bool find_moves(LayerPlan &plan);
    bool take_blocks(LayerPlan &plan);
    bool take_successors(LayerPlan &plan, Move &move);
    void add_target(LayerPlan &plan, Block *block, const Move &move, uint32_t first, uint32_t end);
    bool grow_tables(const LayerPlan &plan);
    bool take_arrays();
    void place_calibration(LayerPlan &plan);
    Status fill();
    uint32_t group_of(const LayerPlan &plan, uint32_t sequence) const;
    bool holds_encoded(const LayerPlan &plan, uint32_t sequence) const;
    float *centring_at(uint32_t layer, uint32_t sequence) const;
    void settle_calibration(LayerPlan &plan, const Rebuild &rebuild);
    void settle_group(LayerPlan &plan, const Rebuild &rebuild, uint32_t group);
    void commit();
    void commit_layer(LayerPlan &plan);
    void replace_pages(Track &track);
    size_t pages_split(const Track &track) const;

    Cache::State &s_;
    const Host &host_;
    Failure *failure_;
    Progress progress_;
    LayerPlan **plans_ = nullptr;
    uint32_t n_plans_ = 0, n_taken_ = 0;
    LayerMemory sizes_{};
    uint8_t *scratch_ = nullptr;   // scratch for the new types: the cache's, or a new allocation
    float *calibration_ = nullptr; // new allocation
    bool committed_ = false;
};

Requantize::~Requantize() {
    for (uint32_t i = 0; i < n_taken_; i++) {
        LayerPlan &plan = *plans_[i];
        for (size_t m = 0; m < plan.n_moves && !committed_; m++) {
            Move &move = plan.moves[m];
            if (move.sinks) free_block(host_, plan.next, move.sinks);
            if (move.to && move.to != move.old) free_block(host_, plan.next, move.to);
            move.old->move = nullptr;
        }
        unmake(host_, &plan);
    }
    host_.free(plans_, kPlanBytes * n_plans_, alignof(LayerPlan *));
    if (committed_) return;
    if (scratch_ != s_.scratch) host_.free(scratch_, sizes_.scratch, kPageAlign);
    host_.free(calibration_, sizes_.calibration, kPageAlign);
}

Status Requantize::no_memory() {
    return set_failure(failure_, Status::memory, {},
                       "requantize: no memory for the new pages beside the old ones");
}

// Finds every block once, in the order of sequences and pages, and its slots in use.
bool Requantize::find_moves(LayerPlan &plan) {
    const Layer &old = s_.layers[plan.index];
    size_t n_blocks = 0;
    for (const Form form : kForms) n_blocks += static_cast<size_t>(old.n_blocks[form]);
    if (!plan.moves.take(n_blocks) || !plan.centring.take(s_.config.n_sequences)) return false;
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) plan.centring[i].group = i;
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        Track &track = s_.track(plan.index, i);
        for (size_t p = 0; p < track.n_pages; p++) {
            const PageRef &page = track.pages[p];
            Block &block = *page.block;
            const auto end = static_cast<uint16_t>(page.first + page.n);
            if (!block.move) {
                block.move = &plan.moves[plan.n_moves++];
                *block.move = {&block, nullptr, nullptr, page.first, end,
                               0,      false,   false,   false,      i};
            }
            Move &move = *block.move;
            const uint32_t a = group_of(plan, i), b = group_of(plan, move.sequence);
            plan.centring[a < b ? b : a].group = a < b ? a : b;
            move.first = page.first < move.first ? page.first : move.first;
            move.end = end > move.end ? end : move.end;
            move.used |= slots(page.first, end);
            move.tail |= p + 1 == track.n_pages;
            move.inner |= p + 1 < track.n_pages;
            move.head |= p == 0 && page.first == 0 && track.n_dropped == 0;
        }
    }
    return true;
}

uint32_t Requantize::group_of(const LayerPlan &plan, uint32_t sequence) const {
    while (plan.centring[sequence].group != sequence) sequence = plan.centring[sequence].group;
    return sequence;
}

float *Requantize::centring_at(uint32_t layer, uint32_t sequence) const {
    const size_t tracks = size_t(s_.config.n_sequences) + 1;
    const size_t one = sizes_.calibration_one / sizeof(float);
    return calibration_ + (layer * tracks + 1 + sequence) * one;
}

void Requantize::add_target(LayerPlan &plan, Block *block, const Move &move, uint32_t first,
                            uint32_t end) {
    Piece &piece = plan.pieces[plan.n_targets];
    piece = {move.old, static_cast<uint16_t>(first), static_cast<uint16_t>(end - first),
             static_cast<uint16_t>(first)};
    plan.targets[plan.n_targets++] = {block, &piece, 1, move.used, nullptr, nullptr};
    memcpy(block->positions, move.old->positions, sizeof block->positions);
}

// Allocates the successors of a block. The last page of a sequence stays plain in a layer that
// encodes; pages of sinks stay pages of sinks.
bool Requantize::take_successors(LayerPlan &plan, Move &move) {
    const Layer &old = s_.layers[plan.index];
    const Block &block = *move.old;
    const bool sinks = block.form == kSinks;
    const bool open =
        block.form == kPlain && move.tail && (!move.inner || old.encodes || move.end < kPageTokens);
    const Form form = sinks ? kSinks : plan.next.encodes && !open ? kEncoded : kPlain;
    const bool splits = move.head && plan.next.sinks && !old.sinks && !sinks;
    const uint32_t n_sinks = splits ? s_.n_sinks : 0;
    const BlockShape &before = old.shape[block.form], &after = plan.next.shape[form];
    if (n_sinks == 0 && form == block.form && before.k == after.k && before.v == after.v) {
        move.to = move.old;
        return true;
    }
    if (n_sinks) {
        move.sinks = take_block(host_, plan.next, kSinks);
        if (!move.sinks) return false;
        add_target(plan, move.sinks, move, 0, move.end < n_sinks ? move.end : n_sinks);
    }
    if (move.end <= n_sinks) return true;
    move.to = take_block(host_, plan.next, form);
    if (!move.to) return false;
    add_target(plan, move.to, move, move.first < n_sinks ? n_sinks : move.first, move.end);
    return true;
}

bool Requantize::take_blocks(LayerPlan &plan) {
    if (!plan.targets.take(2 * plan.n_moves) || !plan.pieces.take(2 * plan.n_moves)) return false;
    for (size_t i = 0; i < plan.n_moves; i++)
        if (!take_successors(plan, plan.moves[i])) return false;
    return true;
}

// Returns the number of pages that hold sinks and other tokens: each becomes two.
size_t Requantize::pages_split(const Track &track) const {
    size_t n = 0;
    for (size_t p = 0; p < track.n_pages; p++) {
        const PageRef &page = track.pages[p];
        n += page.block->move->sinks && page.first < s_.n_sinks && page.first + page.n > s_.n_sinks;
    }
    return n;
}

bool Requantize::grow_tables(const LayerPlan &plan) {
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        Track &track = s_.track(plan.index, i);
        if (!grow_table(host_, track, track.n_pages + pages_split(track))) return false;
    }
    return true;
}

Status Requantize::plan(LayerPlan &plan, uint32_t index, uint32_t type_k, uint32_t type_v) {
    const Layer &old = s_.layers[index];
    plan.index = index;
    if (s_.config.v_in_k && type_v == kKeepType) type_v = type_k;
    plan.next = layer_of(s_.config, {type_k == kKeepType ? old.k->facts.id : type_k,
                                     type_v == kKeepType ? old.v->facts.id : type_v,
                                     old.window.tokens, old.window.kind});
    plan.next.append_tokens = old.append_tokens;
    plan.next.window_history = old.window_history;
    plan.same = plan.next.k == old.k && plan.next.v == old.v;
    if (plan.same) return Status::ok;
    const bool ok = find_moves(plan) && take_blocks(plan) && grow_tables(plan);
    return ok ? Status::ok : no_memory();
}

// Allocates working memory and calibrations as for a cache of the new types.
bool Requantize::take_arrays() {
    bool encodes = false, centred = false;
    for (uint32_t l = 0; l < s_.config.n_layers; l++) {
        const Layer *layer = &s_.layers[l];
        for (uint32_t i = 0; i < n_taken_; i++)
            if (plans_[i]->index == l) layer = &plans_[i]->next;
        encodes |= layer->encodes;
        centred |= layer->centre_k || layer->centre_v;
    }
    sizes_ = layer_memory(host_, s_.config, encodes, centred);
    scratch_ = s_.scratch && sizes_.scratch ? s_.scratch : nullptr;
    if (!scratch_ && sizes_.scratch)
        scratch_ = static_cast<uint8_t *>(host_.alloc(sizes_.scratch, kPageAlign));
    if (sizes_.calibration)
        calibration_ = static_cast<float *>(host_.alloc(sizes_.calibration, kPageAlign));
    if (calibration_) memset(calibration_, 0, sizes_.calibration);
    if (calibration_ && s_.calibration) memcpy(calibration_, s_.calibration, sizes_.calibration);
    return (scratch_ || !sizes_.scratch) && (calibration_ || !sizes_.calibration);
}

void Requantize::place_calibration(LayerPlan &plan) {
    const Layer &old = s_.layers[plan.index];
    Layer &next = plan.next;
    const size_t n = sizes_.calibration_one / sizeof(float);
    next.given = old.given;
    if (!next.centre_k && !next.centre_v) return;
    next.calibration = calibration_ + plan.index * (size_t(s_.config.n_sequences) + 1) * n;
    // Streams that were not centered: means 0, equalizers 1, until a page is encoded.
    const size_t n_k = size_t(s_.config.n_kv_heads) * s_.config.head_dim_k;
    const size_t n_v = size_t(s_.config.n_kv_heads) * s_.config.head_dim_v;
    for (uint32_t i = 0; i <= s_.config.n_sequences; i++) {
        const HeadCalibration c = calibration_head(s_.config, next, next.calibration + i * n, 0);
        for (size_t j = 0; !old.centre_k && c.mu_k && j < n_k; j++) c.mu_k[j] = 0, c.eq_k[j] = 1;
        for (size_t j = 0; !old.centre_v && c.mu_v && j < n_v; j++) c.mu_v[j] = 0;
    }
}

bool Requantize::holds_encoded(const LayerPlan &plan, uint32_t sequence) const {
    const Track &track = s_.track(plan.index, sequence);
    for (size_t p = 0; p < track.n_pages; p++) {
        const Block *to = track.pages[p].block->move->to;
        if (to && to->form == kEncoded) return true;
    }
    return false;
}

// Newly centered streams learn from the first page of the group that is encoded now. Without one,
// each sequence learns from the next page that it encodes.
void Requantize::settle_group(LayerPlan &plan, const Rebuild &rebuild, uint32_t group) {
    const Layer &old = s_.layers[plan.index];
    const uint32_t n_sequences = s_.config.n_sequences;
    uint32_t from = group;
    while (from < n_sequences &&
           (group_of(plan, from) != group || !s_.track(plan.index, from).calibrated))
        from++;
    const bool kept = from < n_sequences;
    if (!kept) from = group;
    Layer probe = plan.next;
    probe.centre_k = plan.next.centre_k && !(kept && old.centre_k);
    probe.centre_v = plan.next.centre_v && !(kept && old.centre_v);
    bool known = !probe.centre_k && !probe.centre_v;
    for (size_t i = 0; i < plan.n_targets && !known; i++) {
        const Target &target = plan.targets[i];
        if (target.block->form != kEncoded || target.centring != centring_at(plan.index, group))
            continue;
        rebuild.learn(probe, centring_at(plan.index, from), target);
        known = true;
    }
    for (uint32_t i = group; i < n_sequences; i++) {
        if (group_of(plan, i) != group) continue;
        plan.centring[i].calibrated = known && holds_encoded(plan, i);
        if (i != from)
            memcpy(centring_at(plan.index, i), centring_at(plan.index, from),
                   sizes_.calibration_one);
    }
}

// Sets the calibrations of all targets. During settle_group(), target.centring identifies the
// group.
void Requantize::settle_calibration(LayerPlan &plan, const Rebuild &rebuild) {
    const Layer &next = plan.next;
    for (size_t i = 0; i < plan.n_targets; i++) {
        Target &target = plan.targets[i];
        const Move &move = *target.pieces[0].from->move;
        Track &track = s_.track(plan.index, move.sequence);
        target.centring_from = calibration_of(s_.layers[plan.index], track);
        if (next.calibration)
            target.centring = centring_at(plan.index, group_of(plan, move.sequence));
    }
    if (!next.calibration) return;
    for (uint32_t i = 0; !next.given && i < s_.config.n_sequences; i++)
        if (plan.centring[i].group == i) settle_group(plan, rebuild, i);
    for (size_t i = 0; next.given && i < plan.n_targets; i++) {
        const uint32_t sequence = plan.targets[i].pieces[0].from->move->sequence;
        const bool own = s_.track(plan.index, sequence).calibrated;
        plan.targets[i].centring = own ? centring_at(plan.index, sequence) : next.calibration;
    }
}

Status Requantize::fill() {
    RebuildRun run = {s_, scratch_, sizes_.scratch_one, progress_, 0, 0, "requantize", failure_};
    for (uint32_t i = 0; i < n_taken_; i++)
        run.total += plans_[i]->n_targets * s_.config.n_kv_heads;
    for (uint32_t i = 0; i < n_taken_; i++) {
        LayerPlan &plan = *plans_[i];
        if (plan.same) continue;
        Rebuild rebuild(run, s_.layers[plan.index], plan.next, plan.targets.data(), plan.n_targets);
        settle_calibration(plan, rebuild);
        const Status status = rebuild.fill();
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

Status Requantize::run(uint32_t first, uint32_t end, uint32_t type_k, uint32_t type_v) {
    plans_ =
        static_cast<LayerPlan **>(host_.alloc(kPlanBytes * (end - first), alignof(LayerPlan *)));
    if (!plans_) return no_memory();
    n_plans_ = end - first;
    for (uint32_t i = 0; i < n_plans_; i++) {
        plans_[i] = make<LayerPlan>(host_, host_);
        n_taken_++;
        const Status status = plan(*plans_[i], first + i, type_k, type_v);
        if (status != Status::ok) return status;
    }
    if (!take_arrays()) return no_memory();
    for (uint32_t i = 0; i < n_plans_; i++)
        if (!plans_[i]->same) place_calibration(*plans_[i]);
    const Status status = fill();
    if (status == Status::ok) commit();
    return status;
}

// Goes backwards: the table has room for one page more per page that is split.
void Requantize::replace_pages(Track &track) {
    const size_t more = pages_split(track);
    size_t at = track.n_pages + more;
    for (size_t p = track.n_pages; p-- > 0;) {
        const PageRef page = track.pages[p];
        const Move &move = *page.block->move;
        const uint32_t end = uint32_t(page.first) + page.n;
        uint32_t border = move.sinks ? s_.n_sinks : page.first;
        border = border < page.first ? page.first : border > end ? end : border;
        if (border < end) {
            track.pages[--at] = {move.to,
                                 static_cast<uint16_t>(border),
                                 static_cast<uint16_t>(end - border),
                                 page.delta,
                                 0,
                                 nullptr};
            move.to->n_owners++;
        }
        if (border > page.first) {
            track.pages[--at] = {move.sinks, page.first, static_cast<uint16_t>(border - page.first),
                                 page.delta, 0,          nullptr};
            move.sinks->n_owners++; // NOLINT(clang-analyzer-core.NullDereference): see border
        }
    }
    track.n_pages += more;
    number_pages(track);
}

void Requantize::commit_layer(LayerPlan &plan) {
    Layer &layer = s_.layers[plan.index];
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        settle_track(s_, layer, s_.track(plan.index, i));
        end_rollback_point(s_, layer, s_.track(plan.index, i), true);
    }
    for (size_t i = 0; i < plan.n_moves; i++)
        if (plan.moves[i].to) plan.moves[i].to->n_owners = 0;
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        Track &track = s_.track(plan.index, i);
        for (const Form form : kForms) drop_spares(host_, layer, track, form, 0);
        track.reserved = false;
        replace_pages(track);
        track.calibrated = plan.centring[i].calibrated ||
                           (plan.next.given && plan.next.calibration && track.calibrated);
        track.learned_end = track.n_dropped ? 0 : UINT64_MAX;
    }
    for (size_t i = 0; i < plan.n_moves; i++) {
        Move &move = plan.moves[i];
        move.old->move = nullptr;
        if (move.to == move.old)
            plan.next.n_blocks[move.old->form]++;
        else
            free_block(host_, layer, move.old);
    }
    layer = plan.next;
}

void Requantize::commit() {
    for (uint32_t i = 0; i < n_taken_; i++)
        if (!plans_[i]->same) commit_layer(*plans_[i]);
    if (s_.scratch != scratch_)
        host_.free(s_.scratch, s_.scratch_bytes * host_.max_workers(), kPageAlign);
    s_.scratch = scratch_;
    s_.scratch_bytes = sizes_.scratch_one;
    host_.free(s_.calibration, s_.n_calibration * sizeof(float), kPageAlign);
    s_.n_calibration = sizes_.calibration / sizeof(float);
    s_.place_calibration(calibration_, sizes_.calibration_one / sizeof(float));
    committed_ = true;
}

} // namespace

Status Cache::requantize(uint32_t layer, uint32_t type_k, uint32_t type_v, const Progress &progress,
                         Failure *failure) {
    State &s = *state_;
    const bool all = layer == kAllLayers;
    Status status = all ? Status::ok : check_layer(s.config, layer, failure);
    if (status == Status::ok) status = check_rebuild(s.config, "requantize", failure);
    if (status != Status::ok) return status;
    if (type_k == 0) type_k = id::F16;
    if (type_v == 0) type_v = s.config.v_in_k ? type_k : id::F16;
    Requantize work(s, progress, failure);
    status = work.run(all ? 0 : layer, all ? s.config.n_layers : layer + 1, type_k, type_v);
    if (status != Status::ok || !all) return status;
    if (type_k != kKeepType) s.config.type_k = type_k;
    if (type_v != kKeepType) s.config.type_v = type_v;
    if (s.config.v_in_k) s.config.type_v = s.config.type_k;
    return status;
}

} // namespace ggufx::kv
