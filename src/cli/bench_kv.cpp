// ggufx bench kv: one decoding step's attention per type of cache and length, over as many layers
// as no cache of a processor holds, beside the plain read of the same memory in the same rounds.
// SPDX-License-Identifier: MIT
#include "bench_products.hpp"
#include "bench_roofs.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "table.hpp"

#include <atomic>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct KvOptions {
    std::vector<std::string> types = {"f16", "q8_0", "gx4"};
    std::vector<uint64_t> lengths = {4096, 32768};
    unsigned rounds = 9;
    uint32_t q_heads = 32, kv_heads = 8, head_dim = 128;
    std::string cache = "memory";
    Clock clock = Clock::wall;
};

constexpr size_t kAppend = 2048; // tokens at a time
constexpr double kFillSeconds = 8;

// A runtime whose caches lie in one buffer, which can then be read plainly.
class Arena {
public:
    explicit Arena(size_t n_bytes) : buffer_(n_bytes) {}
    const ColdBuffer &buffer() const { return buffer_; }

    ggufx_allocator hooks() {
        ggufx_allocator hooks = {};
        hooks.struct_size = sizeof hooks;
        hooks.user = this;
        hooks.alloc = [](void *self, size_t size, size_t align) -> void * {
            return static_cast<Arena *>(self)->take(size, align);
        };
        hooks.free = [](void *, void *, size_t, size_t) {}; // all at once, at the end
        return hooks;
    }

private:
    void *take(size_t size, size_t align) {
        align = std::max<size_t>(align, 64);
        const size_t room = (size + align - 1) / align * align + align;
        const size_t at = used_.fetch_add(room);
        if (room > buffer_.size() || at > buffer_.size() - room) return nullptr;
        auto address = reinterpret_cast<uintptr_t>(buffer_.data() + at);
        address = (address + align - 1) / align * align;
        return reinterpret_cast<void *>(address);
    }
    ColdBuffer buffer_;
    std::atomic<size_t> used_ = 0;
};

struct Pair {
    std::string k, v; // types
    uint64_t tokens;
};

ggufx_kv_options shape_of(const KvOptions &options, const Pair &pair, uint32_t n_layers) {
    ggufx_kv_options shape;
    ggufx_kv_options_init(&shape);
    shape.n_layers = n_layers;
    shape.n_kv_heads = options.kv_heads;
    shape.n_q_heads = options.q_heads;
    shape.head_dim_k = options.head_dim;
    shape.type_k = kv_type_from_name(pair.k);
    shape.type_v = kv_type_from_name(pair.v);
    return shape;
}

Runtime runtime_in(Arena &arena, int32_t isa, unsigned threads) {
    const ggufx_allocator hooks = arena.hooks();
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.allocator = &hooks;
    options.isa = isa;
    options.threads = threads;
    ggufx_runtime *rt = nullptr;
    call([&](ggufx_error *error) { return ggufx_runtime_create(&rt, &options, error); });
    return Runtime(rt);
}

uint64_t estimate(const ggufx_runtime *rt, const ggufx_kv_options &shape, uint64_t tokens) {
    uint64_t bytes = 0;
    call([&](ggufx_error *error) { return ggufx_kv_estimate(&bytes, rt, &shape, tokens, error); });
    return bytes;
}

Kv make_kv(const ggufx_runtime *rt, const ggufx_kv_options &shape) {
    ggufx_kv *kv = nullptr;
    call([&](ggufx_error *error) { return ggufx_kv_create(&kv, rt, &shape, error); });
    return Kv(kv);
}

std::vector<float> random_floats(size_t n, uint64_t seed) {
    Random random(seed);
    std::vector<float> x(n);
    for (float &value : x)
        value = static_cast<float>(static_cast<int32_t>(random.next() >> 32)) * 0x1p-31f;
    return x;
}

void append(ggufx_kv *kv, uint32_t layer, size_t tokens, const std::vector<float> &values,
            size_t per_token) {
    call([&](ggufx_error *error) {
        return ggufx_kv_append(kv, layer, 0, tokens, nullptr, values.data(), tokens * per_token,
                               values.data(), tokens * per_token, error);
    });
}

void attend(const ggufx_kv *kv, uint32_t layer, const std::vector<float> &q,
            std::vector<float> &out, std::vector<float> &lse) {
    call([&](ggufx_error *error) {
        return ggufx_kv_attend(out.data(), out.size(), lse.data(), kv, layer, 0, q.data(), q.size(),
                               1, nullptr, nullptr, error);
    });
}

// One runtime's caches of one pair of types.
struct KvRace {
    const Runner &runner;
    Pair pair;
    uint32_t n_layers;
    std::unique_ptr<Arena> arena;
    Runtime rt;
    Kv kv;
    ReadRoof roof;
    std::vector<float> q, out, lse;
    std::vector<double> seconds; // of one layer
    bool bits_equal = true;
};

// Encoding many layers can take longer than measuring them: after some seconds the rest is
// zeros, which take as many bytes and instructions.
void fill(const KvOptions &options, KvRace &race, const Globals &globals) {
    const size_t per_token = size_t{options.kv_heads} * options.head_dim;
    const std::vector<float> values = random_floats(kAppend * per_token, 1);
    const std::vector<float> zeros(kAppend * per_token);
    Progress progress(globals, "fill " + race.pair.k);
    double spent = 0;
    for (uint32_t layer = 0; layer < race.n_layers; ++layer) {
        progress.update(layer, race.n_layers);
        for (uint64_t done = 0; done < race.pair.tokens; done += kAppend) {
            check_interrupt();
            const size_t n = std::min<uint64_t>(kAppend, race.pair.tokens - done);
            const bool real = layer == 0 || spent < kFillSeconds;
            spent += seconds_of(
                [&] { append(race.kv.get(), layer, n, real ? values : zeros, per_token); });
        }
    }
}

// A short cache in this set and in the scalar one: the same bits.
bool compare(const KvOptions &options, const Runner &runner, const Pair &pair) {
    constexpr size_t kTokens = 400;
    const size_t per_token = size_t{options.kv_heads} * options.head_dim;
    const std::vector<float> values = random_floats(kTokens * per_token, 2);
    const std::vector<float> q = random_floats(size_t{options.q_heads} * options.head_dim, 3);
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    std::vector<float> out[2], lse[2];
    for (int i = 0; i < 2; ++i) {
        const ggufx_runtime *rt = i ? scalar.get() : runner.runtime();
        const Kv kv = make_kv(rt, shape_of(options, pair, 1));
        append(kv.get(), 0, kTokens, values, per_token);
        out[i].resize(q.size());
        lse[i].resize(options.q_heads);
        attend(kv.get(), 0, q, out[i], lse[i]);
    }
    return std::memcmp(out[0].data(), out[1].data(), q.size() * sizeof(float)) == 0 &&
           std::memcmp(lse[0].data(), lse[1].data(), lse[0].size() * sizeof(float)) == 0;
}

KvRace make_race(const KvOptions &options, const Runner &runner, const Pair &pair,
                 const Globals &globals) {
    const ggufx_runtime *rt = runner.runtime();
    const uint64_t fixed = estimate(rt, shape_of(options, pair, 1), 0);
    const uint64_t layer = estimate(rt, shape_of(options, pair, 1), pair.tokens) - fixed;
    const uint64_t wanted = options.cache == "memory" ? (kColdBytes + layer - 1) / layer : 1;
    const uint32_t n_layers = static_cast<uint32_t>(std::max<uint64_t>(wanted, 1));
    const ggufx_kv_options shape = shape_of(options, pair, n_layers);
    constexpr uint64_t kSlack = 8u << 20; // threads of the runtime, alignment
    const uint64_t n_bytes = estimate(rt, shape, pair.tokens);
    auto arena = std::make_unique<Arena>(n_bytes + n_bytes / 64 + kSlack);
    Runtime own = runtime_in(*arena, runner.isa(), runner.threads());
    Kv kv = make_kv(own.get(), shape);
    const size_t n_q = size_t{options.q_heads} * options.head_dim;
    KvRace race = {runner,
                   pair,
                   n_layers,
                   std::move(arena),
                   std::move(own),
                   std::move(kv),
                   ReadRoof(runner.threads(), options.clock),
                   random_floats(n_q, 3),
                   std::vector<float>(n_q),
                   std::vector<float>(options.q_heads),
                   {},
                   compare(options, runner, pair)};
    fill(options, race, globals);
    return race;
}

void run(const KvOptions &options, KvRace &race) {
    const double budget = 10.0 / options.rounds; // seconds of a round
    const uint32_t passes = options.cache == "memory" ? 1 : 20;
    double spent = 0;
    for (uint32_t i = 0; i < race.n_layers * passes && (i < race.n_layers || spent < budget); ++i) {
        check_interrupt();
        const double seconds = seconds_of(options.clock, race.runner.threads(), [&] {
            attend(race.kv.get(), i % race.n_layers, race.q, race.out, race.lse);
        });
        race.seconds.push_back(seconds);
        spent += seconds;
    }
    race.roof.measure(race.rt.get(), race.arena->buffer());
}

struct KvReport {
    const Globals &globals;
    Output &out;
    Table table;
};

void print(KvReport &report, const KvRace &race) {
    const auto stats = facts<ggufx_kv_facts>([&](ggufx_kv_facts *out, ggufx_error *error) {
        return ggufx_kv_stats(out, race.kv.get(), 0, error);
    });
    const double seconds = median(race.seconds), read = race.roof.gbps();
    const double bytes = static_cast<double>(stats.bytes_per_token * race.pair.tokens);
    const double gbps = bytes / seconds / 1e9;
    if (!report.globals.json) {
        report.table.row({race.pair.k, race.pair.v, fmt::format("{}", race.pair.tokens),
                          race.runner.isa_name(), fmt::format("{}", race.runner.threads()),
                          fmt::format("{}", race.n_layers), fmt::format("{:.3f}", seconds * 1e3),
                          fmt::format("{:.2f}", gbps), fmt::format("{:.2f}", read),
                          fmt::format("{:.2f}", gbps / read), race.bits_equal ? "yes" : "NO"});
        return;
    }
    Json line = json_object();
    line.update(Json{{"bench", "kv"},
                     {"k", race.pair.k},
                     {"v", race.pair.v},
                     {"kv", race.pair.tokens},
                     {"isa", race.runner.isa_name()},
                     {"threads", race.runner.threads()},
                     {"layers", race.n_layers},
                     {"ms", seconds * 1e3},
                     {"gbps", gbps},
                     {"read_gbps", read},
                     {"ratio", gbps / read},
                     {"bits_equal", race.bits_equal}});
    print_json_line(report.out, line);
}

// "gx4" or "gx4/gx3": keys, values.
Pair parse_pair(const std::string &text, uint64_t tokens) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) return {text, text, tokens};
    return {text.substr(0, slash), text.substr(slash + 1), tokens};
}

int bench_kv(const Globals &globals, const KvOptions &options) {
    const std::vector<Runner> runners = make_runners(globals, {1});
    Output out(globals);
    KvReport report = {globals, out,
                       Table({"k", "v", ">tokens", "isa", ">t", ">layers", ">ms", ">GB/s", ">read",
                              ">of read", "bits equal"})};
    bool all_equal = true;
    for (const std::string &type : options.types) {
        for (const uint64_t tokens : options.lengths) {
            for (const Runner &runner : runners) {
                KvRace race = make_race(options, runner, parse_pair(type, tokens), globals);
                for (unsigned round = 0; round < options.rounds; ++round) run(options, race);
                print(report, race);
                all_equal = all_equal && race.bits_equal;
            }
        }
    }
    if (!globals.json) report.table.print(out, make_style(globals, out));
    out.finish();
    return all_equal ? kOk : kCheckFailed;
}

} // namespace

void add_bench_kv(Tool &tool, Command &bench) {
    auto options = std::make_shared<KvOptions>();
    Command sub = bench.add_command("kv", "attention of a decoding step over a KV cache");
    sub.option("--types", options->types, "of keys and values, or keys/values; f16,q8_0,gx4")
        .list();
    sub.option("--kv", options->lengths, "tokens in the cache; 4096,32768")
        .list()
        .between(uint64_t{1}, uint64_t{1} << 24);
    sub.option("--head-dim", options->head_dim, "values of a head; 128").between(1u, 1024u);
    sub.option("-r,--rounds", options->rounds, "rounds over all layers and reads; 9")
        .between(1u, 1000u);
    sub.option("--cache", options->cache,
               "memory: layers that no processor's cache holds; cpu: one layer")
        .one_of({"memory", "cpu"});
    add_clock(sub, options->clock);
    sub.examples("  ggufx bench kv --types f16,q8_0,gx4 --kv 4096,32768 -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_kv(tool.globals, *options); });
}

} // namespace ggufx::cli
