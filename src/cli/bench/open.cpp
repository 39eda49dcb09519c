// ggufx bench open: time and heap of a metadata-only open of a file with a large vocabulary.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/counting.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/temporary_file.hpp"
#include "common/timing.hpp"
#include "models/key_writer.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct OpenOptions {
    uint64_t tokens = 262144;
    unsigned repeats = 20;
    std::string file; // instead of a generated one
};

} // namespace

// Writes a vocabulary-only file: tokens, scores and types, as converters write them.
static void write_vocabulary(Globals globals, const std::string &path, uint64_t n_tokens) {
    globals.force = globals.quiet = true; // the file exists
    const Runtime rt = make_runtime(globals);
    const FileWriter writer = empty_writer(rt.get());
    std::vector<std::string> tokens;
    for (uint64_t i = 0; i < n_tokens; i++) tokens.push_back(fmt::format("token{}", i));
    KeyWriter keys(writer.get());
    keys.text("general.architecture", "llama");
    keys.texts("tokenizer.ggml.tokens", tokens);
    keys.f32s("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -2));
    keys.i32s("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
    write_model(globals, writer.get(), path, {});
}

static int bench_open(const Globals &globals, const OpenOptions &options) {
    std::optional<TemporaryFile> generated;
    if (options.file.empty()) {
        generated.emplace("bench", "");
        write_vocabulary(globals, generated->path(), options.tokens);
    }
    const std::string path = generated ? generated->path() : options.file;

    Counter counter;
    const Runtime rt = counting_runtime(counter);
    const uint64_t before = counter.now;
    std::vector<double> times;
    uint64_t peak = 0;
    uint64_t allocations = 0;
    uint64_t kept = 0;
    uint64_t file_bytes = 0;
    for (unsigned r = 0; r < options.repeats; r++) {
        check_interrupt();
        counter.peak = counter.now;
        counter.calls = 0;
        File file;
        times.push_back(
            seconds_of([&] { file = open_file(rt.get(), path, GGUFX_OPEN_METADATA_ONLY); }));
        peak = std::max(peak, counter.peak - before);
        kept = counter.now - before;
        allocations = counter.calls;
        file_bytes = facts<ggufx_file_facts>([&](ggufx_file_facts *out, ggufx_error *error) {
                         return ggufx_file_info(out, file.get(), error);
                     }).file_size;
    }
    Output out(globals);
    const double ms = median(times) * 1e3;
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"bench", "open"},
                         {"tokens", generated ? Json(options.tokens) : Json()},
                         {"file_bytes", file_bytes},
                         {"ms", ms},
                         {"heap_bytes", kept},
                         {"heap_peak_bytes", peak},
                         {"allocations", allocations}});
        print_json(out, line);
    } else {
        out.write(fmt::format("metadata-only open of {}: {:.3f} ms, {} of heap (peak {}), {} "
                              "allocations\n",
                              bytes_text(file_bytes), ms, bytes_text(kept), bytes_text(peak),
                              allocations));
    }
    out.finish();
    return kOk;
}

void add_bench_open(Tool &tool, Command &bench) {
    auto options = std::make_shared<OpenOptions>();
    Command sub = bench.add_command("open", "metadata-only open of a file with a large vocabulary");
    sub.option("FILE", options->file, "file to open (default a generated one)");
    sub.option("--tokens", options->tokens, "tokens of the generated file (default 262144)")
        .between(1u, 1u << 24);
    sub.option("-r,--rounds", options->repeats, "number of opens, for the median (default 20)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench open --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_open(tool.globals, *options); });
}

} // namespace ggufx::cli
