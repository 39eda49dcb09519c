// ggufx bench sampler: time to choose a token, for each sampler of a chain.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "models/sampling.hpp"

#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct SamplerBench {
    uint32_t n_vocab = 150000;
    uint32_t n_last = 1024;
    unsigned repeats = 200;
};

ggufx_sampler_link of_k(uint32_t k) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_TOP_K);
    link.k = k;
    return link;
}
ggufx_sampler_link of_p(uint32_t kind, float p) {
    ggufx_sampler_link link = sampler_link(kind);
    link.p = p;
    return link;
}
ggufx_sampler_link warm(float range) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_TEMPERATURE);
    link.temperature = 0.8f;
    link.range = range;
    return link;
}
ggufx_sampler_link penalties(uint32_t n_last) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_PENALTIES);
    link.repetition = 1.1f;
    link.frequency = link.presence = 0.1f;
    link.n_last = n_last;
    return link;
}
ggufx_sampler_link dry(uint32_t n_last) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_DRY);
    link.multiplier = 0.8f;
    link.n_last = n_last;
    return link;
}
ggufx_sampler_link sigma(float n) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_TOP_N_SIGMA);
    link.n_sigma = n;
    return link;
}
ggufx_sampler_link xtc() {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_XTC);
    link.probability = 1.0f;
    link.threshold = 0.01f;
    return link;
}
ggufx_sampler_link mirostat(uint32_t version) {
    ggufx_sampler_link link = sampler_link(GGUFX_LINK_MIROSTAT);
    link.version = version;
    link.tau = 2.0f; // near the value of these logits
    return link;
}

struct Row {
    std::string name;
    std::vector<ggufx_sampler_link> links;
    double us = 0;
};

std::vector<Row> rows_of(uint32_t n_last) {
    const ggufx_sampler_link many[] = {of_p(GGUFX_LINK_TYPICAL, 0.95f),
                                       of_p(GGUFX_LINK_TOP_P, 0.95f),
                                       of_p(GGUFX_LINK_MIN_P, 0.05f),
                                       sigma(3.0f),
                                       xtc(),
                                       warm(0.3f)};
    std::vector<Row> rows = {
        {"penalties, dry, top-k 64, others", {penalties(n_last), dry(n_last), of_k(64)}, 0}};
    rows[0].links.insert(rows[0].links.end(), std::begin(many), std::end(many));
    rows.push_back({"none", {}, 0});
    rows.push_back({"top-k 64", {of_k(64)}, 0});
    rows.push_back({"top-p 0.95", {many[1]}, 0});
    rows.push_back({"min-p 0.05", {many[2]}, 0});
    rows.push_back({"typical 0.95", {many[0]}, 0});
    rows.push_back({"top-n-sigma 3", {many[3]}, 0});
    rows.push_back({"xtc", {many[4]}, 0});
    rows.push_back({"temperature", {warm(0.0f)}, 0});
    rows.push_back({"dynamic temperature", {many[5]}, 0});
    rows.push_back({"penalties", {penalties(n_last)}, 0});
    rows.push_back({"dry", {dry(n_last)}, 0});
    rows.push_back({"mirostat 1", {mirostat(1)}, 0});
    rows.push_back({"mirostat 2", {mirostat(2)}, 0});
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
    ggufx_sampler *handle = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_sampler_create_chain(&handle, rt, options.n_vocab, 1, error);
    });
    const Sampler sampler(handle);
    for (const ggufx_sampler_link &link : row.links)
        call([&](ggufx_error *error) { return ggufx_sampler_add(handle, &link, error); });
    std::vector<double> times;
    for (unsigned r = 0; r < options.repeats + options.n_last; r++) {
        check_interrupt();
        const std::vector<float> &of = logits[r % logits.size()];
        int32_t id = 0;
        const double seconds = seconds_of(Clock::cpu, 1, [&] {
            if (r < options.n_last) return; // the windows fill first
            call([&](ggufx_error *error) {
                return ggufx_sampler_sample(&id, nullptr, handle, of.data(), of.size(), error);
            });
        });
        if (r >= options.n_last) times.push_back(seconds);
        if (r < options.n_last) id = static_cast<int32_t>(r * 7 % 300);
        call([&](ggufx_error *error) { return ggufx_sampler_accept(handle, &id, 1, error); });
    }
    return median(times) * 1e6;
}

int bench_sampler(const Globals &globals, const SamplerBench &options) {
    const Runtime rt = make_runtime(globals);
    std::vector<std::vector<float>> logits;
    for (uint64_t round = 0; round < 8; round++)
        logits.push_back(logits_of(options.n_vocab, round));
    std::vector<Row> rows = rows_of(options.n_last);
    for (Row &row : rows) row.us = measure(rt.get(), row, options, logits);
    Output out(globals);
    if (globals.json) {
        for (const Row &row : rows) {
            Json line = json_object();
            line.update(Json{{"bench", "sampler"},
                             {"samplers", row.name},
                             {"n_vocab", options.n_vocab},
                             {"n_last", options.n_last},
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
    sub.option("--last", options->n_last,
               "number of last tokens that penalties and DRY search (default 1024)")
        .between(1u, 1048576u);
    sub.option("-r,--rounds", options->repeats, "number of runs, for the median (default 200)")
        .between(1u, 100000u);
    sub.examples("  ggufx bench sampler --n 150000");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_sampler(tool.globals, *options); });
}

} // namespace ggufx::cli
