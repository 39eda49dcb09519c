// Table of chat commands; each reports its result in one line.
// SPDX-License-Identifier: MIT
#include "chat/commands.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kHelp = "/help          print this help\n"
                              "/save FILE     write the conversation:\n"
                              "               .md Markdown, else JSON\n"
                              "/load FILE     continue one of these\n"
                              "/system TEXT   set the system message\n"
                              "/undo          remove the last turn\n"
                              "/retry         generate another answer\n"
                              "/continue      continue the last answer\n"
                              "/seed          show the random seed\n"
                              "/seed N        restart from seed N,\n"
                              "               -1 draws one\n"
                              "/stats         speed and context\n"
                              "/quit          leave (also Ctrl-D)\n"
                              "A line that ends in \\ continues; lines\n"
                              "between \"\"\" are one message; // is a\n"
                              "message that begins with a slash.\n"
                              "Ctrl-C stops an answer.\n";

std::vector<std::string> names() {
    return {"/help",  "/save",     "/load", "/system", "/undo",
            "/retry", "/continue", "/seed", "/stats",  "/quit"};
}

std::string rate(size_t n, double seconds) {
    return fmt::format("{} tokens, {:.1f}/s", n,
                       seconds > 0 ? static_cast<double>(n) / seconds : 0.0);
}

} // namespace

void ChatStats::add(const Answered &answered) {
    n_answers++;
    n_prompt += answered.facts.n_prompt - answered.facts.n_prompt_reused;
    n_reused += answered.facts.n_prompt_reused;
    n_tokens += answered.facts.n_tokens;
    prompt_seconds += answered.prompt_seconds;
    seconds += answered.seconds;
}

void Commands::save(const std::string &path) {
    save_conversation(conversation_, path, force_ || saved_.count(path) > 0);
    saved_.insert(path);
}

std::string Commands::set_seed(std::string text) {
    if (!text.empty()) {
        const std::string fault = check_seed(text);
        if (!fault.empty()) throw Failure(kUsage, "/seed: " + fault);
        engine_.set_seed(parse_seed(text));
    }
    return fmt::format("the seed is {}\n", engine_.generation().options().sampling.seed);
}

Commands::Then Commands::run(const std::string &line, std::string &said) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const size_t from = line.find_first_not_of(' ', space);
    const std::string rest =
        space == std::string::npos || from == std::string::npos ? "" : line.substr(from);
    try {
        if (name == "/quit" || name == "/exit") return Then::leave;
        if (name == "/help") {
            said = kHelp;
        } else if (name == "/save" || name == "/load") {
            if (rest.empty()) throw Failure(kUsage, name + " needs the name of a file");
            if (name == "/save") {
                save(rest);
            } else {
                conversation_ = load_conversation(rest);
            }
            said = fmt::format("{}: {} turns\n", escape(rest), conversation_.turns.size());
        } else if (name == "/system") {
            conversation_.set_system(rest);
            said = rest.empty() ? "no system message\n" : "the system message is set\n";
        } else if (name == "/undo" || name == "/retry") {
            std::string text;
            if (!conversation_.undo(text)) throw Failure(kUsage, "there is no turn to undo");
            if (name == "/undo") {
                said = "removed: " + shorten(text, 60) + "\n";
            } else {
                conversation_.turns.push_back({"user", text, {}, {}, {}, {}});
                return Then::answer;
            }
        } else if (name == "/continue") {
            if (!conversation_.ends_with_answer())
                throw Failure(kUsage, "there is no answer to continue");
            return Then::answer;
        } else if (name == "/seed") {
            said = set_seed(rest);
        } else if (name == "/stats") {
            said = fmt::format(
                "prompts  {}\n         {} from the cache\nanswers  {}\ncontext  {} of {}\n",
                rate(stats_.n_prompt, stats_.prompt_seconds), stats_.n_reused,
                rate(stats_.n_tokens, stats_.seconds), engine_.generation().n_held(),
                engine_.generation().n_context());
        } else {
            said =
                escape(name) + " is not a command" + did_you_mean(name, names()) + "; see /help\n";
        }
    } catch (const Failure &failure) { said = std::string(failure.what()) + "\n"; }
    return Then::ask;
}

} // namespace ggufx::cli
