// ggufx manual: the pages ggufx(1) and ggufx-COMMAND(1) in man(7) macros, generated from the
// declared options.
// SPDX-License-Identifier: MIT
#include "manual.hpp"

#include "common/output.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace ggufx::cli {

const ExitText kExitTexts[8] = {
    {kOk, "ok"},
    {kRuntimeError, "error"},
    {kUsage, "usage"},
    {kInvalidFile, "invalid file"},
    {kUnsupported, "not supported"},
    {kNoMemory, "no memory"},
    {kCheckFailed, "check failed"},
    {kInterrupted, "interrupted"},
};

// Escapes text for roff: backslashes, dashes that can be copied, lines that would read as requests.
static std::string roff(const std::string &text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        const bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\'')) out += "\\&";
        switch (text[i]) {
        case '\\':
            out += "\\e";
            break;
        case '-':
            out += "\\-";
            break;
        case '\'':
            out += "\\(aq";
            break;
        case '`':
            out += "\\(ga";
            break;
        case '^':
            out += "\\(ha";
            break;
        case '~':
            out += "\\(ti";
            break;
        default:
            out += text[i];
        }
    }
    return out;
}

static std::string bold(const std::string &text) {
    return fmt::format("\\fB{}\\fR", roff(text));
}
static std::string italic(const std::string &text) {
    return fmt::format("\\fI{}\\fR", roff(text));
}

// Returns "\fB\-o\fR, \fB\-\-output\fR \fIFILE\fR", the short name first.
static std::string heading(const OptionFacts &option) {
    if (option.is_argument) return italic(option.names[0]);
    std::string out;
    for (auto name = option.names.rbegin(); name != option.names.rend(); name++) {
        out += out.empty() ? "" : ", ";
        out += bold(*name);
    }
    if (!option.values.empty()) {
        out += " ";
        for (const std::string &value : option.values) {
            out += value == option.values[0] ? "" : "|";
            out += bold(value);
        }
    } else if (!option.value.empty()) {
        out += fmt::format(" {}{}", italic(option.value), option.is_list ? ",..." : "");
    }
    return out;
}

static std::string options_text(const CommandFacts &command) {
    std::string out;
    for (const OptionFacts &option : command.options) {
        if (option.names[0] == "--help" && command.name != "ggufx") continue; // described once
        out += fmt::format(".TP\n{}\n{}\n", heading(option), roff(option.help));
    }
    return out;
}

// "-c N, --ctx-size N: as --ctx".
static std::string aliases_text(const CommandFacts &command) {
    std::string out;
    for (const AliasFacts &alias : command.aliases) {
        std::string names;
        for (const std::string &name : alias.names)
            names += (names.empty() ? "" : ", ") + bold(name);
        const bool is_argument = !alias.option.empty() && alias.option[0] != '-';
        const std::string meaning = alias.option.empty() ? "no effect: attention is always fused"
                                    : is_argument        ? "the argument " + italic(alias.option)
                                                         : "as " + bold(alias.option);
        const std::string value = alias.value.empty() ? "" : " " + italic(alias.value);
        out += fmt::format(".TP\n{}{}\n{}\n", names, value, meaning);
    }
    return out;
}

static constexpr const char *kAliasesTitle = "Options of llama.cpp that are accepted:\n";

static std::string examples_text(const std::string &examples) {
    if (examples.empty()) return "";
    std::string lines = examples;
    while (!lines.empty() && (lines.back() == '\n' || lines.back() == ' ')) lines.pop_back();
    return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(lines));
}

static std::string usage(const std::string &path, const CommandFacts &command) {
    const auto is_argument = [](const OptionFacts &o) { return o.is_argument; };
    std::string out = bold(path);
    if (!std::all_of(command.options.begin(), command.options.end(), is_argument)) {
        out += fmt::format(" [{}]", italic("options"));
    }
    for (const OptionFacts &option : command.options) {
        if (!option.is_argument) continue;
        const std::string name = italic(option.names[0]) + (option.is_repeated ? "..." : "");
        out += option.is_required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
    }
    return out;
}

// Writes a section for every command that can be run, in the order of the help.
static std::string command_text(const std::string &before, const CommandFacts &command) {
    const std::string path = before + " " + command.name;
    std::string out;
    if (command.commands.empty()) {
        out = fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff(path.substr(path.find(' ') + 1)),
                          usage(path, command), roff(command.help));
        out += options_text(command);
        if (!command.aliases.empty())
            out += std::string(".PP\n") + kAliasesTitle + aliases_text(command);
        out += examples_text(command.examples);
    }
    for (const CommandFacts &sub : command.commands) out += command_text(path, sub);
    return out;
}

static std::string exit_text() {
    std::string out;
    for (const ExitText &exit : kExitTexts) {
        out += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.text));
    }
    return out;
}

static constexpr const char *kDescription =
    "Data go to standard output, everything else to standard error. With\n.B \\-\\-json\n"
    "every command prints objects with \"schema\": 1; their names are stable.\n"
    "Output files appear complete or not at all, and replace existing files only with\n.BR "
    "\\-\\-force .\n"
    "Every command takes the options below, before or after its name.\n";

static constexpr const char *kEnvironment =
    "Only these variables are read; an option on the command line takes precedence.\n"
    ".TP\n.B GGUFX_THREADS\ndefault of\n.B \\-\\-threads\n"
    ".TP\n.B GGUFX_ISA\ndefault of\n.B \\-\\-isa\n"
    ".TP\n.B GGUFX_COLOR\ndefault of\n.B \\-\\-color\n"
    ".TP\n.B GGUFX_PROGRESS\ndefault of\n.B \\-\\-progress\n"
    ".TP\n.B NO_COLOR\nno colors, unless\n.B \\-\\-color\nis given\n"
    ".TP\n.B COLUMNS\nwidth of tables on a terminal; default the width of the terminal\n"
    ".TP\n.B TERM\nno colors if it is\n.B dumb\n"
    ".TP\n.B TMPDIR\nfolder for temporary files of\n.B demo\nand\n.B bench open\n";

// Writes the title and the section NAME. The page has no date, so that builds are reproducible.
static std::string head(std::string page, const std::string &help, const std::string &version) {
    std::string what = help.substr(0, help.find_last_not_of('.') + 1);
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    const std::string name = roff(page) + " \\- " + roff(what);
    for (char &c : page) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return fmt::format(".\\\" SPDX-License-Identifier: MIT\n"
                       ".TH {} 1 \"\" \"ggufx {}\" \"User Commands\"\n"
                       ".SH NAME\n{}\n",
                       roff(page), version, name);
}

static std::string examples_section(const CommandFacts &command) {
    if (command.examples.empty()) return "";
    return ".SH EXAMPLES\n" + examples_text(command.examples).substr(4); // without its first .PP
}

std::string manual(const CommandFacts &tool, const CommandFacts &command,
                   const std::string &version) {
    const std::string path = tool.name + " " + command.name;
    std::string out = head(tool.name + "-" + command.name, command.help, version);
    out += ".SH SYNOPSIS\n";
    if (command.commands.empty()) {
        out += usage(path, command) + "\n";
        const std::string options = options_text(command);
        if (!options.empty()) out += ".SH OPTIONS\n" + options;
        if (!command.aliases.empty())
            out += std::string(".SH COMPATIBILITY\n") + kAliasesTitle + aliases_text(command);
    } else {
        out += fmt::format("{} {} [{}] [{}...]\n.SH COMMANDS\n", bold(path), italic("command"),
                           italic("options"), italic("argument"));
        for (const CommandFacts &sub : command.commands) out += command_text(path, sub);
    }
    out += examples_section(command);
    return out + ".SH SEE ALSO\n.BR ggufx (1)\ndescribes the options of every command, environment "
                 "variables\n"
                 "and exit codes.\n";
}

std::string manual(const CommandFacts &tool, const std::string &version) {
    std::string out = head(tool.name, tool.help, version);
    out += fmt::format(".SH SYNOPSIS\n{} {} [{}] [{}...]\n", bold("ggufx"), italic("command"),
                       italic("options"), italic("argument"));
    out += std::string(".SH DESCRIPTION\n") + kDescription;
    out += ".SH OPTIONS\n" + options_text(tool);
    out += ".SH COMMANDS\n";
    for (const CommandFacts &command : tool.commands) out += command_text(tool.name, command);
    out += std::string(".SH ENVIRONMENT\n") + kEnvironment;
    out += ".SH EXIT STATUS\n" + exit_text();
    out += examples_section(tool);
    out += ".SH SEE ALSO\n";
    for (const CommandFacts &command : tool.commands)
        out += fmt::format(".BR ggufx\\-{} (1),\n", roff(command.name));
    out += ".BR ggufx (3)\n";
    return out;
}

static std::string page_of(const CommandFacts &tool, const std::string &name) {
    if (name.empty()) return manual(tool, ggufx_version());
    std::vector<std::string> names;
    for (const CommandFacts &command : tool.commands) {
        if (command.name == name) return manual(tool, command, ggufx_version());
        names.push_back(command.name);
    }
    throw Failure(kUsage, "no command \"" + escape(name) + "\"" + did_you_mean(name, names));
}

static int print_manual(const Tool &tool, const std::string &command) {
    const std::string page = page_of(tool.line.describe(), command);
    Output out(tool.globals);
    out.write(page);
    out.finish();
    return kOk;
}

// The command help: prints the text of `ggufx COMMAND --help`.
static int print_help(const Tool &tool, const std::vector<std::string> &command) {
    std::vector<std::string> words = {"ggufx"};
    words.insert(words.end(), command.begin(), command.end());
    words.emplace_back("--help");
    std::vector<char *> argv;
    for (std::string &word : words) argv.push_back(word.data());
    return tool.line.parse(static_cast<int>(argv.size()), argv.data()).value_or(kOk);
}

void add_help(Tool &tool) {
    auto command = std::make_shared<std::vector<std::string>>();
    Command sub = tool.app.add_command("help", "print the help of the tool or of a command");
    sub.option("COMMAND", *command, "command, such as: run, or bench matvec");
    sub.examples("  ggufx help\n  ggufx help bench matvec");
    tool.verbs.emplace_back(sub, [&tool, command] { return print_help(tool, *command); });
}

void add_manual(Tool &tool) {
    auto command = std::make_shared<std::string>();
    Command sub =
        tool.app.add_command("manual", "print the manual page of the tool or of a command");
    sub.option("COMMAND", *command, "command (default the tool)");
    sub.examples("  ggufx manual | man -l -\n"
                 "  ggufx manual quantize | man -l -");
    tool.verbs.emplace_back(sub, [&tool, command] { return print_manual(tool, *command); });
}

} // namespace ggufx::cli
