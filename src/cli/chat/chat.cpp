// ggufx chat: conversation with a model on the terminal, or line by line through a pipe.
// SPDX-License-Identifier: MIT
#include "chat/child_process.hpp"
#include "chat/commands.hpp"
#include "chat/line_reader.hpp"

#include "common/interrupts.hpp"
#include "common/signals.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

class ChatRoom {
public:
    ChatRoom(const Globals &globals, const ChatOptions &options);
    int run();

private:
    bool ask(std::string &text);        // false: the user leaves
    bool take(const std::string &text); // takes a message or a command; false: leave
    void answer();
    bool answer_or_say();    // returns false after reporting an error
    bool run_calls();        // false: the user leaves
    bool confirm(bool &yes); // false: the user leaves
    void run_call(const ToolCall &call, const std::vector<std::string> &command,
                  unsigned timeout_s);
    void show(ggufx_event_kind kind, std::string_view text);
    void put(std::string_view text);
    void end_shown();
    void print_calls(const Turn &turn);
    void print_answer(const Answered &answered);
    void say(const std::string &text) const; // writes a note to standard error

    const Globals &globals_;
    const ChatOptions &options_;
    Output out_;
    bool interactive_; // input comes from a terminal
    Style style_;      // style of standard output
    bool dim_remarks_;
    Engine engine_;
    Conversation conversation_;
    ChatStats stats_;
    size_t asked_turns_ = 0; // number of turns when a tool call was last confirmed or refused
    Commands commands_;
    LineReader reader_;
    ggufx_event_kind shown_ = GGUFX_EVENT_NONE; // kind of the last output
    bool at_begin_ = true;                      // at the start of a line
};

} // namespace

ChatRoom::ChatRoom(const Globals &globals, const ChatOptions &options)
    : globals_(globals), options_(options), out_(globals),
      interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1),
      style_(make_style(globals, out_)), dim_remarks_(interactive_ && *style_.dim != 0),
      engine_(globals, options), commands_(conversation_, engine_, stats_, globals.force),
      reader_(interactive_) {
    if (!options.load.empty()) conversation_ = load_conversation(options.load);
    require_utf8(options.system, "--system", kUsage);
    require_utf8(options.prefill, "--prefill", kUsage);
    if (options.continues && !conversation_.ends_with_answer())
        throw Failure(kUsage, "--continue: the conversation of --load does not end with an answer");
    if (!options.system.empty()) conversation_.set_system(options.system);
}

void ChatRoom::say(const std::string &text) const {
    if (globals_.quiet) return;
    const std::string shown = dim_remarks_ ? style_.dim + text + style_.reset : text;
    std::fputs(shown.c_str(), stderr);
    std::fflush(stderr);
}

// Ctrl-C twice at an empty prompt leaves.
bool ChatRoom::ask(std::string &text) {
    for (bool warned = false;;) {
        const LineReader::End end =
            reader_.read(text, conversation_.waiting_call() ? "result> " : "> ");
        if (end == LineReader::End::line) return true;
        if (end == LineReader::End::closed) {
            if (interactive_) std::fputs("\n", stderr);
            return false;
        }
        // SIGTERM, or input that is not interactive.
        if (!interactive_ || !take_interrupt()) check_interrupt();
        if (interactive_) std::fputs("\n", stderr);
        if (warned) return false;
        say("Ctrl-C again, Ctrl-D or /quit leaves\n");
        warned = true;
    }
}

// ---- output of the model ----

// On a terminal, Ctrl-C ends only the current answer. Output that the interrupted write has not
// delivered is dropped, as the terminal drops unread output; this is not an error.
void ChatRoom::put(std::string_view text) {
    if (interactive_ && out_.is_terminal()) {
        const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                           std::fflush(stdout) == 0;
        // run_verb() reports other errors from the stream's error flag.
        if (!whole && errno == EINTR) std::clearerr(stdout);
    } else {
        out_.write(text);
        out_.flush();
    }
}

// Shows reasoning dim on a terminal, and on standard error otherwise: standard output contains the
// answer alone.
void ChatRoom::show(ggufx_event_kind kind, std::string_view text) {
    const bool reasoning = kind == GGUFX_EVENT_REASONING;
    if (globals_.json || (kind != GGUFX_EVENT_TEXT && !reasoning)) return;
    if (reasoning && options_.no_think) return;
    if (shown_ != kind && shown_ != GGUFX_EVENT_NONE) end_shown();
    if (reasoning && !out_.is_terminal()) {
        say(escape_controls(text));
        return;
    }
    if (reasoning && shown_ != kind) put(style_.dim);
    put(out_.is_terminal() ? escape_controls(text) : std::string(text));
    shown_ = kind;
    at_begin_ = text.back() == '\n';
}

// Ends a part of the output: resets the colour and finishes the line.
void ChatRoom::end_shown() {
    if (shown_ == GGUFX_EVENT_REASONING) put(style_.reset);
    if (!at_begin_) put("\n");
    shown_ = GGUFX_EVENT_NONE;
    at_begin_ = true;
}

void ChatRoom::print_calls(const Turn &turn) {
    for (const ToolCall &call : turn.calls)
        say(fmt::format("the model calls {}({})\n", escape(call.name), escape(call.arguments)));
}

void ChatRoom::print_answer(const Answered &answered) {
    Json line = json_object();
    Conversation one;
    one.turns.push_back(answered.turn);
    line.update(one.to_json().elements()[0]);
    line["prompt_tokens"] = answered.facts.n_prompt;
    line["cached_tokens"] = answered.facts.n_prompt_reused;
    line["tokens"] = answered.facts.n_tokens;
    line["seconds"] = answered.seconds;
    line["dropped_turns"] = answered.n_dropped;
    const char *const reason = answered.turn.calls.empty() || answered.facts.end != GGUFX_END_EOG
                                   ? finish_reason(answered.facts.end)
                                   : "tool_calls";
    line["finish_reason"] = answered.interrupted() ? Json() : Json(reason);
    line["seed"] = engine_.generation().options().sampling.seed;
    line["context_full"] = answered.facts.end == GGUFX_END_CONTEXT;
    if (options_.drafter.any()) {
        line["draft_tokens"] = answered.facts.n_drafted;
        line["accepted_tokens"] = answered.facts.n_accepted;
    }
    print_json_line(out_, line);
}

void ChatRoom::answer() {
    Answered answered;
    const bool is_prefilled = !options_.prefill.empty() && !conversation_.ends_with_answer();
    if (is_prefilled) {
        conversation_.turns.push_back({"assistant", options_.prefill, {}, {}, {}, {}});
        show(GGUFX_EVENT_TEXT, options_.prefill);
    }
    const bool continues = conversation_.ends_with_answer();
    try {
        answered =
            engine_.answer(conversation_, [this](ggufx_event_kind kind, std::string_view text) {
                show(kind, text);
            });
    } catch (...) {
        if (is_prefilled) conversation_.turns.pop_back();
        if (!globals_.json) end_shown();
        throw;
    }
    if (answered.interrupted() && (!interactive_ || !take_interrupt())) {
        if (!globals_.json) end_shown();
        check_interrupt();
    }
    if (globals_.json) {
        print_answer(answered);
    } else {
        if (shown_ == GGUFX_EVENT_NONE && answered.turn.calls.empty() && !interactive_) put("\n");
        end_shown();
    }
    if (continues) conversation_.turns.pop_back();
    conversation_.turns.push_back(answered.turn);
    asked_turns_ = 0;
    stats_.add(answered);
    if (answered.n_dropped > 0)
        say(fmt::format("the context of {} tokens is full: the {} oldest turns were removed (use "
                        "--ctx N)\n",
                        engine_.generation().n_context(), answered.n_dropped));
    if (answered.facts.end == GGUFX_END_CONTEXT)
        say(context_full_text(engine_.generation().n_context(), "--ctx") + "\n");
    print_calls(answered.turn);
    if (answered.interrupted()) say("interrupted\n");
    if (interactive_ && !globals_.json) {
        const double n_timed =
            answered.facts.n_tokens > 1 ? static_cast<double>(answered.facts.n_tokens - 1) : 0;
        const double rate = answered.seconds > 0 ? n_timed / answered.seconds : 0;
        const std::string drafter =
            options_.drafter.any()
                ? "; " + acceptance_text(answered.facts.n_accepted, answered.facts.n_drafted)
                : "";
        say(fmt::format("[{} tokens, {:.1f}/s, {}/{}{}]\n", answered.facts.n_tokens, rate,
                        engine_.generation().n_held(), engine_.generation().n_context(), drafter));
    }
}

// ---- tool calls ----

bool ChatRoom::confirm(bool &yes) {
    std::string text;
    yes = false;
    const LineReader::End end = reader_.read(text, "run it? [y/N] ");
    if (end == LineReader::End::interrupted) {
        if (!take_interrupt()) check_interrupt();
        std::fputs("\n", stderr);
        return true;
    }
    yes = text == "y" || text == "Y" || text == "yes";
    return end == LineReader::End::line;
}

void ChatRoom::run_call(const ToolCall &call, const std::vector<std::string> &command,
                        unsigned timeout_s) {
    const Ran ran = run_program(command, call.arguments, timeout_s);
    if (ran.problem == "interrupted" && !take_interrupt()) check_interrupt();
    std::string result = ran.output;
    if (!ran.problem.empty())
        result +=
            fmt::format("{}[{}]", result.empty() || result.back() == '\n' ? "" : "\n", ran.problem);
    say(fmt::format("{}{}", escape_controls(result),
                    result.empty() || result.back() != '\n' ? "\n" : ""));
    conversation_.add_result(result);
}

// Runs tool calls that have a program one by one, each after confirmation. The first call without a
// result takes the next input line as its result.
bool ChatRoom::run_calls() {
    while (const ToolCall *const waiting = interactive_ ? conversation_.waiting_call() : nullptr) {
        const ToolCall call = *waiting;
        const ToolProgram *const program = engine_.tools().find(call.name);
        // The user has already refused it.
        if (asked_turns_ == conversation_.turns.size()) return true;
        asked_turns_ = conversation_.turns.size();
        bool yes = false;
        std::vector<std::string> command;
        try {
            if (program) command = command_of(*program, call.arguments);
        } catch (const Failure &failure) { say(std::string(failure.what()) + "\n"); }
        if (!command.empty()) {
            say("it would run " + command_text(command) + "\n");
            if (!confirm(yes)) return false;
        }
        if (!yes) {
            say(fmt::format("nothing was run: type the result of {}, an empty line for none\n",
                            escape(call.name)));
            return true;
        }
        run_call(call, command, program->timeout_s);
        if (!conversation_.waiting_call() && !answer_or_say()) return true;
    }
    return true;
}

// ---- user input ----

// A message that is too long, or that the template refuses, does not end the chat.
bool ChatRoom::answer_or_say() {
    const size_t n_before = conversation_.turns.size();
    try {
        answer();
        return true;
    } catch (const Failure &failure) {
        if (!interactive_ || pending_signal() != 0) throw;
        // /continue: an existing answer stays.
        const bool has_answer = conversation_.ends_with_answer();
        if (conversation_.turns.size() == n_before && !has_answer) conversation_.turns.pop_back();
        say(std::string(failure.what()) + "\n");
        return false;
    }
}

bool ChatRoom::take(const std::string &text) {
    Turn turn = {"user", text, {}, {}, {}, {}};
    // Piped lines are data, never commands.
    if (interactive_ && text.starts_with('/')) {
        if (text.starts_with("//")) {
            turn.content.erase(0, 1);
        } else {
            std::string said;
            const Commands::Then then = commands_.run(text, said);
            say(said);
            asked_turns_ = 0;
            if (then == Commands::Then::answer) answer_or_say();
            return then != Commands::Then::leave;
        }
    }
    const bool waits = conversation_.waiting_call() != nullptr;
    if (text.empty() && !waits) return true;
    if (waits)
        conversation_.add_result(turn.content);
    else
        conversation_.turns.push_back(turn);
    if (!conversation_.waiting_call()) answer_or_say();
    return true;
}

int ChatRoom::run() {
    if (interactive_) {
        keep_interrupts();
        say(fmt::format("{}; see /help\n", escape(engine_.name())));
    }
    if (options_.continues) answer_or_say();
    std::string text;
    while (run_calls() && ask(text)) {
        if (interactive_ && !is_utf8(text)) { // possible with the terminal's own line editing
            say("the message is not UTF-8\n");
            continue;
        }
        require_utf8(text, "the message", kInvalidFile);
        if (!take(text)) break;
    }
    if (!options_.save.empty()) commands_.save(options_.save);
    out_.finish();
    return kOk;
}

void add_chat(Tool &tool) {
    auto options = std::make_shared<ChatOptions>();
    Command sub = tool.app.add_command("chat", "chat with a model in the terminal");
    sub.option("MODEL", options->model, "GGUF file (default the built-in model)");
    sub.option("--template", options->template_name,
               "chat template: a built-in format (chatml, llama3, ...) or a FILE (default that of "
               "the model)")
        .value("TEMPLATE");
    sub.option("--system", options->system, "system message");
    Option tools = sub.option(
        "--tools", options->tools,
        "JSON list of functions that the model may call; the result of a call is the next line, or "
        "the output of the \"command\" of the function after a yes in the terminal");
    tools.value("FILE");
    sub.flag("--no-think", options->no_think, "disable reasoning in the template and hide it");
    GrammarOptions keep_to =
        add_grammar_options(sub, options->grammar, "answers (without reasoning)");
    keep_to.grammar.excludes(tools);
    keep_to.schema.excludes(tools);
    sub.option("--load", options->load,
               "continue a conversation from FILE: .md = Markdown, else JSON")
        .value("FILE");
    sub.flag("--continue", options->continues, "continue the last answer of --load first");
    Option prefill = sub.option("--prefill", options->prefill,
                                "start of every answer, which the model continues");
    prefill.value("TEXT").excludes(keep_to.grammar).excludes(keep_to.schema);
    sub.option("--save", options->save,
               "write the conversation at the end: .md = Markdown, else JSON")
        .value("FILE");
    sub.option("-n,--predict", options->n_predict,
               "maximum number of tokens per answer, 0 = no limit (default 0)");
    add_draft_options(sub, options->drafter);
    add_sampling_options(sub, options->sampling);
    add_session_options(sub, options->session);
    sub.examples("  ggufx chat\n"
                 "  ggufx chat model.gguf --system \"Answer in one sentence.\"\n"
                 "  ggufx chat model.gguf --json-schema person.json\n"
                 "  echo \"What is a quine?\" | ggufx chat model.gguf --no-think --save quine.md");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return ChatRoom(tool.globals, *options).run(); });
}

} // namespace ggufx::cli
