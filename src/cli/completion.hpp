// Completion of command lines: the scripts in the folder shells run `ggufx --complete WORD...`,
// which prints the candidates for the last word.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_facts.hpp"

namespace ggufx::cli {

struct Candidate {
    std::string word;
    std::string help; // one line, may be empty
};

struct Completion {
    bool files = false; // file names, which the shell completes; no words then
    std::vector<Candidate> words;
};

// `words` follow the tool's name; the last one, which may be empty, is the word to complete.
Completion complete(const CommandFacts &tool, const std::vector<std::string> &words);

// Prints "files" or "words", then one candidate per line, with a tab before its help.
int print_completion(const CommandFacts &tool, int argc, char **argv);

// Supported shells and their scripts, in the same order.
inline const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
extern const char *const kCompletionScripts[3];

} // namespace ggufx::cli
