// ggufx run: generate text or ids from a model.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "common/signals.hpp"
#include "models/text_model.hpp"
#include "run/generate.hpp"

#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

struct RunOptions {
    std::string model;
    std::string prompt;
    std::string prompt_file;
    std::string tokens;
    std::string logits;
    GrammarChoice grammar;
    std::vector<std::string> stops;
    bool echo = false;
    GenerateOptions generate;
};

} // namespace

static std::vector<int32_t> prompt_ids(const Generator &generator, const RunOptions &options,
                                       std::string &text) {
    const bool resumes = !options.generate.resume.empty();
    if (!options.tokens.empty()) return parse_ids(options.tokens, "--tokens");
    text = options.prompt_file.empty() ? options.prompt : read_utf8(options.prompt_file);
    require_utf8(text, "--prompt", kUsage);
    if (resumes && text.empty()) return {};
    std::vector<int32_t> ids = generator.tokenize(text, !resumes);
    if (ids.empty()) throw Failure(kUsage, "the prompt is empty and the model has no first token");
    return ids;
}

// The last line has the totals of the generation.
static Json token_json(const Token &token, const SamplingOptions &sampling) {
    Json line = json_object();
    line["id"] = token.id;
    line["piece"] = token.piece ? json_bytes(*token.piece) : Json();
    line["logprob"] = token.logprob;
    if (token.finish == Finish::none) return line;
    line["finish_reason"] = finish_reason(token.finish);
    line["context_full"] = token.finish == Finish::context;
    line["seed"] = sampling.seed;
    return line;
}

// Prints prompt size and speed on a terminal.
static void remark(const Globals &globals, const Generator &generator, size_t n_prompt,
                   size_t n_tokens, double seconds) {
    if (globals.quiet || isatty(STDERR_FILENO) != 1) return;
    const double rate = seconds > 0 ? static_cast<double>(n_tokens) / seconds : 0;
    const std::string text = fmt::format("\n{} prompt tokens, {} tokens in {} ({:.1f} tokens/s)\n",
                                         n_prompt, n_tokens, time_text(seconds), rate);
    std::fputs(text.c_str(), stderr);
    if (!generator.speculates()) return;
    std::fputs((acceptance_text(generator.drafter()) + "\n").c_str(), stderr);
}

static void check_options(const RunOptions &options) {
    if (options.generate.drafter.any() && !options.logits.empty())
        throw Failure(kUsage, "--logits cannot be used with --draft or --lookup");
    if (options.generate.drafter.any() && options.generate.is_kept())
        throw Failure(kUsage, "--save and --resume cannot be used with --draft or --lookup");
}

// Saves a snapshot after a failed generation; on a group, one rank writes it.
static void save_what_is_left(const Generator &generator, const GenerateOptions &options,
                              const Failure &why) {
    if (options.save.empty() || !tells_of(options.session.making.group, why)) return;
    generator.save(options.save);
}

static int run(const Globals &globals, RunOptions &options) {
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const GroupChoice &group = options.generate.session.making.group;
    const File file = open_file(rt.get(), options.model, 0, &cancel, group.io());
    use_model_sampling(globals, options.generate.sampling, model_sampling(file.get()));
    choose_seed(globals, options.generate.sampling, group);
    Generator generator(rt.get(), file.get(), options.generate);
    if (options.grammar.is_set()) generator.keep_to(rt.get(), options.grammar);
    if (!options.generate.resume.empty()) (void)generator.resume(options.generate.resume);
    std::string prompt;
    const std::vector<int32_t> ids = prompt_ids(generator, options, prompt);
    generator.require_room(ids.size());

    const bool writes = options.generate.session.making.group.is_first();
    Output out(globals);
    std::optional<Output> logits;
    if (!options.logits.empty()) // computed by all ranks
        logits.emplace(writes ? options.logits : "/dev/null", globals.force);
    if (!globals.json && (options.echo || out.is_terminal())) {
        const Style style = make_style(globals, out);
        out.write(style.dim + (out.is_terminal() ? escape_controls(prompt) : prompt) + style.reset);
    }
    TextStream stream(globals.json ? nullptr : &out, options.stops);
    size_t n_tokens = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto show = [&](Token &token) {
        n_tokens++;
        const std::string bare = fmt::format("{} ", token.id);
        if (!stream.add(token.piece ? *token.piece : bare)) token.finish = Finish::stop;
        if (globals.json) print_json_line(out, token_json(token, options.generate.sampling));
    };
    Finish finish = Finish::none;
    try {
        finish =
            generate(generator, ids, options.generate.n_predict, logits ? &*logits : nullptr, show);
    } catch (const Failure &why) {
        if (!globals.json) out.end_line(); // notes go below the text
        save_what_is_left(generator, options.generate, why);
        throw;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    stream.finish();
    if (!globals.json) out.write("\n");
    out.finish();
    if (logits) logits->finish();
    if (!options.generate.save.empty() && writes) generator.save(options.generate.save);
    if (finish == Finish::context && !globals.json) say_context_full(globals, generator, "--ctx");
    remark(globals, generator, ids.size(), n_tokens, elapsed.count());
    return kOk;
}

static int run_ranks(const Globals &globals, RunOptions &options) {
    GroupChoice &group = options.generate.session.making.group;
    check_options(options);
    refuse_stdin(group, options.prompt_file);
    return run_as_rank(globals, group, options.model,
                       [&](const Globals &own) { return run(own, options); });
}

void add_run(Tool &tool) {
    auto options = std::make_shared<RunOptions>();
    Command sub = tool.app.add_command("run", "generate text from a model");
    sub.option("MODEL", options->model, "GGUF file").required();
    Option argument = sub.option("PROMPT", options->prompt, "text to continue, as --prompt");
    Option prompt = sub.option("-p,--prompt", options->prompt, "text to continue");
    Option file =
        sub.option("-f,--file", options->prompt_file, "read the prompt from FILE (- = stdin)")
            .value("FILE");
    Option tokens = sub.option("--tokens", options->tokens,
                               "prompt as token ids, 1,2,3; no special tokens are added")
                        .value("IDS");
    argument.excludes(prompt).excludes(file).excludes(tokens);
    prompt.excludes(file).excludes(tokens);
    file.excludes(tokens);
    add_generate_options(sub, options->generate);
    add_draft_options(sub, options->generate.drafter);
    sub.option("--save", options->generate.save,
               "write the token ids and the KV cache to FILE at the end, also after an error or an "
               "interrupt; with --group the token ids only")
        .value("FILE");
    sub.option("--resume", options->generate.resume,
               "continue a generation that --save wrote, with a prompt or without")
        .value("FILE");
    sub.option("--stop", options->stops, "stop string: end the generation before this text")
        .repeatable();
    add_grammar_options(sub, options->grammar, "the text");
    sub.option("--logits", options->logits,
               "write the logits of all positions as raw f32 [positions][vocabulary]")
        .value("FILE");
    add_group_options(sub, options->generate.session.making.group);
    sub.flag("--echo", options->echo, "print the prompt too (always on a terminal)");
    sub.examples("  ggufx run model.gguf \"Once upon a time\" --temp 0\n"
                 "  ggufx run model.gguf -f report.txt --lookup\n"
                 "  ggufx run model.gguf -p Name: --grammar 'root ::= [A-Z] [a-z]+'\n"
                 "  ggufx run model.gguf --tokens 1,403,407 -n 20 --json\n"
                 "  ggufx run model.gguf -f prompt.txt -n 0 --logits logits.f32\n"
                 "  ggufx run model.gguf -p Once -n 100 --save text.session\n"
                 "  ggufx run model.gguf --resume text.session -n 100\n"
                 "  mpirun -np 4 ggufx run model.gguf -p \"Once upon\" -t 8 --group mpi");
    tool.verbs.emplace_back(sub, [&tool, options] { return run_ranks(tool.globals, *options); });
}

} // namespace ggufx::cli
