// ggufx bench model: tokens per second for every combination of the options: prompt processing,
// token generation or both, after a depth, in one sequence or many. Embedding models: texts to
// embeddings.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/embed_runs.hpp"
#include "bench/roofs.hpp"
#include "common/machine_memory.hpp"
#include "common/records.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ggufx/estimate.h>

namespace ggufx::cli {

namespace {

constexpr ProductMode kProductModes[] = {{"default", 0},
                                         {"row-wise", GGUFX_MATMUL_BATCH_INVARIANT},
                                         {"tiled", GGUFX_MATMUL_TILED},
                                         {"precise", GGUFX_MATMUL_INT16},
                                         {"f32", GGUFX_MATMUL_F32}};

enum class Format { table, markdown, csv, json, jsonl, sql };

struct ModelOptions {
    std::string model;
    std::vector<unsigned> prompts = {512}, predictions = {64}, depths = {0}; // tokens; 0: none
    std::vector<unsigned> sequences = {1}, batches = {512};
    std::vector<std::string> both;
    std::vector<std::string> types_k = {"f16"}, types_v = {"f16"}, products = {"default"};
    std::vector<std::string> guessers = {kGuesserNames[0]};
    std::string draft; // file of a draft model
    bool repeats = false;
    std::string text_file; // its token ids replace random ones
    unsigned rounds = 3;
    Format format = Format::table;
    ModelMaking making;
};

// Parses "512+64".
ModelTest parse_both(const std::string &text) {
    const size_t plus = text.find('+');
    const auto number = [&](const std::string &part) -> unsigned {
        const bool digits = !part.empty() && part.size() <= 7 &&
                            part.find_first_not_of("0123456789") == std::string::npos;
        const unsigned long n = digits ? std::stoul(part) : 0;
        if (n > 0 && n <= 1u << 20) return static_cast<unsigned>(n);
        throw Failure(kUsage, fmt::format("--prompt-predict: \"{}\" is not P+N, two numbers of "
                                          "tokens from 1 to {}",
                                          escape(text), 1u << 20));
    };
    if (plus == std::string::npos) return {number(""), 0};
    return {number(text.substr(0, plus)), number(text.substr(plus + 1))};
}

std::vector<ModelTest> tests_of(const ModelOptions &options) {
    std::vector<ModelTest> tests;
    for (const unsigned n : options.prompts)
        if (n) tests.push_back({n, 0});
    for (const unsigned n : options.predictions)
        if (n) tests.push_back({0, n});
    for (const std::string &text : options.both) tests.push_back(parse_both(text));
    if (tests.empty()) throw Failure(kUsage, "nothing to measure: --prompt-tokens and -n are 0");
    return tests;
}

std::vector<uint32_t> types_of(const std::vector<std::string> &names, const char *option) {
    std::vector<uint32_t> types;
    for (const std::string &name : names) types.push_back(kv_type_from_name(name, option));
    return types;
}

std::vector<const ProductMode *> modes_of(const std::vector<std::string> &names) {
    std::vector<const ProductMode *> modes;
    for (const std::string &name : names)
        for (const ProductMode &mode : kProductModes)
            if (mode.name == name) modes.push_back(&mode);
    return modes;
}

std::vector<DraftSource> guessers_of(const std::vector<std::string> &names) {
    std::vector<DraftSource> guessers;
    for (const std::string &name : names)
        for (const DraftSource guesser :
             {DraftSource::none, DraftSource::lookup, DraftSource::draft})
            if (name == kGuesserNames[static_cast<size_t>(guesser)]) guessers.push_back(guesser);
    return guessers;
}

void check_guesser(const ModelCase &which, const ModelOptions &options) {
    if (which.guesser == DraftSource::none) return;
    constexpr uint32_t kSame = GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_TILED;
    if (which.sequences != 1) throw Failure(kUsage, "--speculate needs --sequences 1");
    if (!(which.products->flags & kSame))
        throw Failure(kUsage, "--speculate needs --products row-wise or tiled");
    if (which.guesser == DraftSource::draft && options.draft.empty())
        throw Failure(kUsage, "--speculate draft needs --draft FILE");
}

// Returns sessions for all combinations, each with ascending depths.
std::vector<ModelCase> cases_of(const ModelOptions &options) {
    std::vector<ModelCase> cases;
    for (const uint32_t k : types_of(options.types_k, "--ctk"))
        for (const uint32_t v : types_of(options.types_v, "--ctv"))
            for (const unsigned sequences : options.sequences)
                for (const unsigned batch : options.batches)
                    for (const ProductMode *mode : modes_of(options.products))
                        for (const DraftSource guesser : guessers_of(options.guessers))
                            cases.push_back({k, v, sequences, batch, 0, mode, guesser});
    for (const ModelCase &which : cases) check_guesser(which, options);
    return cases;
}

// Touches all pages, if they fit into memory: afterwards they can be counted.
void touch_weights(const ggufx_file *file) {
    constexpr size_t kPage = 4096;
    if (file_facts(file).n_bytes > machine_memory() / 2) return;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        const ggufx_tensor *const tensor = ggufx_file_tensor(file, i);
        const auto *const data = static_cast<const volatile char *>(ggufx_tensor_data(tensor));
        const uint64_t n = data ? tensor_facts(tensor).n_bytes : 0;
        for (uint64_t at = 0; at < n; at += kPage) (void)data[at];
        check_interrupt();
    }
}

// The measurements of one runtime.
class ModelBench {
public:
    ModelBench(const Globals &globals, const ModelOptions &options, unsigned threads)
        : options_(options), tests_(tests_of(options)), depths_(options.depths) {
        Globals own = globals;
        own.threads = threads;
        rt_ = make_runtime(own);
        file_ = open_model(rt_.get(), options.model, options.making);
        model_ = make_model(rt_.get(), file_.get(), options.making);
        runtime_ = runtime_facts(rt_.get());
        facts_ = model_facts(model_.get());
        std::sort(depths_.begin(), depths_.end());
        touch_weights(file_.get());
        prepare_reads();
    }
    template <class Take> void run(Progress &progress, const Take &take) const {
        if (facts_.flags & GGUFX_MODEL_EMBEDDING_ONLY)
            run_embedder(progress, take);
        else
            run_session(progress, take);
    }

private:
    template <class Take> void run_session(Progress &progress, const Take &take) const;
    template <class Take> void run_embedder(Progress &progress, const Take &take) const;
    std::vector<ModelTest> text_tests() const;
    unsigned n_context() const {
        unsigned most = 0;
        for (const ModelTest &test : tests_) most = std::max(most, test.tokens());
        return std::max(depths_.back(), kLeastDraftDepth) + most;
    }
    TextIds text() const;
    Session session_of(const ModelCase &which) const {
        auto options = sized<ggufx_session_options>();
        options.n_context = n_context();
        options.n_batch = which.batch;
        options.n_sequences = which.sequences;
        options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
        options.type_k = which.type_k;
        options.type_v = which.type_v;
        if (which.guesser != DraftSource::none) options.matmul_flags = which.products->flags;
        return make_session(rt_.get(), file_.get(), model_.get(), options,
                            options_.making.group.n_ranks());
    }
    Json record(const ModelCase &which, const ModelTest &test, const Rates &rates,
                double read_gbps = NAN) const;
    bool has_huge_pages() const;
    void prepare_reads();
    double measured(ModelRuns &runs, const ModelCase &which, const ModelTest &test, unsigned depth,
                    Progress &progress, Rates &rates) const;

    const ModelOptions &options_;
    const std::vector<ModelTest> tests_;
    std::vector<unsigned> depths_;
    Runtime rt_;
    File file_;
    Model model_;
    ggufx_runtime_facts runtime_ = {};
    ggufx_model_facts facts_ = {};
    PageSize pages_ = PageSize::small; // most weights
    std::unique_ptr<ColdBuffer> cold_; // such pages, for plain reads; null: they are not compared
    uint64_t token_bytes_ = 0;         // weights that a token reads
};

bool ModelBench::has_huge_pages() const {
    const ggufx_file_memory_facts memory = file_memory(file_.get());
    return memory.huge_bytes != GGUFX_NONE && memory.huge_bytes > memory.resident_bytes / 2;
}

// Token generation has a share of plain reads.
void ModelBench::prepare_reads() {
    const bool generates = std::any_of(tests_.begin(), tests_.end(),
                                       [](const ModelTest &test) { return !test.prompt; });
    ggufx_estimate_facts estimate = {};
    estimate.struct_size = sizeof estimate;
    if (!generates || options_.making.group.is_set() || options_.making.device.any() ||
        ggufx_estimate(&estimate, rt_.get(), file_.get(), nullptr, nullptr) != GGUFX_OK)
        return;
    token_bytes_ = estimate.token_weight_bytes;
    pages_ = has_huge_pages() ? PageSize::huge : PageSize::small;
    cold_ = std::make_unique<ColdBuffer>(kColdBytes, pages_);
    cold_->fill(std::vector<uint8_t>(1u << 20, 1));
}

// Measures a test, and plain reads by the same threads before and after it. Returns their GB/s, or
// NAN for tests that do not read the weights once for each token: prompts and draft tokens share a
// read, and experts of several sequences differ.
double ModelBench::measured(ModelRuns &runs, const ModelCase &which, const ModelTest &test,
                            unsigned depth, Progress &progress, Rates &rates) const {
    constexpr unsigned kReads = 3; // each time
    const bool reads =
        cold_ && !test.prompt && which.sequences == 1 && which.guesser == DraftSource::none;
    ReadRoof roof(runtime_.threads, Clock::wall);
    const auto read = [&] {
        for (unsigned i = 0; reads && i < kReads; i++) roof.measure(rt_.get(), *cold_);
    };
    read();
    rates = runs.measure(test, depth, options_.rounds, progress);
    read();
    return reads ? roof.gbps() : NAN;
}

TextIds ModelBench::text() const {
    const uint32_t n_vocab = facts_.n_vocab;
    if (options_.text_file.empty())
        return options_.repeats ? repeating_text(n_context(), n_vocab)
                                : random_text(n_context(), n_vocab);
    const Tokenizer tokenizer = make_tokenizer(file_.get());
    TextIds ids = tokenize(tokenizer.get(), read_text(options_.text_file), 0);
    if (ids.size() < n_context())
        throw Failure(kUsage, fmt::format("\"{}\" has {} tokens, the tests need {}",
                                          escape(options_.text_file), ids.size(), n_context()));
    ids.resize(n_context());
    return ids;
}

struct Spread {
    double mean, deviation; // sample mean, sample deviation
};

Spread spread_of(const std::vector<double> &values) {
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / n) * (value - sum / n);
    return {sum / n, n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

Json ModelBench::record(const ModelCase &which, const ModelTest &test, const Rates &rates,
                        double read_gbps) const {
    const Spread spread = spread_of(rates.per_second);
    const double gbps = spread.mean * static_cast<double>(token_bytes_) / 1e9;
    Json line = json_object();
    line.update({{"bench", "model"},
                 {"version", ggufx_version()},
                 {"isa", runtime_.isa_name},
                 {"threads", runtime_.threads},
                 {"ranks", options_.making.group.n_ranks()},
                 {"model", json_bytes(options_.model)},
                 {"architecture", facts_.architecture},
                 {"parameters", facts_.n_parameters},
                 {"weight_bytes", facts_.weight_bytes},
                 {"test", test.name()},
                 {"n", test.tokens()},
                 {"n_prompt", test.prompt},
                 {"n_predict", test.predict},
                 {"depth", which.depth},
                 {"sequences", which.sequences},
                 {"n_batch", which.batch},
                 {"ctk", type_name(which.type_k)},
                 {"ctv", type_name(which.type_v)},
                 {"products", which.products->name},
                 {"speculate", kGuesserNames[static_cast<size_t>(which.guesser)]},
                 {"text", !options_.text_file.empty() ? "file"
                          : options_.repeats          ? "repeat"
                                                      : "random"},
                 {"rounds", options_.rounds},
                 {"tps", spread.mean},
                 {"tps_deviation", spread.deviation},
                 {"pages", pages_ == PageSize::huge ? "huge" : "small"},
                 {"gbps", std::isnan(read_gbps) ? NAN : gbps},
                 {"read_gbps", read_gbps},
                 {"ratio", gbps / read_gbps},
                 {"accepted", rates.accepted}});
    return line;
}

template <class Take> void ModelBench::run_session(Progress &progress, const Take &take) const {
    const TextIds text = this->text();
    for (ModelCase which : cases_of(options_)) {
        ModelRuns runs(rt_.get(), session_of(which), which, facts_.n_vocab, text, options_.draft);
        for (const unsigned depth : depths_) {
            which.depth = depth;
            // Drafting continues from a token: without a depth, the first one is in the context.
            const unsigned there =
                which.guesser == DraftSource::none ? depth : std::max(depth, kLeastDraftDepth);
            for (const ModelTest &test : tests_) {
                Rates rates;
                const double read_gbps = measured(runs, which, test, there, progress, rates);
                take(record(which, test, rates, read_gbps));
            }
        }
    }
}

// Returns tests with one text per sequence; token generation is skipped.
std::vector<ModelTest> ModelBench::text_tests() const {
    std::vector<ModelTest> texts;
    for (const ModelTest &test : tests_)
        if (!test.predict) texts.push_back(test);
    const auto refuse = [this](const char *why) {
        throw Failure(
            kUsage, fmt::format("\"{}\" does not generate text: {}", escape(options_.model), why));
    };
    if (texts.empty()) refuse("use --prompt-tokens for the length of its texts");
    if (depths_.back() > 0) refuse("remove -d");
    if (options_.making.group.n_ranks() > 1) refuse("it runs on one rank");
    return texts;
}

template <class Take> void ModelBench::run_embedder(Progress &progress, const Take &take) const {
    const std::vector<ModelTest> tests = text_tests();
    unsigned longest = 0;
    for (const ModelTest &test : tests) longest = std::max(longest, test.prompt);
    for (const ModelCase &which : cases_of(options_)) {
        if (which.guesser != DraftSource::none)
            throw Failure(kUsage, "--speculate needs a model that generates text");
        EmbedRuns runs(model_.get(), which, text(), longest);
        for (const ModelTest &test : tests) {
            Json line = record(which, test, runs.measure(test, options_.rounds, progress));
            line["ctk"] = line["ctv"] = Json(); // nothing is cached
            take(line);
        }
    }
}

// Prints rows as they come if the format allows it, otherwise a table at the end.
class ModelReport {
public:
    ModelReport(const Globals &globals, Format format)
        : globals_(globals), format_(format), out_(globals),
          table_({"test", ">sequences", ">depth", ">batch", ">threads", "k", "v", "products",
                  "draft", ">accepted", ">tokens/s", ">+-", ">GB/s", ">of read"}) {
        table_.essential({"test", "tokens/s"});
        table_.dispensable({"batch", "threads", "products", "draft", "accepted"});
    }

    void take(const Json &line) {
        if (globals_.json || format_ == Format::jsonl) return print_json_line(out_, line);
        if (format_ == Format::json)
            return out_.write((n_rows_++ == 0 ? "[\n" : ",\n") + line.dump());
        if (format_ == Format::csv) return print_csv(out_, line, n_rows_++ == 0);
        if (format_ == Format::sql) return print_sql(out_, line, "bench_model", n_rows_++ == 0);
        const auto cell = [&](const char *key) {
            return line.find(key)->is_null() ? "" : field_text(*line.find(key));
        };
        const auto rate = [&](const char *key) {
            return fmt::format("{:.2f}", line.find(key)->number().value_or(0));
        };
        const auto optional_rate = [&](const char *key) {
            return line.find(key)->number() ? rate(key) : "";
        };
        const std::optional<double> accepted = line.find("accepted")->number();
        table_.row({cell("test"), cell("sequences"), cell("depth"), cell("n_batch"),
                    cell("threads"), cell("ctk"), cell("ctv"), cell("products"), cell("speculate"),
                    accepted ? fmt::format("{:.0f} %", 100 * *accepted) : "", rate("tps"),
                    rate("tps_deviation"), optional_rate("gbps"), optional_rate("ratio")});
    }
    void finish() {
        if (!table_.empty() && format_ == Format::markdown)
            table_.print_markdown(out_);
        else if (!table_.empty())
            table_.print(out_, make_style(globals_, out_));
        if (format_ == Format::json && n_rows_ > 0) out_.write("\n]\n");
        out_.finish();
    }

private:
    const Globals &globals_;
    const Format format_;
    Output out_;
    Table table_;
    size_t n_rows_ = 0;
};

int bench_model(const Globals &globals, const ModelOptions &options) {
    (void)tests_of(options); // checked before anything is opened
    (void)cases_of(options);
    Progress progress(globals, "bench model");
    ModelReport report(globals, options.format);
    for (const unsigned threads : globals.thread_counts)
        ModelBench(globals, options, threads).run(progress, [&](const Json &line) {
            report.take(line);
        });
    progress.update(options.rounds, options.rounds);
    report.finish();
    return kOk;
}

int bench_ranks(const Globals &globals, ModelOptions &options) {
    GroupChoice &group = options.making.group;
    refuse_stdin(group, options.text_file);
    return run_as_rank(globals, group, options.model,
                       [&](const Globals &own) { return bench_model(own, options); });
}

void add_tests(Command &sub, ModelOptions &options) {
    constexpr uint64_t kMost = 1u << 20;
    sub.option("--prompt-tokens", options.prompts,
               "numbers of prompt tokens to prefill (default 512)")
        .list()
        .between(0, kMost);
    sub.option("-n,--predict", options.predictions,
               "numbers of tokens to decode one by one (default 64)")
        .list()
        .between(0, kMost);
    sub.option("--prompt-predict", options.both,
               "prefill of P tokens and decode of N tokens as one test")
        .list()
        .value("P+N");
    sub.option("-d,--depth", options.depths,
               "numbers of tokens in the KV cache before a test (default 0)")
        .list()
        .between(0, kMost);
    sub.option("--sequences", options.sequences, "numbers of parallel sequences (default 1)")
        .list()
        .between(1, 1024);
    sub.option("--speculate", options.guessers,
               "speculative decoding of the tokens of -n; needs --products row-wise or tiled "
               "(default none)")
        .list()
        .one_of({std::begin(kGuesserNames), std::end(kGuesserNames)});
    sub.option("--draft", options.draft,
               "draft model with the same vocabulary, for --speculate draft")
        .value("FILE");
    Option text = sub.choice(
        "--text", {"random", "repeat"}, [&options](size_t index) { options.repeats = index == 1; },
        "token ids of a test: random, or repeat = spans of 60 earlier ids, each followed by a few "
        "new ones (default random)");
    sub.option("--text-file", options.text_file, "take the token ids from this text")
        .value("FILE")
        .excludes(text);
    sub.option("-r,--rounds", options.rounds,
               "number of rounds, for mean and standard deviation (default 3)")
        .between(1u, 1000u);
}

} // namespace

void add_bench_model(Tool &tool, Command &bench) {
    auto options = std::make_shared<ModelOptions>();
    Command sub = bench.add_command("model", "tokens per second of a model");
    sub.option("MODEL", options->model, "GGUF file").required();
    add_tests(sub, *options);
    sub.option("--batch", options->batches,
               "maximum numbers of tokens computed at once (default 512)")
        .list()
        .between(1, 1u << 20);
    sub.option("--ctk", options->types_k, "KV cache types of keys (default f16)")
        .list()
        .value("KVTYPE");
    sub.option("--ctv", options->types_v, "KV cache types of values (default f16)")
        .list()
        .value("KVTYPE");
    std::vector<std::string> modes;
    for (const ProductMode &mode : kProductModes) modes.emplace_back(mode.name);
    sub.option("--products", options->products,
               "kind of matrix products; with row-wise and tiled, sequences do not affect each "
               "other (default default)")
        .list()
        .one_of(modes);
    sub.choice(
        "--format", {"table", "md", "csv", "json", "jsonl", "sql"},
        [options](size_t index) { options->format = static_cast<Format>(index); },
        "format of the results; json = one array, jsonl = lines as --json (default table)");
    options->making.group.loading = Loading::automatic;
    add_model_options(sub, options->making);
    add_group_options(sub, options->making.group);
    sub.examples(
        "  ggufx bench model model.gguf --prompt-tokens 512 --ctk gx4 --ctv gx3\n"
        "  ggufx bench model model.gguf --prompt-tokens 0 --sequences 8 "
        "--products tiled\n"
        "  ggufx bench model model.gguf --products tiled --speculate lookup --text repeat\n"
        "  ggufx bench model model.gguf -d 0,4096 -t 1,2 --format csv\n"
        "  mpirun -np 2 ggufx bench model model.gguf -t 8 --group mpi");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_ranks(tool.globals, *options); });
}

} // namespace ggufx::cli
