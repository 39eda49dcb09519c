// Positions of a grammar and their transitions, see machine.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/pushdown.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::grammar {

namespace {

// Position between members: before the first one, after one, after a comma.
enum : uint32_t { kBare, kBehind, kNext, kPlaceBits = 2 };

} // namespace

PushdownAutomaton::PushdownAutomaton(const Host *host, const GrammarProgram &program)
    : program_(program), n_classes_(program.n_classes), frames_(HostAllocator<Frame>(host)),
      positions_(HostAllocator<Set>(host)), items_(HostAllocator<Stack>(host)),
      steps_(HostAllocator<uint32_t>(host)), frame_table_(host), position_table_(host),
      known_(HostAllocator<uint32_t>(host)),
      known_index_(HostAllocator<std::pair<const Vector<uint32_t>, uint32_t>>(host)),
      words_(HostAllocator<uint32_t>(host)), seen_(HostAllocator<uint32_t>(host)),
      todo_(HostAllocator<Stack>(host)), found_(HostAllocator<Stack>(host)),
      path_(HostAllocator<Stack>(host)) {
    frames_.push_back({kFail, 0, kEnd, 0});
    frames_.push_back({kFail, 0, kEnd, 0});
    seen_.assign(2, 0);
    intern(); // kNowhere
}

// ---- numbers ----

uint64_t PushdownAutomaton::hash_set(const Stack *stacks, size_t n) const {
    uint64_t h = n + 7;
    for (size_t i = 0; i < n; i++) h = mix(h, stacks[i]);
    return h;
}

// Grows a table for n numbers; at least half of the slots stay free.
void PushdownAutomaton::grow(Table &table, size_t n, bool of_frames) {
    if (2 * n < table.slots.size()) return;
    Vector<uint32_t> slots(table.slots.empty() ? 256 : 2 * table.slots.size(), kUnknown,
                           table.slots.get_allocator());
    while (2 * n >= slots.size()) slots.resize(2 * slots.size(), kUnknown);
    const size_t mask = slots.size() - 1;
    const size_t n_known = of_frames ? frames_.size() : positions_.size();
    for (size_t i = of_frames ? 2 : 0; i < n_known; i++) {
        const uint64_t h = of_frames
                               ? hash_frame(frames_[i].code, frames_[i].count, frames_[i].below)
                               : hash_set(items_.data() + positions_[i].first, positions_[i].n);
        size_t at = h & mask;
        while (slots[at] != kUnknown) at = (at + 1) & mask;
        slots[at] = static_cast<uint32_t>(i);
    }
    table.slots.swap(slots);
}

Stack PushdownAutomaton::push(uint32_t code, uint32_t count, Stack below) {
    grow(frame_table_, frames_.size() + 1, true);
    const size_t mask = frame_table_.slots.size() - 1;
    size_t at = hash_frame(code, count, below) & mask;
    for (; frame_table_.slots[at] != kUnknown; at = (at + 1) & mask) {
        const Frame &f = frames_[frame_table_.slots[at]];
        if (f.code == code && f.count == count && f.below == below) return frame_table_.slots[at];
    }
    const uint32_t depth = frames_[below].depth + 1;
    if (depth > kMostFrames || frames_.size() >= kUnknown - 1) {
        fail(Status::limit, {.limit = kMostFrames},
             "the text is nested deeper in the grammar than %" PRIu32, kMostFrames);
    }
    if (seen_.size() <= frames_.size()) seen_.push_back(0);
    frames_.push_back({code, count, below, depth});
    return frame_table_.slots[at] = static_cast<uint32_t>(frames_.size() - 1);
}

Position PushdownAutomaton::intern() {
    std::sort(found_.begin(), found_.end());
    grow(position_table_, positions_.size() + 1, false);
    const size_t mask = position_table_.slots.size() - 1;
    size_t at = hash_set(found_.data(), found_.size()) & mask;
    for (; position_table_.slots[at] != kUnknown; at = (at + 1) & mask) {
        const Set set = positions_[position_table_.slots[at]];
        if (set.n == found_.size() &&
            std::equal(found_.begin(), found_.end(), items_.begin() + set.first))
            return position_table_.slots[at];
    }
    if (items_.size() + found_.size() > INT32_MAX) throw std::bad_alloc();
    const auto first = static_cast<uint32_t>(items_.size());
    const size_t n_steps = steps_.size();
    try {
        items_.insert(items_.end(), found_.begin(), found_.end());
        steps_.resize(n_steps + n_classes_, kUnknown);
        positions_.push_back({first, static_cast<uint32_t>(found_.size())});
    } catch (...) {
        items_.resize(first);
        steps_.resize(n_steps);
        throw;
    }
    return position_table_.slots[at] = static_cast<uint32_t>(positions_.size() - 1);
}

// ---- steps ----

void PushdownAutomaton::begin_work() {
    credit_ = std::min(kMostCredit, credit_ - std::min(credit_, work_) + kCreditOfCall);
    most_ = std::min(kMostWork, credit_);
    work_ = 0;
}

void PushdownAutomaton::count_work() {
    if (++work_ <= most_) return;
    if (most_ == kMostWork) {
        fail(Status::limit, {.limit = kMostWork},
             "the grammar is too ambiguous: more than %" PRIu64 " steps for a token", kMostWork);
    }
    fail(Status::limit, {.limit = kMostCredit},
         "the grammar is too ambiguous: more than %" PRIu64 " steps and %" PRIu64
         " for each call of a text",
         kMostCredit, kCreditOfCall);
}

// Follows a stack's top through instructions that take no byte (epsilon closure).
void PushdownAutomaton::settle_one(Stack stack) {
    const Frame frame = frames_[stack];
    const Instruction in = program_.code[frame.code];
    switch (in.op) {
    case Op::fail:
        return;
    case Op::ret:
        return visit(frame.below);
    case Op::edges:
        if (found_.size() >= kMostStacks) {
            fail(Status::limit, {.limit = kMostStacks},
                 "the grammar is too ambiguous: more than %" PRIu32 " stacks", kMostStacks);
        }
        return found_.push_back(stack);
    case Op::fork:
        for (uint32_t i = 0; i < in.b; i++) visit(push(program_.targets[in.a + i], 0, frame.below));
        return;
    case Op::call: { // a tail call needs no frame
        const bool last = program_.code[in.b].op == Op::ret;
        return visit(push(in.a, 0, last ? frame.below : push(in.b, 0, frame.below)));
    }
    case Op::count: {
        const Repetition &r = program_.repetitions[in.a];
        if (frame.count >= r.min) visit(push(in.b, 0, frame.below));
        if (frame.count >= r.max) return;
        const uint32_t more = r.max == kMany ? std::min(frame.count + 1, r.min) : frame.count + 1;
        return visit(push(r.body, 0, push(frame.code, more, frame.below)));
    }
    case Op::pick:
        return settle_members(frame, in);
    }
}

// Returns the number of a set of known members; 0: none has appeared.
uint32_t PushdownAutomaton::intern_known(const Vector<uint32_t> &words) {
    const auto found = known_index_.find(words);
    if (found != known_index_.end()) return found->second;
    const auto number = static_cast<uint32_t>(known_.size() + 1);
    if (known_.size() + words.size() >= INT32_MAX) throw std::bad_alloc();
    known_.insert(known_.end(), words.begin(), words.end());
    try {
        known_index_.emplace(words, number);
    } catch (...) {
        known_.resize(number - 1);
        throw;
    }
    return number;
}

void PushdownAutomaton::read_known(Vector<uint32_t> &out, const Frame &frame) const {
    const uint32_t pick = program_.code[frame.code].a, n = program_.picks[pick].n_words();
    out.assign(n, 0);
    out[0] = pick;
    if (frame.count > 0) std::copy_n(known_.begin() + (frame.count - 1), n, out.begin());
}

// After a member comes the end or a comma, then another allowed member. Steps after which the
// required members no longer fit are not taken.
void PushdownAutomaton::settle_members(const Frame &frame, const Instruction &in) {
    const Pick &pick = program_.picks[in.a];
    read_known(words_, frame);
    const uint32_t count = words_[1] >> kPlaceBits, position = words_[1] & ((1u << kPlaceBits) - 1);
    const auto has = [&](uint32_t i) { return (words_[2 + i / 32] >> i % 32 & 1) != 0; };
    uint32_t n_missing = 0, n_free = 0; // required members, and those that appear at most once
    for (uint32_t i = 0; i < pick.n_once; i++) {
        n_missing += i < pick.n_required && !has(i);
        n_free += !has(i);
    }
    work_ += pick.n / 8;
    count_work();
    if (position != kNext && n_missing == 0 && count >= pick.min) visit(push(in.b, 0, frame.below));
    const uint32_t room = pick.max == kMany ? kMany : pick.max - count;
    if (room == 0 || (n_free == 0 && !pick.has_often())) return;
    if (position == kBehind) {
        words_[1] = count << kPlaceBits | kNext;
        return visit(push(pick.between, 0, push(frame.code, intern_known(words_), frame.below)));
    }
    const uint32_t most = pick.max != kMany ? pick.max : pick.counts() ? pick.min : 1;
    words_[1] = std::min(count + 1, most) << kPlaceBits | kBehind;
    for (uint32_t i = 0; i < pick.n; i++) {
        const bool once = i < pick.n_once;
        if ((once && has(i)) || (i >= pick.n_required && n_missing >= room)) continue;
        if (once) words_[2 + i / 32] |= 1u << i % 32;
        const uint32_t known = intern_known(words_);
        if (once) words_[2 + i / 32] &= ~(1u << i % 32);
        visit(push(program_.targets[pick.first + i], 0, push(frame.code, known, frame.below)));
    }
}

void PushdownAutomaton::settle() {
    while (!todo_.empty()) {
        const Stack stack = todo_.back();
        todo_.pop_back();
        if (seen_[stack] == round_) continue;
        count_work();
        seen_[stack] = round_;
        if (stack <= kBeyond)
            found_.push_back(stack);
        else
            settle_one(stack);
    }
}

Position PushdownAutomaton::find_step(Position position, uint8_t byte) {
    if (++round_ == 0) std::fill(seen_.begin(), seen_.end(), round_++);
    found_.clear();
    todo_.clear();
    const Set set = positions_[position];
    for (uint32_t i = 0; i < set.n; i++) {
        const Stack stack = items_[set.first + i];
        if (stack <= kBeyond) continue;
        const Frame frame = frames_[stack];
        const Instruction in = program_.code[frame.code];
        for (uint32_t k = 0; k < in.b; k++) {
            const Edge &edge = program_.edges[in.a + k];
            if (byte >= edge.first && byte <= edge.last) visit(push(edge.next, 0, frame.below));
        }
        work_ += in.b / 16;
        count_work();
    }
    settle();
    const Position next = intern();
    steps_[size_t{position} * n_classes_ + program_.classes[byte]] = next;
    return next;
}

Position PushdownAutomaton::start() {
    if (++round_ == 0) std::fill(seen_.begin(), seen_.end(), round_++);
    found_.clear();
    todo_.clear();
    visit(push(program_.root, 0, kEnd));
    settle();
    return intern();
}

Position PushdownAutomaton::resume(Stack stack) {
    if (++round_ == 0) std::fill(seen_.begin(), seen_.end(), round_++);
    found_.clear();
    todo_.clear();
    visit(stack);
    settle();
    return intern();
}

// ---- parts of stacks ----

bool PushdownAutomaton::find_common(Stack *out, Position position) const {
    Stack base = kEnd;
    bool first = true;
    uint32_t n_looks = 0;
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        Stack other = stacks(position)[i];
        if (other <= kBeyond) continue;
        other = frames_[other].below;
        if (first) base = other;
        first = false;
        while (base != other) {
            if (++n_looks > kMostLooks) return false;
            if (depth(base) >= depth(other))
                base = below(base);
            else
                other = below(other);
        }
    }
    *out = base;
    return true;
}

uint32_t PushdownAutomaton::clamp(const Frame &frame, uint32_t n_bytes) const {
    const Instruction in = program_.code[frame.code];
    if (in.op != Op::count) return frame.count;
    const Repetition &r = program_.repetitions[in.a];
    const uint64_t left = r.max == kMany ? kMany : r.max - frame.count;
    if (left <= n_bytes) return frame.count;
    // Each repetition takes at least one byte, so n_bytes bytes reach neither limit.
    if (frame.count >= r.min) return r.min;
    return r.min - frame.count > n_bytes ? 0 : frame.count;
}

Stack PushdownAutomaton::cut_stack(Stack stack, Stack base, uint32_t n_bytes) {
    path_.clear();
    for (; stack != base; stack = below(stack)) path_.push_back(stack);
    Stack made = kBeyond;
    for (size_t k = path_.size(); k-- > 0;) {
        const Frame frame = frames_[path_[k]];
        made = push(frame.code, clamp(frame, n_bytes), made);
    }
    return made;
}

Position PushdownAutomaton::intern_some() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return intern();
}

Position PushdownAutomaton::cut(Position position, Stack base, uint32_t n_bytes) {
    found_.clear();
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        const Stack stack = stacks(position)[i];
        if (stack > kBeyond) found_.push_back(cut_stack(stack, base, n_bytes));
    }
    return intern_some();
}

bool PushdownAutomaton::find_bases(Vector<Stack> &out, Position position) const {
    out.clear();
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        const Stack base = below(stacks(position)[i]);
        const auto at = std::lower_bound(out.begin(), out.end(), base);
        if (at != out.end() && *at == base) continue;
        if (out.size() == kMostParts) return false;
        out.insert(at, base);
    }
    return true;
}

Position PushdownAutomaton::part(Position position, Stack base, Stack cut_at, uint32_t n_bytes) {
    found_.clear();
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        const Stack stack = stacks(position)[i];
        if (below(stack) == base) found_.push_back(cut_stack(stack, cut_at, n_bytes));
    }
    return intern_some();
}

// Returns how many more characters of a run a frame accepts, once one character has returned to it.
uint32_t PushdownAutomaton::run_behind(const Frame &frame, unsigned shift) const {
    if (program_.runs[frame.code] >> shift & kAnyRun) return kNoEnd;
    const Instruction in = program_.code[frame.code];
    if (in.op != Op::count) return 0;
    const Repetition &r = program_.repetitions[in.a];
    const bool counts = r.max != kMany && program_.runs[r.body] >> shift & kOneLetter;
    return counts ? r.max - frame.count : 0;
}

uint32_t PushdownAutomaton::run(Position position, Alphabet alphabet) const {
    const unsigned shift = kRunBits * alphabet;
    uint32_t most = 0;
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        const Frame &frame = frames_[stacks(position)[i]];
        const unsigned bits = program_.runs[frame.code] >> shift;
        if (bits & kAnyRun) return kNoEnd;
        if (!(bits & kOneLetter)) continue;
        const uint32_t more = run_behind(frames_[frame.below], shift);
        if (more == kNoEnd) return kNoEnd;
        most = std::max(most, more + 1);
    }
    return most;
}

bool PushdownAutomaton::ends_run(Position position, Alphabet alphabet, uint32_t n) {
    struct At {
        Position position;
        unsigned state;
        uint32_t length; // characters before it
        bool operator==(const At &) const = default;
    };
    constexpr unsigned kMost = 16 * kUtf8States; // a few for each character
    At met[kMost] = {{position, kBetween, 0}};
    unsigned n_met = 1;
    for (unsigned i = 0; i < n_met; i++) {
        const At at = met[i];
        At before = at;
        if (has_beyond(at.position)) return false;
        for (const Utf8Range &r : letter_bytes(alphabet, at.state)) {
            for (unsigned byte = r.first; byte <= r.last; byte++) {
                const At next = {step(at.position, static_cast<uint8_t>(byte)), r.next,
                                 at.length + (r.next == kBetween)};
                if (next.position == kNowhere || next == before) continue;
                before = next;
                if (at.length == n) return false; // another character begins
                if (std::find(met, met + n_met, next) != met + n_met) continue;
                if (n_met == kMost) return false;
                met[n_met++] = next;
            }
        }
    }
    return true;
}

void PushdownAutomaton::describe(Vector<uint32_t> &out, Position position) const {
    struct Part {
        uint32_t first, n;
    };
    Vector<uint32_t> texts{frames_.get_allocator()}, known(texts);
    Vector<Part> parts{frames_.get_allocator()};
    for (uint32_t i = 0; i < n_stacks(position); i++) {
        const auto first = static_cast<uint32_t>(texts.size());
        for (Stack s = stacks(position)[i]; s > kBeyond; s = below(s)) {
            texts.push_back(frames_[s].code);
            if (program_.code[frames_[s].code].op == Op::pick) {
                read_known(known, frames_[s]);
                texts.insert(texts.end(), known.begin(), known.end());
            } else {
                texts.push_back(frames_[s].count);
            }
        }
        parts.push_back({first, static_cast<uint32_t>(texts.size()) - first});
    }
    std::sort(parts.begin(), parts.end(), [&](Part a, Part b) {
        const auto text = texts.begin();
        return std::lexicographical_compare(text + a.first, text + a.first + a.n, text + b.first,
                                            text + b.first + b.n);
    });
    out.clear();
    for (const Part part : parts) {
        out.push_back(part.n);
        out.insert(out.end(), texts.begin() + part.first, texts.begin() + part.first + part.n);
    }
}

// ---- memory ----

size_t PushdownAutomaton::bytes() const {
    return frames_.size() * (sizeof(Frame) + 12) + steps_.size() * 4 + items_.size() * 4 +
           known_.size() * 8 + known_index_.size() * 64;
}

void PushdownAutomaton::copy(const PushdownAutomaton &other, Vector<Position> &kept) {
    credit_ = other.credit_;
    // Frames follow those below them: one pass marks, one copies.
    Vector<uint32_t> number(other.frames_.size(), 0, frames_.get_allocator());
    for (const Position position : kept)
        for (uint32_t i = 0; i < other.n_stacks(position); i++)
            number[other.stacks(position)[i]] = 1;
    for (size_t i = other.frames_.size(); i-- > 2;)
        if (number[i]) number[other.frames_[i].below] = 1;
    number[kEnd] = kEnd;
    number[kBeyond] = kBeyond;
    for (size_t i = 2; i < other.frames_.size(); i++) {
        const Frame &frame = other.frames_[i];
        uint32_t count = frame.count;
        if (number[i] && count > 0 && program_.code[frame.code].op == Op::pick) {
            other.read_known(words_, frame);
            count = intern_known(words_);
        }
        if (number[i]) number[i] = push(frame.code, count, number[frame.below]);
    }
    for (Position &position : kept) {
        found_.clear();
        for (uint32_t i = 0; i < other.n_stacks(position); i++)
            found_.push_back(number[other.stacks(position)[i]]);
        position = intern();
    }
}

void PushdownAutomaton::keep(Vector<Position> &kept) {
    PushdownAutomaton fresh(frames_.get_allocator().host(), program_);
    Vector<Position> positions(kept);
    fresh.copy(*this, positions);
    frames_.swap(fresh.frames_);
    positions_.swap(fresh.positions_);
    items_.swap(fresh.items_);
    steps_.swap(fresh.steps_);
    known_.swap(fresh.known_);
    known_index_.swap(fresh.known_index_);
    frame_table_.slots.swap(fresh.frame_table_.slots);
    position_table_.slots.swap(fresh.position_table_.slots);
    seen_.swap(fresh.seen_);
    round_ = fresh.round_;
    kept.swap(positions);
}

} // namespace ggufx::grammar
