// ggufx bench model: tokens per second of a model, prompts and single tokens, per pair of cache
// types.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/blocks.hpp"
#include "floor/json.hpp"
#include "floor/progress.hpp"
#include "floor/signals.hpp"
#include "floor/table.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct ModelOptions {
    std::string model;
    unsigned prompt = 512, generate = 64; // tokens; 0 = not measured
    unsigned rounds = 3;
    std::string type_k = "f16", type_v = "f16";
    ModelMaking making;
};

// One measurement: `n` tokens at once (a prompt) or one by one.
struct Test {
    const char *prefix;
    unsigned n, step;
};

std::vector<int32_t> random_ids(size_t n, uint32_t n_vocab) {
    Random random(1);
    std::vector<int32_t> ids(n);
    for (int32_t &id : ids) id = static_cast<int32_t>(random.next() % n_vocab);
    return ids;
}

double tokens_per_second(ggufx_session *session, const Test &test, const std::vector<int32_t> &ids,
                         unsigned rounds, Progress &progress) {
    std::vector<double> rates;
    const ggufx_progress cancel = cancel_hook();
    ggufx_decode_options options;
    ggufx_decode_options_init(&options);
    options.progress = &cancel;
    for (unsigned round = 0; round < rounds; round++) {
        check_interrupt();
        progress.update(round, rounds, fmt::format("{}{}", test.prefix, test.n));
        call([&](ggufx_error *error) { return ggufx_session_truncate(session, 0, error); });
        const double seconds = seconds_of([&] {
            for (unsigned done = 0; done < test.n; done += test.step) {
                call([&](ggufx_error *error) {
                    return ggufx_session_decode(session, ids.data() + done, test.step, &options,
                                                error);
                });
            }
        });
        rates.push_back(test.n / seconds);
    }
    return median(rates);
}

int bench_model(const Globals &globals, const ModelOptions &options) {
    const uint32_t type_k = kv_type_from_name(options.type_k, "--ctk");
    const uint32_t type_v = kv_type_from_name(options.type_v, "--ctv");
    if (options.prompt == 0 && options.generate == 0) {
        throw Failure(kUsage, "nothing to measure: -p and -n are 0");
    }
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.model, 0, &cancel);
    const Model model = make_model(rt.get(), file.get(), options.making);
    const ggufx_model_facts info = model_facts(model.get());
    const unsigned threads = runtime_facts(rt.get()).threads;
    const unsigned n_context = std::max(options.prompt, options.generate);
    const Session session =
        make_session(rt.get(), file.get(), model.get(), n_context, type_k, type_v);
    const std::vector<int32_t> ids = random_ids(n_context, info.n_vocab);

    Output out(globals);
    Progress progress(globals, "bench model");
    Table table({"test", ">threads", "k", "v", ">tokens/s"});
    const Test tests[] = {{"pp", options.prompt, options.prompt}, {"tg", options.generate, 1}};
    for (const Test &test : tests) {
        if (test.n == 0) continue;
        const double rate = tokens_per_second(session.get(), test, ids, options.rounds, progress);
        const std::string name = fmt::format("{}{}", test.prefix, test.n);
        table.row({name, fmt::format("{}", threads), kv_type_name(type_k), kv_type_name(type_v),
                   fmt::format("{:.2f}", rate)});
        if (!globals.json) continue;
        Json line = json_object();
        line.update({{"bench", "model"},
                     {"model", json_bytes(options.model)},
                     {"test", name},
                     {"n", test.n},
                     {"threads", threads},
                     {"ctk", kv_type_name(type_k)},
                     {"ctv", kv_type_name(type_v)},
                     {"tps", rate}});
        print_json_line(out, line);
    }
    progress.update(options.rounds, options.rounds);
    if (!globals.json) table.print(out, make_style(globals, out));
    out.finish();
    return kOk;
}

} // namespace

void add_bench_model(Tool &tool, Command &bench) {
    auto options = std::make_shared<ModelOptions>();
    Command sub = bench.add_command("model", "tokens per second of a model");
    sub.option("MODEL", options->model, "GGUF file").required();
    sub.option("--prompt-tokens", options->prompt, "tokens of a prompt, at once; default 512")
        .between(0, 1u << 20);
    sub.option("-n,--predict", options->generate, "tokens one by one; default 64")
        .between(0, 1u << 20);
    sub.option("-r,--rounds", options->rounds, "median of N rounds; default 3").between(1u, 1000u);
    sub.option("--ctk", options->type_k, "type of the cached keys; default f16").value("KVTYPE");
    sub.option("--ctv", options->type_v, "type of the cached values; default f16").value("KVTYPE");
    add_model_options(sub, options->making);
    sub.examples("  ggufx bench model model.gguf --prompt-tokens 512 --ctk gx4 --ctv gx3");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_model(tool.globals, *options); });
}

} // namespace ggufx::cli
