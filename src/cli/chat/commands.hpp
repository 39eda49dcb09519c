// Commands of the chat: lines that begin with a slash.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/engine.hpp"

#include <set>

namespace ggufx::cli {

// Totals of a chat, for /stats.
struct ChatStats {
    size_t n_prompt = 0, n_reused = 0, n_tokens = 0, n_answers = 0;
    double prompt_seconds = 0, seconds = 0;
    void add(const Answered &answered);
};

class Commands {
public:
    Commands(Conversation &conversation, Engine &engine, const ChatStats &stats, bool force)
        : conversation_(conversation), engine_(engine), stats_(stats), force_(force) {}

    enum class Then { ask, answer, leave }; // read the next line; answer the last turn; exit
    // `line` begins with a slash. Messages and errors are stored in `said`.
    Then run(const std::string &line, std::string &said);
    void save(const std::string &path); // throws Failure

private:
    std::string set_seed(std::string text); // empty: only shows the seed

    Conversation &conversation_;
    Engine &engine_;
    const ChatStats &stats_;
    bool force_;
    std::set<std::string> saved_; // files saved by this chat, which may be overwritten
};

} // namespace ggufx::cli
