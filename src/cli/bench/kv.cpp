// ggufx bench kv: attention per KV cache type and length, over more layers than CPU caches hold.
// Also measured: plain reads of the same memory in the same rounds, and appends.
// SPDX-License-Identifier: MIT
#include "bench/kv.hpp"
#include "bench/roofs.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// The KV caches of one runtime and one pair of types.
struct KvRace {
    const Runner &runner;
    KvCase pair;
    uint32_t n_layers;
    std::unique_ptr<Arena> arena;
    Runtime rt;
    Kv kv;
    ReadRoof roof;
    std::vector<float> q, out, lse;
    KvEncodeTimes encode;
    bool bits_equal = true;
    std::vector<double> seconds = {}; // per layer
};

KvRace make_race(const KvOptions &options, const Runner &runner, const KvCase &pair,
                 const Globals &globals) {
    const ggufx_runtime *rt = runner.runtime();
    const uint64_t fixed = kv_estimate(rt, kv_shape(options, pair, 1), 0);
    const uint64_t layer = kv_estimate(rt, kv_shape(options, pair, 1), pair.tokens) - fixed;
    const uint64_t wanted = options.cache == "memory" ? (kColdBytes + layer - 1) / layer : 1;
    const uint32_t n_layers = static_cast<uint32_t>(std::max<uint64_t>(wanted, 1));
    const ggufx_kv_options shape = kv_shape(options, pair, n_layers);
    constexpr uint64_t kSlack = 8u << 20; // for threads of the runtime, and alignment
    const uint64_t n_bytes = kv_estimate(rt, shape, pair.tokens);
    auto arena = std::make_unique<Arena>(n_bytes + n_bytes / 64 + kSlack);
    Runtime own = runtime_in(*arena, runner.isa(), runner.threads());
    Kv kv = make_kv(own.get(), shape);
    const size_t n_q = options.queries * options.per_query();
    KvRace race = {runner,
                   pair,
                   n_layers,
                   std::move(arena),
                   std::move(own),
                   std::move(kv),
                   ReadRoof(runner.threads(), options.clock),
                   random_floats(n_q, 3),
                   std::vector<float>(n_q),
                   std::vector<float>(size_t{options.queries} * options.q_heads),
                   measure_kv_encode(options, runner, pair),
                   kv_bits_equal(options, runner, pair)};
    kv_fill(race.kv.get(), n_layers, options, pair, globals);
    return race;
}

void run(const KvOptions &options, KvRace &race) {
    const double budget = 10.0 / options.rounds; // seconds per round
    const uint32_t passes = options.cache == "memory" ? 1 : 20;
    double spent = 0;
    const uint32_t least = options.queries > 1 ? 1 : race.n_layers;
    for (uint32_t i = 0; i < race.n_layers * passes && (i < least || spent < budget); i++) {
        check_interrupt();
        const double seconds = seconds_of(options.clock, race.runner.threads(), [&] {
            kv_attend(race.kv.get(), i % race.n_layers, options, race.q, race.out, race.lse);
        });
        race.seconds.push_back(seconds);
        spent += seconds;
    }
    race.roof.measure(race.rt.get(), race.arena->buffer());
}

struct KvReport {
    const Globals &globals;
    const KvOptions &options;
    Output &out;
    Table table;
};

void print(KvReport &report, const KvRace &race) {
    const auto stats = facts<ggufx_kv_facts>([&](ggufx_kv_facts *out, ggufx_error *error) {
        return ggufx_kv_info(out, race.kv.get(), 0, error);
    });
    const double seconds = median(race.seconds), read = race.roof.gbps();
    const double bytes = static_cast<double>(stats.bytes_per_token * race.pair.tokens);
    const double gbps = bytes / seconds / 1e9;
    if (!report.globals.json) {
        report.table.row(
            {race.pair.k, race.pair.v, fmt::format("{}", race.pair.tokens), race.runner.isa_name(),
             fmt::format("{}", race.runner.threads()), fmt::format("{}", race.n_layers),
             fmt::format("{:.3f}", seconds * 1e3), fmt::format("{:.2f}", gbps),
             fmt::format("{:.2f}", read), fmt::format("{:.2f}", gbps / read),
             fmt::format("{:.3f}", race.encode.vector_us),
             fmt::format("{:.2f}", race.encode.token_us), race.bits_equal ? "yes" : "NO"});
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
                     {"queries", report.options.queries},
                     {"encode_us", race.encode.vector_us},
                     {"append_us", race.encode.token_us},
                     {"bits_equal", race.bits_equal}});
    print_json_line(report.out, line);
}

// Parses "gx4" or "gx4/gx3": types of keys and values.
KvCase parse_pair(const std::string &text, uint64_t tokens) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) return {text, text, tokens};
    return {text.substr(0, slash), text.substr(slash + 1), tokens};
}

// Measures all types of a length in turn, so that other load on the machine affects them equally.
bool race_types(KvReport &report, const Runner &runner, uint64_t tokens) {
    const KvOptions &options = report.options;
    std::vector<KvRace> races;
    races.reserve(options.types.size());
    for (const std::string &type : options.types)
        races.push_back(make_race(options, runner, parse_pair(type, tokens), report.globals));
    for (unsigned round = 0; round < options.rounds; round++)
        for (KvRace &race : races) run(options, race);
    bool equal = true;
    for (const KvRace &race : races) {
        print(report, race);
        equal = equal && race.bits_equal;
    }
    return equal;
}

int bench_kv(const Globals &globals, const KvOptions &options) {
    const std::vector<Runner> runners = make_runners(globals, {1});
    Output out(globals);
    KvReport report = {globals, options, out,
                       Table({"k", "v", ">tokens", "isa", ">t", ">layers", ">ms", ">GB/s", ">read",
                              ">of read", ">us/vector", ">us/token", "bits equal"})};
    report.table.essential({"k", "v", "tokens", "ms", "bits equal"});
    report.table.dispensable({"read", "layers", "us/vector", "us/token", "of read"});
    bool all_equal = true;
    for (const uint64_t tokens : options.lengths)
        for (const Runner &runner : runners) all_equal &= race_types(report, runner, tokens);
    if (!globals.json) report.table.print(out, make_style(globals, out));
    out.finish();
    return all_equal ? kOk : kCheckFailed;
}

} // namespace

void add_bench_kv(Tool &tool, Command &bench) {
    auto options = std::make_shared<KvOptions>();
    Command sub = bench.add_command("kv", "attention of one decoded token over a KV cache");
    sub.option("--types", options->types,
               "types of keys and values, or keys/values (default f16,q8_0,gx4)")
        .value("KVTYPE")
        .list();
    sub.option("--kv", options->lengths, "numbers of tokens in the cache (default 4096,32768)")
        .list()
        .between(uint64_t{1}, uint64_t{1} << 24);
    sub.option("--head-dim", options->head_dim, "values of a head (default 128)")
        .between(1u, 1024u);
    sub.option("--queries", options->queries,
               "number of queries per call, the last tokens (default 1)")
        .between(1u, 4096u);
    sub.option("-r,--rounds", options->rounds, "rounds over all layers and reads (default 9)")
        .between(1u, 1000u);
    sub.option(
           "--cache", options->cache,
           "memory = more layers than a processor cache holds, cpu = one layer (default memory)")
        .one_of({"memory", "cpu"});
    add_clock(sub, options->clock);
    sub.examples("  ggufx bench kv --types f16,q8_0,gx4 --kv 4096,32768 -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_kv(tool.globals, *options); });
}

} // namespace ggufx::cli
