// ggufx bench tokenize: time to open a vocabulary, its memory, and tokenization speed.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/counting.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct TokenizeOptions {
    std::string model, text;
    unsigned repeats = 5;
};

struct OpenedTokenizer {
    double seconds = 0;
    uint64_t heap = 0, peak = 0; // bytes of the tokenizer alone
};

struct CutText {
    double seconds = 0;
    size_t n_ids = 0;
};

} // namespace

static OpenedTokenizer measure_open(Counter &counter, const ggufx_file *file, unsigned repeats) {
    OpenedTokenizer out;
    std::vector<double> times;
    for (unsigned r = 0; r < repeats; r++) {
        check_interrupt();
        const uint64_t before = counter.now;
        counter.peak = counter.now;
        Tokenizer tokenizer;
        times.push_back(seconds_of(Clock::cpu, 1, [&] { tokenizer = make_tokenizer(file); }));
        out.heap = counter.now - before;
        out.peak = counter.peak - before;
    }
    out.seconds = median(times);
    return out;
}

// The first round, which meets each word for the first time, does not count.
static CutText measure_cut(const ggufx_tokenizer *tokenizer, const std::string &text,
                           unsigned repeats) {
    CutText out;
    std::vector<double> times;
    std::vector<int32_t> ids(text.size() + 2);
    for (unsigned r = 0; r <= repeats; r++) {
        check_interrupt();
        const double seconds = seconds_of(Clock::cpu, 1, [&] {
            call([&](ggufx_error *error) {
                return ggufx_tokenize(ids.data(), ids.size(), &out.n_ids, tokenizer, text.data(),
                                      text.size(), 0, error);
            });
        });
        if (r > 0) times.push_back(seconds);
    }
    out.seconds = median(times);
    return out;
}

static uint64_t n_merges(const ggufx_file *file) {
    constexpr std::string_view key = "tokenizer.ggml.merges";
    size_t index = 0;
    ggufx_error none;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), &none) != GGUFX_OK) return 0;
    return facts<ggufx_meta_facts>([&](ggufx_meta_facts *out, ggufx_error *error) {
               return ggufx_file_meta_at(out, file, index, error);
           })
        .count;
}

static int bench_tokenize(const Globals &globals, const TokenizeOptions &options) {
    const std::string text = options.text.empty() ? "" : read_text(options.text);
    Counter counter;
    const Runtime rt = counting_runtime(counter);
    const File file = open_file(rt.get(), options.model, GGUFX_OPEN_METADATA_ONLY);
    const OpenedTokenizer opened = measure_open(counter, file.get(), options.repeats);
    const Tokenizer tokenizer = make_tokenizer(file.get());
    const CutText cut =
        text.empty() ? CutText() : measure_cut(tokenizer.get(), text, options.repeats);
    const double speed = text.empty() ? 0 : static_cast<double>(text.size()) * 1e-6 / cut.seconds;
    const ggufx_tokenizer_facts info = tokenizer_facts(tokenizer.get());
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"bench", "tokenize"},
                         {"vocabulary", info.kind},
                         {"pre", info.pre ? Json(info.pre) : Json()},
                         {"tokens", info.n_tokens},
                         {"merges", n_merges(file.get())},
                         {"clock", "cpu"},
                         {"open_ms", opened.seconds * 1e3},
                         {"heap_bytes", opened.heap},
                         {"heap_peak_bytes", opened.peak}});
        if (!text.empty())
            line.update(Json{{"text_bytes", text.size()}, {"ids", cut.n_ids}, {"mb_per_s", speed}});
        print_json(out, line);
    } else {
        out.write(fmt::format("{} tokens, {} merges: open {:.1f} ms, {} of heap (peak {})\n",
                              info.n_tokens, n_merges(file.get()), opened.seconds * 1e3,
                              bytes_text(opened.heap), bytes_text(opened.peak)));
        if (!text.empty())
            out.write(fmt::format("{} of text, {} ids: {:.1f} MB/s\n", bytes_text(text.size()),
                                  cut.n_ids, speed));
    }
    out.finish();
    return kOk;
}

void add_bench_tokenize(Tool &tool, Command &bench) {
    auto options = std::make_shared<TokenizeOptions>();
    Command sub = bench.add_command("tokenize", "open a vocabulary, tokenize a text");
    sub.option("MODEL", options->model, "GGUF file").required();
    sub.option("-f,--file", options->text, "also tokenize the text of FILE (- = stdin)")
        .value("FILE");
    sub.option("-r,--rounds", options->repeats, "number of runs, for the median (default 5)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench tokenize model.gguf -f book.txt");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_tokenize(tool.globals, *options); });
}

} // namespace ggufx::cli
