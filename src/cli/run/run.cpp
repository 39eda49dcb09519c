// ggufx run: generate text or ids from a model.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "models/sampling_defaults.hpp"
#include "models/text_model.hpp"
#include "run/generate.hpp"
#include "run/snapshot.hpp"

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
    std::string save, resume; // paths of snapshots; empty: none
    bool echo = false;
    GenerateOptions generate;
};

// Prints the text as it comes, or a line per token.
class Printer {
public:
    Printer(const Globals &globals, Output &out, const GeneratingModel &generation)
        : json_(globals.json), out_(out), generation_(generation) {}
    void take(const ggufx_event &event) {
        if (event.kind == GGUFX_EVENT_END && event.end == GGUFX_END_STOP)
            stop_ = generation_.options().stops[event.index];
        if (json_) return list(event);
        std::string text(view(event.text));
        if (event.kind == GGUFX_EVENT_TEXT && !generation_.has_tokenizer())
            text = fmt::format("{} ", event.tokens[0].id);
        if (!text.empty()) out_.write(out_.is_terminal() ? escape_controls(text) : text);
        if (!text.empty()) out_.flush();
        n_printed_ += event.n_tokens;
    }

    size_t n_printed() const { return n_printed_; } // tokens

    // Returns the stop string that has ended the generation; empty: none.
    const std::string &stop() const { return stop_; }

private:
    void list(const ggufx_event &event);
    void print_line(Json id, Json piece, Json logprob, bool is_last);
    Json piece(int32_t id) const {
        if (!generation_.has_tokenizer()) return {};
        const uint32_t flags = GGUFX_DETOKENIZE_KEEP_SPACE;
        return json_bytes(detokenize(generation_.tokenizer(), {&id, 1}, flags));
    }

    const bool json_;
    Output &out_;
    const GeneratingModel &generation_;
    std::string stop_;
    size_t n_printed_ = 0;
    bool has_totals_ = false;
};

} // namespace

void Printer::print_line(Json id, Json piece, Json logprob, bool is_last) {
    Json line = json_object();
    line["id"] = std::move(id);
    line["piece"] = std::move(piece);
    line["logprob"] = std::move(logprob);
    if (is_last) { // the totals of the generation
        const ggufx_end end = generation_.facts().end;
        line["finish_reason"] = finish_reason(end);
        line["context_full"] = end == GGUFX_END_CONTEXT;
        line["seed"] = generation_.options().sampling.seed;
        if (!stop_.empty()) line["stop"] = stop_;
        has_totals_ = true;
    }
    print_json_line(out_, line);
}

// Tokens of a stop string are in no event: their lines have no log-probability.
void Printer::list(const ggufx_event &event) {
    const ggufx_generator_facts facts = generation_.facts();
    const bool has_ended = facts.end != GGUFX_END_NONE && facts.end != GGUFX_END_CANCELLED;
    const auto print = [&](int32_t id, const Json &logprob) {
        print_line(id, piece(id), logprob, has_ended && n_printed_ + 1 == facts.n_tokens);
        n_printed_++;
    };
    for (size_t i = 0; i < event.n_tokens; i++) print(event.tokens[i].id, event.tokens[i].logprob);
    if (event.kind != GGUFX_EVENT_END) return;
    const std::vector<int32_t> ids = generator_tokens(generation_.generator());
    while (n_printed_ < facts.n_tokens) print(ids[facts.n_prompt + n_printed_], Json());
    if (has_ended && !has_totals_) print_line(Json(), Json(), Json(), true);
}

static std::vector<int32_t> prompt_ids(const GeneratingModel &generation, const RunOptions &options,
                                       std::string &text) {
    const bool resumes = !options.resume.empty();
    if (!options.tokens.empty()) return parse_ids(options.tokens, "--tokens");
    text = options.prompt_file.empty() ? options.prompt : read_utf8(options.prompt_file);
    require_utf8(text, "--prompt", kUsage);
    if (resumes && text.empty()) return {};
    std::vector<int32_t> ids =
        tokenize(generation.tokenizer(), text, resumes ? 0 : GGUFX_TOKENIZE_ADD_SPECIAL);
    if (ids.empty()) throw Failure(kUsage, "the prompt is empty and the model has no first token");
    return ids;
}

static std::string end_text(ggufx_end end, const std::string &stop) {
    if (end == GGUFX_END_STOP) return ", ended by the stop string " + in_quotes(stop);
    if (end == GGUFX_END_EOG) return ", ended by the model";
    if (end == GGUFX_END_GRAMMAR) return ", ended by the grammar";
    return end == GGUFX_END_LENGTH ? ", ended by -n" : "";
}

// Prints prompt size, speed and the reason of the end on a terminal.
static void remark(const Globals &globals, const GeneratingModel &generation,
                   const std::string &stop, bool has_drafts, double seconds) {
    if (globals.quiet || isatty(STDERR_FILENO) != 1) return;
    const ggufx_generator_facts facts = generation.facts();
    const double rate = seconds > 0 ? static_cast<double>(facts.n_tokens) / seconds : 0;
    const std::string text =
        fmt::format("\n{} prompt tokens, {} tokens in {} ({:.1f} tokens/s){}\n", facts.n_prompt,
                    facts.n_tokens, time_text(seconds), rate, end_text(facts.end, stop));
    std::fputs(text.c_str(), stderr);
    if (!has_drafts) return;
    std::fputs((acceptance_text(facts.n_accepted, facts.n_drafted) + "\n").c_str(), stderr);
}

// Saves a snapshot after a failed generation; on a group, one rank writes it.
// The snapshot has the tokens that were printed: a signal also ends the printing.
static void save_what_is_left(const GeneratingModel &generation, const std::string &path,
                              size_t n_printed, const Failure &why) {
    const GroupChoice &group = generation.options().session.making.group;
    if (path.empty() || !tells_of(group, why)) return;
    try {
        if (!group.is_set()) hold(generation, generation.facts().n_prompt + n_printed);
    } catch (const Failure &) {} // the snapshot lacks the last token
    save(generation, path);
}

static int run(const Globals &globals, RunOptions &options) {
    const Runtime rt = make_runtime(globals);
    GenerateOptions &of = options.generate;
    const GroupChoice &group = of.session.making.group;
    const File file = open_model(rt.get(), options.model, of.session.making);
    use_model_sampling(globals, of.sampling, model_sampling(file.get()));
    choose_seed(globals, of.sampling, group);
    of.logprobs = globals.json;
    const GeneratingModel generation(rt.get(), file.get(), of);
    if (!options.resume.empty()) resume(generation, options.resume);
    const uint64_t n_resumed = generation.n_held();
    std::string prompt;
    set_prompt(generation, prompt_ids(generation, options, prompt));

    const bool writes = group.is_first();
    Output out(globals);
    std::optional<Output> logits;
    if (!options.logits.empty()) // computed by all ranks
        logits.emplace(writes ? options.logits : "/dev/null", globals.force);
    if (!globals.json && (options.echo || out.is_terminal())) {
        const Style style = make_style(globals, out);
        out.write(style.dim + (out.is_terminal() ? escape_controls(prompt) : prompt) + style.reset);
    }
    Printer printer(globals, out, generation);
    const auto start = std::chrono::steady_clock::now();
    ggufx_end end = GGUFX_END_NONE;
    try {
        end = generate(generation, [&](const ggufx_event &event) { printer.take(event); });
    } catch (const Failure &why) {
        if (!globals.json) out.end_line(); // notes go below the text
        save_what_is_left(generation, options.save, printer.n_printed(), why);
        throw;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!globals.json) out.write("\n");
    out.finish();
    if (logits) write_logits(generation, n_resumed, *logits);
    if (logits) logits->finish();
    if (!options.save.empty()) hold(generation, UINT64_MAX); // all of them
    if (!options.save.empty() && writes) save(generation, options.save);
    if (end == GGUFX_END_CONTEXT && !globals.json)
        say_context_full(globals, generation.n_context(), "--ctx");
    remark(globals, generation, printer.stop(), of.drafter.any(), elapsed.count());
    return kOk;
}

static int run_ranks(const Globals &globals, RunOptions &options) {
    GroupChoice &group = options.generate.session.making.group;
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
    sub.option("-n,--predict", options->generate.n_predict,
               "maximum number of tokens to generate (default 400)");
    add_sampling_options(sub, options->generate.sampling);
    add_session_options(sub, options->generate.session);
    add_draft_options(sub, options->generate.drafter);
    sub.option("--save", options->save,
               "write the token ids and the KV cache to FILE at the end, also after an error or an "
               "interrupt; with --group the token ids only")
        .value("FILE");
    sub.option("--resume", options->resume,
               "continue a generation that --save wrote, with a prompt or without")
        .value("FILE");
    sub.option("--stop", options->generate.stops,
               "stop string: end the generation before this text")
        .repeatable();
    add_grammar_options(sub, options->generate.grammar, "the text");
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
