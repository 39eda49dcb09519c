// ggufx bench grammar: time to create a grammar, and time of token masks along a text. The masks
// are measured with a new grammar, and again with the same text.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "models/grammar_choice.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct BenchGrammarOptions {
    std::string model, text;
    GrammarChoice grammar;
    unsigned repeats = 5;
};

// CPU time in seconds.
struct Pass {
    std::vector<double> masks, accepts; // per token
};

struct TimeSpread {
    double median, p99, most;
};

} // namespace

static TimeSpread spread(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(0.5), at(0.99), values.back()};
}

// Tokenizes without the space that some tokenizers add before a text, by adding a line before it.
static std::vector<int32_t> ids_of(const ggufx_tokenizer *tokenizer, const std::string &text) {
    const std::vector<int32_t> line = tokenize(tokenizer, "\n", 0);
    std::vector<int32_t> ids = tokenize(tokenizer, "\n" + text, 0);
    if (ids.size() < line.size() || !std::equal(line.begin(), line.end(), ids.begin()))
        return tokenize(tokenizer, text, 0);
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(line.size()));
    return ids;
}

// Computes a mask before each token of a text.
static void follow(Pass &out, const ggufx_grammar *grammar, const std::vector<int32_t> &ids) {
    const Matcher matcher = make_matcher(grammar);
    const auto info = facts<ggufx_matcher_facts>([&](ggufx_matcher_facts *to, ggufx_error *error) {
        return ggufx_matcher_info(to, matcher.get(), error);
    });
    std::vector<uint32_t> bits(info.n_words);
    for (const int32_t id : ids) {
        out.masks.push_back(seconds_of(Clock::cpu, 1, [&] {
            call([&](ggufx_error *error) {
                return ggufx_matcher_mask(bits.data(), bits.size(), matcher.get(), error);
            });
        }));
        out.accepts.push_back(seconds_of(Clock::cpu, 1, [&] {
            call([&](ggufx_error *error) {
                return ggufx_matcher_accept(matcher.get(), &id, 1, error);
            });
        }));
    }
}

static Json spread_json(const TimeSpread &s) {
    return Json{{"median", s.median * 1e6}, {"p99", s.p99 * 1e6}, {"max", s.most * 1e6}};
}

static std::string spread_text(const TimeSpread &s) {
    return fmt::format("median {:.1f} us, p99 {:.1f} us, most {:.1f} us", s.median * 1e6,
                       s.p99 * 1e6, s.most * 1e6);
}

static int bench_grammar(const Globals &globals, const BenchGrammarOptions &options) {
    if (!options.grammar.is_set()) throw Failure(kUsage, "--grammar or --json-schema is required");
    const std::string source = grammar_text(options.grammar);
    const Runtime rt = make_runtime(globals);
    const File file = open_file(rt.get(), options.model, GGUFX_OPEN_METADATA_ONLY);
    const Tokenizer tokenizer = make_tokenizer(file.get());
    const ggufx_tokenizer_facts info = tokenizer_facts(tokenizer.get());
    std::string text = options.text.empty() ? "" : read_text(options.text);
    if (text.ends_with('\n')) text.pop_back(); // the file's newline, not the text's
    const std::vector<int32_t> ids =
        text.empty() ? std::vector<int32_t>() : ids_of(tokenizer.get(), text);
    Grammar grammar;
    std::vector<double> creates;
    Pass fresh, again;
    const auto create = [&] {
        return seconds_of(Clock::cpu, 1, [&] {
            grammar = make_grammar(rt.get(), tokenizer.get(), options.grammar, source);
        });
    };
    const double first = create(); // creates data that all grammars of the tokenizer share
    for (unsigned r = 0; r < options.repeats; r++) {
        check_interrupt();
        creates.push_back(create());
        follow(fresh, grammar.get(), ids);
        follow(again, grammar.get(), ids);
    }
    const double made = median(creates), shared = std::max(first - made, 0.0);
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"bench", "grammar"},
                         {"tokens", info.n_tokens},
                         {"clock", "cpu"},
                         {"vocabulary_ms", shared * 1e3},
                         {"create_ms", made * 1e3},
                         {"ids", ids.size()}});
        if (!ids.empty())
            line.update(Json{{"mask_us", spread_json(spread(fresh.masks))},
                             {"mask_again_us", spread_json(spread(again.masks))},
                             {"accept_us", spread_json(spread(fresh.accepts))}});
        print_json(out, line);
    } else {
        out.write(fmt::format("{} tokens, once {:.1f} ms; the grammar {:.2f} ms\n", info.n_tokens,
                              shared * 1e3, made * 1e3));
        if (!ids.empty())
            out.write(fmt::format("{} ids, each mask {}\n  again {}\n  accepting {}\n", ids.size(),
                                  spread_text(spread(fresh.masks)),
                                  spread_text(spread(again.masks)),
                                  spread_text(spread(fresh.accepts))));
    }
    out.finish();
    return kOk;
}

void add_bench_grammar(Tool &tool, Command &bench) {
    auto options = std::make_shared<BenchGrammarOptions>();
    Command sub =
        bench.add_command("grammar", "compile a grammar, compute the token masks of a text");
    sub.option("MODEL", options->model, "GGUF file").required();
    add_grammar_options(sub, options->grammar, "the text");
    sub.option("-f,--file", options->text, "text to match, from FILE (- = stdin)").value("FILE");
    sub.option("-r,--rounds", options->repeats, "number of repetitions (default 5)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench grammar model.gguf --json-schema person.json -f ada.json");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_grammar(tool.globals, *options); });
}

} // namespace ggufx::cli
