// Passes over the whole vocabulary are few and simple, so that compilers vectorize them. The
// largest logit of every 64 ids lets rank() and filters skip most of it.
// SPDX-License-Identifier: MIT
#include "sampling/candidates.hpp"

#include "base/bytes.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::sampling {

namespace {

constexpr float kInfinity = __builtin_inff();

// Maps floats to bits in descending order; -0 is 0.
uint32_t descending(float x) {
    const uint32_t bits = f32_bits(x + 0.0f);
    return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}

} // namespace

float largest_of(const kernels::RowKernels &rows, const float *logits, size_t n) {
    constexpr size_t part = 64; // blocks per part, on the stack
    float maxima[part], most = kGone;
    for (size_t i = 0; i < n; i += part * kLanes) {
        const size_t m = std::min(part * kLanes, n - i);
        rows.maxima(maxima, logits + i, m);
        for (size_t block = 0; block * kLanes < m; block++) {
            if (!(maxima[block] < kInfinity)) return kInfinity; // also for NaN
            most = std::max(most, maxima[block]);
        }
    }
    return most;
}

double sum_of_weights(const kernels::RowKernels &rows, const float *logits, size_t n, float top) {
    constexpr size_t part = 16 * kLanes; // on the stack
    float weights[part];
    double lanes[kLanes] = {};
    for (size_t i = 0; i < n; i += part) {
        const size_t m = std::min(part, n - i);
        rows.exp_from(weights, logits + i, top, m);
        size_t j = 0;
        for (; j + kLanes <= m; j += kLanes)
            for (size_t k = 0; k < kLanes; k++) lanes[k] += static_cast<double>(weights[j + k]);
        for (size_t k = 0; j + k < m; k++) lanes[k] += static_cast<double>(weights[j + k]);
    }
    for (size_t half = kLanes / 2; half != 0; half /= 2)
        for (size_t j = 0; j < half; j++) lanes[j] += lanes[j + half];
    return lanes[0];
}

Status bad_logit(const float *logits, Failure *failure) {
    size_t i = 0;
    while (logits[i] < kInfinity) i++;
    return set_failure(failure, Status::value, {kNone, i}, "logit %" PRIu64 " is NaN or +infinity",
                       static_cast<uint64_t>(i));
}

Candidates::Candidates(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows)
    : rows_(rows), n_vocab_(n_vocab), values_(n_vocab, HostAllocator<float>(host.get())),
      maxima_((n_vocab + kLanes - 1) / kLanes, HostAllocator<float>(host.get())),
      weights_(n_vocab, HostAllocator<float>(host.get())),
      keys_(n_vocab, HostAllocator<float>(host.get())),
      items_(n_vocab, HostAllocator<Candidate>(host.get())),
      spare_(n_vocab, HostAllocator<Candidate>(host.get())) {}

Status Candidates::load(const float *logits, size_t n, const Allowed &allowed, Failure *failure) {
    n_ = n;
    is_list_ = false;
    memcpy(values_.data(), logits, n * sizeof *logits);
    rows_.maxima(maxima_.data(), values_.data(), n);
    for (size_t block = 0; block * kLanes < n; block++)
        if (!(maxima_[block] < kInfinity)) return bad_logit(logits, failure);
    if (allowed.bits) {
        for (size_t i = 0; i < n; i++)
            if (!allowed.holds(i)) values_[i] = kGone;
        changed();
    }
    if (largest() != kGone) return Status::ok;
    return set_failure(failure, Status::value, {}, "no logit%s is finite",
                       allowed.bits ? " of a token that fits the grammar" : "");
}

size_t Candidates::n_left() const {
    if (is_list_) return count_;
    size_t left = 0;
    for (size_t i = 0; i < n_; i++) left += values_[i] != kGone;
    return left;
}

float Candidates::largest() const {
    if (is_list_) return count_ ? items_[0].logit : kGone;
    float most = kGone;
    for (size_t block = 0; block * kLanes < n_; block++) most = std::max(most, maxima_[block]);
    return most;
}

double Candidates::weigh() {
    const float top = largest();
    if (!is_list_) {
        rows_.exp_from(weights_.data(), values_.data(), top, n_);
    } else {
        for (size_t i = 0; i < count_; i++) keys_[i] = items_[i].logit;
        rows_.exp_from(weights_.data(), keys_.data(), top, count_);
    }
    return sum([](float, float w) { return static_cast<double>(w); });
}

void Candidates::find_maximum(size_t block) {
    const size_t i = block * kLanes;
    rows_.maxima(&maxima_[block], &values_[i], std::min(kLanes, n_ - i));
}

void Candidates::set(size_t id, float value) {
    float &most = maxima_[id / kLanes];
    const float old = values_[id];
    values_[id] = value;
    if (value >= most)
        most = value;
    else if (!(old < most))
        find_maximum(id / kLanes);
}

// Updates the order or the maxima after changes of any logits.
void Candidates::changed() {
    if (is_list_) {
        if (!std::is_sorted(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(count_)))
            std::sort(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(count_));
        while (count_ && items_[count_ - 1].logit == kGone) count_--;
        return;
    }
    rows_.maxima(maxima_.data(), values_.data(), n_);
}

// Radix sort in three passes of 11 bits; equal keys keep their order, which is that of ids.
void Candidates::radix_sort(Candidate *items, Candidate *room, size_t n) {
    constexpr unsigned bits = 11;
    constexpr size_t n_digits = size_t{1} << bits;
    for (unsigned shift = 0; shift < 32; shift += bits) {
        uint32_t starts[n_digits] = {};
        for (size_t i = 0; i < n; i++)
            starts[descending(items[i].logit) >> shift & (n_digits - 1)]++;
        uint32_t sum = 0;
        for (uint32_t &start : starts) {
            const uint32_t count = start;
            start = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            room[starts[descending(items[i].logit) >> shift & (n_digits - 1)]++] = items[i];
        std::swap(items, room);
    }
    // After an odd number of passes the sorted items are in the other array.
}

// Sorts the items_ of gather(): by id if they come from the vocabulary, by rank if from a list.
void Candidates::sort_kept() {
    if (!is_list_) {
        if (count_ > 2048) {
            radix_sort(items_.data(), spare_.data(), count_);
            items_.swap(spare_);
        } else {
            std::sort(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(count_));
        }
    }
    is_list_ = true;
}

size_t Candidates::rank_few(const float *keys, size_t most) {
    const bool skips = keys == values_.data(); // maxima are those of values_
    const auto begin = spare_.begin();
    const auto nth = begin + static_cast<ptrdiff_t>(most - 1);
    size_t held = 0;
    float least = kGone; // a key must be above it: ids ascend, so equal keys rank later
    for (size_t first = 0; first < n(); first += kLanes) {
        if (skips && !(maxima_[first / kLanes] > least)) continue;
        const size_t end = std::min(first + kLanes, n());
        for (size_t i = first; i < end; i++) {
            if (!(keys[i] > least)) continue;
            spare_[held++] = {id(i), keys[i]};
            if (held < 2 * most) continue;
            std::nth_element(begin, nth, begin + static_cast<ptrdiff_t>(held));
            held = most;
            least = nth->logit;
        }
    }
    std::sort(begin, begin + static_cast<ptrdiff_t>(held));
    return std::min(held, most);
}

size_t Candidates::rank_all(const float *keys) {
    size_t held = 0;
    for (size_t i = 0; i < n(); i++)
        if (keys[i] != kGone) spare_[held++] = {id(i), keys[i]};
    if (is_list_ || held <= 2048) {
        std::sort(spare_.begin(), spare_.begin() + static_cast<ptrdiff_t>(held));
    } else {
        // items_ was not in use: there is no list.
        radix_sort(spare_.data(), items_.data(), held);
        items_.swap(spare_);
    }
    return held;
}

size_t Candidates::rank(const float *keys, size_t most) {
    if (!keys && is_list_) { // already ranked
        const size_t n = std::min(most, count_);
        std::copy_n(items_.begin(), n, spare_.begin());
        return n;
    }
    if (!keys) keys = values_.data();
    if (is_list_) // moves the logits to the ids that logit_of() reads
        for (size_t i = 0; i < count_; i++)
            values_[static_cast<size_t>(items_[i].id)] = items_[i].logit;
    if (!is_list_ && most < n_ / 8) return rank_few(keys, most);
    return std::min(rank_all(keys), most);
}

void Candidates::keep_ranked(size_t n) {
    std::copy_n(spare_.begin(), n, items_.begin());
    count_ = n;
    is_list_ = true;
}

void Candidates::keep_ranked_of_keys(size_t n) {
    for (size_t i = 0; i < n; i++)
        items_[i] = {spare_[i].id, values_[static_cast<size_t>(spare_[i].id)]};
    count_ = n;
    is_list_ = true;
    std::sort(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(n));
}

void Candidates::keep_likeliest() {
    if (!is_list_) {
        const float most = largest();
        size_t block = 0;
        while (maxima_[block] != most) block++;
        size_t i = block * kLanes;
        while (values_[i] != most) i++;
        items_[0] = {static_cast<int32_t>(i), most};
    }
    count_ = 1;
    is_list_ = true;
}

void Candidates::drop_ranked(size_t n) {
    if (is_list_) {
        std::copy(items_.begin() + static_cast<ptrdiff_t>(n),
                  items_.begin() + static_cast<ptrdiff_t>(count_), items_.begin());
        count_ -= n;
        return;
    }
    for (size_t i = 0; i < n; i++) set(static_cast<size_t>(spare_[i].id), kGone);
}

Candidate *Candidates::lend(size_t *n) {
    *n = 0;
    if (is_list_) {
        *n = count_;
    } else {
        for (size_t i = 0; i < n_; i++)
            if (values_[i] != kGone) items_[(*n)++] = {static_cast<int32_t>(i), values_[i]};
    }
    std::fill_n(keys_.begin(), n_, 0.0f); // these keys are lent
    for (size_t i = 0; i < *n; i++) keys_[static_cast<size_t>(items_[i].id)] = 1.0f;
    return items_.data();
}

Status Candidates::take_back(size_t n, Failure *failure) {
    for (size_t i = 0; i < n; i++) {
        const Candidate &c = items_[i];
        const auto id = static_cast<size_t>(c.id);
        if (c.id < 0 || id >= n_ || keys_[id] != 1.0f)
            return set_failure(failure, Status::value, {kNone, i},
                               "a sampler of the host left id %" PRId32 " at index %" PRIu64
                               ": it was not there before, or is there twice",
                               c.id, static_cast<uint64_t>(i));
        if (!(c.logit < kInfinity))
            return set_failure(
                failure, Status::value, {kNone, i},
                "a sampler of the host left the logit of id %" PRId32 " NaN or +infinity", c.id);
        keys_[id] = 0.0f;
    }
    if (!is_list_)
        for (size_t i = 0; i < n; i++) values_[static_cast<size_t>(items_[i].id)] = items_[i].logit;
    changed();
    return Status::ok;
}

// Draws from the vocabulary: first the lane whose running sum exceeds uniform * total, then the id
// in it. Draws from a list by rank. If rounding leaves the sum below the target, the last one with
// a weight is drawn.
size_t Candidates::draw(double uniform, double total) const {
    const double wanted = uniform * total;
    double reached = 0.0;
    size_t last = 0;
    if (is_list_) {
        for (size_t i = 0; i < count_; i++) {
            if (!(weights_[i] > 0.0f)) continue;
            last = i;
            reached += static_cast<double>(weights_[i]);
            if (reached > wanted) break;
        }
        return last;
    }
    size_t lane = 0;
    double before = 0.0;
    for (size_t j = 0; j < kLanes; j++) {
        if (!(lanes_[j] > 0.0)) continue;
        lane = j;
        before = reached;
        reached += lanes_[j];
        if (reached > wanted) break;
    }
    const double rest = wanted - before;
    reached = 0.0;
    for (size_t i = lane; i < n_; i += kLanes) {
        if (!(weights_[i] > 0.0f)) continue;
        last = i;
        reached += static_cast<double>(weights_[i]);
        if (reached > rest) break;
    }
    return last;
}

} // namespace ggufx::sampling
