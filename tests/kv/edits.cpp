// Tokens removed from the middle of a sequence and shifted, including tokens that a window has
// dropped. Attention over the remaining tokens equals that of binary64 over a list of all tokens.
// Otherwise the edit is refused and changes nothing. Uses internals, because the public calls take
// the dropped tokens only as a whole.
// SPDX-License-Identifier: MIT
#include "../checkasm/check.hpp"
#include "base/cpu.hpp"
#include "kernels/dispatch.hpp"
#include "kv/cache.hpp"

#include <math.h>

#include <algorithm>
#include <vector>

using namespace ggufx;

namespace {

constexpr uint32_t kDim = 16, kSteps = 400, kMost = 40;
constexpr kv::LayerConfig kLayers[] = {{0, 0, 0, kv::WindowKind::sliding},
                                       {0, 0, 20, kv::WindowKind::sliding},
                                       {0, 0, 150, kv::WindowKind::sliding},
                                       {0, 0, 48, kv::WindowKind::chunked}};
constexpr double kTolerance = 2e-6; // for sums of values below 1 in binary32

struct Random {
    uint64_t state;
    uint64_t below(uint64_t limit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % limit;
    }
    float value() { return static_cast<float>(below(2001)) / 1000.0f - 1.0f; }
};

struct Token {
    int32_t position, given; // current position; position at the append
    float k[kDim], v[kDim];
};

bool sees(const kv::LayerConfig &layer, int32_t query, int32_t key) {
    if (key > query) return false;
    if (layer.window == 0) return true;
    const auto w = static_cast<int32_t>(layer.window);
    return layer.window_kind == kv::WindowKind::chunked ? key >= query - query % w
                                                        : key > query - w;
}

// Rotates pairs by the angles of RoPE with base 10000.
double score(const float *q, const Token &token) {
    double sum = 0;
    for (uint32_t i = 0; i < kDim; i += 2) {
        const double angle = double(token.position - token.given) * pow(10000.0, -double(i) / kDim);
        const double x = double(token.k[i]), y = double(token.k[i + 1]);
        sum += double(q[i]) * (x * cos(angle) - y * sin(angle)) +
               double(q[i + 1]) * (x * sin(angle) + y * cos(angle));
    }
    return sum / sqrt(double(kDim));
}

class World {
public:
    World(uint32_t history, uint64_t seed) : random_{seed} {
        config_.n_layers = std::size(kLayers);
        config_.layers = kLayers;
        config_.head_dim_k = config_.head_dim_v = kDim;
        config_.type_k = config_.type_v = kv::id::F32;
        config_.rope_style = kv::RopeStyle::pairs;
        config_.window_history = history;
        cache_ = kv::Cache::create(Host::create({nullptr, nullptr, nullptr, 1}),
                                   kernels::select(0, cpu::features()), config_);
        CHECK(cache_->reserve(0, 5000, nullptr) == Status::ok);
    }
    World(const World &) = delete;
    ~World() { kv::Cache::destroy(cache_); }

    void run() {
        for (uint32_t i = 0; i < kSteps; i++) step();
    }
    size_t n_removed = 0, n_refused = 0, n_shifted = 0, n_dropped = 0;

private:
    void step();
    void append();
    void attend(uint32_t layer, size_t n);
    void remove();
    void shift();
    void check_length();

    Random random_;
    kv::Config config_;
    kv::Cache *cache_ = nullptr;
    std::vector<Token> tokens_;
};

void World::check_length() {
    uint64_t n = 0;
    CHECK(cache_->length(&n, 0, nullptr) == Status::ok && n == tokens_.size());
}

void World::attend(uint32_t layer, size_t n) {
    float q[kMost * kDim], out[kMost * kDim];
    for (size_t i = 0; i < n * kDim; i++) q[i] = random_.value();
    const uint32_t sequence = 0;
    CHECK(cache_->attend({out, nullptr, layer, &sequence, 1, q, n}, {}, nullptr) == Status::ok);
    for (size_t i = 0; i < n; i++) {
        const int32_t at = tokens_[tokens_.size() - n + i].position;
        double sum = 0, want[kDim] = {};
        for (const Token &token : tokens_) {
            if (!sees(kLayers[layer], at, token.position)) continue;
            const double weight = exp(score(q + i * kDim, token));
            sum += weight;
            for (uint32_t j = 0; j < kDim; j++) want[j] += weight * double(token.v[j]);
        }
        double worst = 0;
        for (uint32_t j = 0; j < kDim; j++)
            worst = std::max(worst, fabs(double(out[i * kDim + j]) - want[j] / sum));
        CHECK(worst < kTolerance);
    }
}

void World::append() {
    const size_t n = 1 + random_.below(random_.below(3) ? 8 : kMost);
    float k[kMost * kDim], v[kMost * kDim];
    int32_t positions[kMost], next = tokens_.empty() ? 0 : tokens_.back().position + 1;
    const bool gaps = random_.below(4) == 0;
    for (size_t i = 0; i < n; i++) {
        if (gaps && random_.below(8) == 0) next += static_cast<int32_t>(random_.below(60));
        Token token;
        token.position = token.given = positions[i] = next++;
        for (uint32_t j = 0; j < kDim; j++) {
            token.k[j] = k[i * kDim + j] = random_.value();
            token.v[j] = v[i * kDim + j] = random_.value();
        }
        tokens_.push_back(token);
    }
    const bool call = random_.below(2) == 0;
    if (call) CHECK(cache_->begin(0, nullptr) == Status::ok);
    for (uint32_t layer = 0; layer < std::size(kLayers); layer++) {
        CHECK(cache_->append(layer, 0, n, positions, {k, v}, nullptr) == Status::ok);
        attend(layer, n);
    }
    const bool taken_back = call && random_.below(4) == 0;
    if (call)
        CHECK((taken_back ? cache_->rollback(0, nullptr) : cache_->commit(0, nullptr)) ==
              Status::ok);
    if (taken_back) tokens_.resize(tokens_.size() - n);
    check_length();
}

// Removes tokens, except the last one.
void World::remove() {
    if (tokens_.size() < 2) return;
    const size_t first = random_.below(tokens_.size() - 1);
    const size_t n = 1 + random_.below(std::min<size_t>(tokens_.size() - first - 1, 90));
    const kv::Cache::Part part = {
        {first, n}, first ? tokens_[first - 1].position : -1, tokens_[first + n - 1].position + 1};
    Failure failure{};
    const Status status = cache_->prepare_remove(0, part, &failure);
    CHECK(status == Status::ok || (status == Status::state && failure.message[0]));
    if (status != Status::ok) {
        n_refused++;
        return check_length();
    }
    cache_->remove(0, part);
    tokens_.erase(tokens_.begin() + static_cast<ptrdiff_t>(first),
                  tokens_.begin() + static_cast<ptrdiff_t>(first + n));
    n_removed++;
    check_length();
}

// Shifts the rest of the sequence, from a gap on or from any token.
void World::shift() {
    if (tokens_.empty()) return;
    size_t first = random_.below(tokens_.size());
    const bool closes = random_.below(3) != 0;
    for (; closes && first < tokens_.size(); first++)
        if (tokens_[first].position > (first ? tokens_[first - 1].position + 1 : 0)) break;
    if (first == tokens_.size()) return;
    const int32_t before = first ? tokens_[first - 1].position + 1 : 0,
                  at = tokens_[first].position;
    const int32_t delta = closes ? before - at : static_cast<int32_t>(random_.below(30));
    const kv::Cache::Range range = {first, tokens_.size() - first};
    Failure failure{};
    const Status status = cache_->prepare_shift(0, range, delta, &failure);
    CHECK(status == Status::ok || (status == Status::state && failure.message[0]));
    if (status != Status::ok) {
        n_refused++;
        return;
    }
    cache_->shift(0, range, delta);
    for (; first < tokens_.size(); first++) tokens_[first].position += delta;
    n_shifted++;
}

void World::step() {
    const uint64_t which = random_.below(8);
    if (which < 5) append();
    if (which == 5 || which == 6) remove();
    if (which == 7) shift();
    if (tokens_.size() > 1200) {
        CHECK(cache_->truncate(0, 0, nullptr) == Status::ok);
        tokens_.clear();
    }
    kv::Stats stats;
    CHECK(cache_->stats(&stats, 1, nullptr) == Status::ok);
    float k[kDim];
    n_dropped += !tokens_.empty() && cache_->read(k, nullptr, 1, 0, 0, 1, nullptr) != Status::ok;
}

} // namespace

int main() {
    size_t removed = 0, refused = 0, shifted = 0, dropped = 0;
    for (const uint32_t history : {0u, 40u, 320u})
        for (uint64_t seed = 1; seed <= 3; seed++) {
            World world(history, seed + history);
            world.run();
            removed += world.n_removed;
            refused += world.n_refused;
            shifted += world.n_shifted;
            dropped += world.n_dropped;
        }
    printf("%zu removed, %zu shifted, %zu refused, %zu steps with dropped tokens\n", removed,
           shifted, refused, dropped);
    CHECK(removed > 300 && shifted > 100 && refused > 0 && dropped > 500);
    printf("%d failures\n", failures);
    return failures != 0;
}
