// Completion of command lines: the shells' scripts (folder shells) ask the tool itself, by
// `ggufx --complete WORD...`, what may stand in place of the last word.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/command_facts.hpp"

namespace ggufx::cli {

struct Candidate {
    std::string word;
    std::string help; // one line, may be empty
};

struct Completion {
    bool files = false; // names of files, which the shell knows better; no words then
    std::vector<Candidate> words;
};

// `words` as they follow the tool's name; the last one, which may be empty, is the one to complete.
Completion complete(const CommandFacts &tool, const std::vector<std::string> &words);

// Prints "files" or "words", then a candidate per line with a tab before its help.
int print_completion(const CommandFacts &tool, int argc, char **argv);

// Whose scripts there are, and the scripts.
inline const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
extern const char *const kCompletionScripts[3];

} // namespace ggufx::cli
