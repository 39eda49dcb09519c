// ggufx bench sampler: time to choose a token, for each sampler of a chain.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "models/sampling.hpp"

#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace ggufx::cli {

namespace {

struct SamplerBench {
    uint32_t n_vocab = 150000;
    uint32_t last_n = 1024;
    unsigned repeats = 200;
};

using Add = std::function<ggufx_status(ggufx_sampler *, ggufx_error *)>;

Add temperature(float range) {
    return [=](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_temperature_options>();
        options.range = range;
        return ggufx_sampler_add_temperature(chain, 0.8f, &options, error);
    };
}

Add penalties(uint32_t last_n) {
    return [=](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_penalty_options>();
        options.repeat = 1.1f;
        options.frequency = options.presence = 0.1f;
        options.last_n = last_n;
        return ggufx_sampler_add_penalties(chain, &options, error);
    };
}

Add dry(uint32_t last_n) {
    return [=](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_dry_options>();
        options.multiplier = 0.8f;
        options.last_n = last_n;
        return ggufx_sampler_add_dry(chain, &options, error);
    };
}

Add mirostat(uint32_t version) {
    return [=](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_mirostat_options>();
        options.version = version;
        options.tau = 2.0f; // near the value of these logits
        return ggufx_sampler_add_mirostat(chain, &options, error);
    };
}

struct Row {
    std::string name;
    std::vector<Add> samplers;
    double us = 0;
};

// Returns a row for each filter, with the numbers of samplers.def.
std::vector<Row> filter_rows() {
    std::vector<Row> rows;
#define FILTER1(id, ID, Type, name, order, type, a, example)                                       \
    rows.push_back(                                                                                \
        {fmt::format("{} {}", name, example), {[](ggufx_sampler *chain, ggufx_error *error) {      \
             return ggufx_sampler_add_##id(chain, example, error);                                 \
         }}});
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    rows.push_back({fmt::format("{} {} {}", name, example_a, example_b),                           \
                    {[](ggufx_sampler *chain, ggufx_error *error) {                                \
                        return ggufx_sampler_add_##id(chain, example_a, example_b, error);         \
                    }}});
#include "sampling/samplers.def"
    return rows;
}

std::vector<Row> rows_of(uint32_t last_n) {
    std::vector<Row> rows = {
        {"penalties, dry, filters, dynamic temperature", {penalties(last_n), dry(last_n)}},
        {"none", {}}};
    for (Row &filter : filter_rows()) {
        rows[0].samplers.push_back(filter.samplers[0]);
        rows.push_back(std::move(filter));
    }
    rows[0].samplers.push_back(temperature(0.3f));
    rows.push_back({"temperature", {temperature(0.0f)}});
    rows.push_back({"dynamic temperature", {temperature(0.3f)}});
    rows.push_back({"penalties", {penalties(last_n)}});
    rows.push_back({"dry", {dry(last_n)}});
    rows.push_back({"mirostat 1", {mirostat(1)}});
    rows.push_back({"mirostat 2", {mirostat(2)}});
    return rows;
}

// Returns logits like a model's: a wide bell, and a few tokens well above it.
std::vector<float> logits_of(uint32_t n, uint64_t round) {
    std::vector<float> out(n);
    uint64_t state = round * 0x9e3779b97f4a7c15u + 1;
    for (float &l : out) {
        float sum = 0;
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (int part = 0; part < 4; part++)
            sum += static_cast<float>(state >> (16 * part) & 0xffff) / 65536.0f - 0.5f;
        l = 3.5f * sum;
    }
    for (uint32_t i = 0; i < 60; i++)
        out[(round * size_t{7919} + i * size_t{104729}) % n] =
            20.0f - 2.5f * std::log2(static_cast<float>(i + 1));
    return out;
}

double measure(const ggufx_runtime *rt, const Row &row, const SamplerBench &options,
               const std::vector<std::vector<float>> &logits) {
    const Sampler sampler = make_chain(rt, options.n_vocab, 1);
    ggufx_sampler *const handle = sampler.get();
    for (const Add &add : row.samplers)
        call([&](ggufx_error *error) { return add(handle, error); });
    std::vector<double> times;
    for (unsigned r = 0; r < options.repeats + options.last_n; r++) {
        check_interrupt();
        const std::vector<float> &of = logits[r % logits.size()];
        int32_t id = 0;
        const double seconds = seconds_of(Clock::cpu, 1, [&] {
            if (r < options.last_n) return; // the windows fill first
            call([&](ggufx_error *error) {
                return ggufx_sampler_sample(&id, nullptr, handle, nullptr, of.data(), of.size(),
                                            error);
            });
        });
        if (r >= options.last_n) times.push_back(seconds);
        if (r < options.last_n) id = static_cast<int32_t>(r * 7 % 300);
        call([&](ggufx_error *error) { return ggufx_sampler_accept(handle, &id, 1, error); });
    }
    return median(times) * 1e6;
}

int bench_sampler(const Globals &globals, const SamplerBench &options) {
    const Runtime rt = make_runtime(globals);
    std::vector<std::vector<float>> logits;
    for (uint64_t round = 0; round < 8; round++)
        logits.push_back(logits_of(options.n_vocab, round));
    std::vector<Row> rows = rows_of(options.last_n);
    for (Row &row : rows) row.us = measure(rt.get(), row, options, logits);
    Output out(globals);
    if (globals.json) {
        for (const Row &row : rows) {
            Json line = json_object();
            line.update(Json{{"bench", "sampler"},
                             {"samplers", row.name},
                             {"n_vocab", options.n_vocab},
                             {"n_last", options.last_n},
                             {"clock", "cpu"},
                             {"us", row.us}});
            print_json_line(out, line);
        }
    } else {
        Table table({"samplers", ">time"});
        for (const Row &row : rows) table.row({row.name, time_text(row.us * 1e-6)});
        table.print(out, make_style(globals, out));
    }
    out.finish();
    return kOk;
}

} // namespace

void add_bench_sampler(Tool &tool, Command &bench) {
    auto options = std::make_shared<SamplerBench>();
    Command sub = bench.add_command("sampler", "sample a token, per sampler of the chain");
    sub.option("--n", options->n_vocab, "tokens of the vocabulary (default 150000)")
        .between(1u, 10000000u);
    sub.option("--last", options->last_n,
               "number of last tokens that penalties and DRY search (default 1024)")
        .between(1u, 1048576u);
    sub.option("-r,--rounds", options->repeats, "number of runs, for the median (default 200)")
        .between(1u, 100000u);
    sub.examples("  ggufx bench sampler --n 150000");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_sampler(tool.globals, *options); });
}

} // namespace ggufx::cli
