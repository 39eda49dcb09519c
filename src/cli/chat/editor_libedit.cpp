// Line editor based on libedit (BSD): keys, history, character widths. Prompt and echo go to
// standard error, since standard output contains the model's output.
// SPDX-License-Identifier: MIT
#include "chat/editor.hpp"

#include "common/interrupts.hpp"
#include "common/signals.hpp"

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <histedit.h>
#include <langinfo.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace ggufx::cli {

namespace {

class LibEditor final : public Editor {
public:
    LibEditor() : line_(el_init("ggufx", stdin, stderr, stderr)), history_(history_init()) {
        if (!works()) return;
        HistEvent event;
        history(history_, &event, H_SETSIZE, 500);
        history(history_, &event, H_SETUNIQUE, 1);
        el_set(line_, EL_CLIENTDATA, this);
        el_set(line_, EL_PROMPT, shown_prompt);
        el_set(line_, EL_EDITOR, "emacs");
        el_set(line_, EL_SIGNAL, 0);
        el_wset(line_, EL_GETCFN, get_character);
        el_set(line_, EL_HIST, history, history_);
        el_set(line_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    }
    ~LibEditor() override {
        if (line_) el_end(line_);
        if (history_) history_end(history_);
    }
    LibEditor(const LibEditor &) = delete;
    bool works() const { return line_ && history_; }

    bool read(std::string &line, const std::string &prompt) override {
        prompt_ = prompt;
        el_resize(line_); // resized while an answer was printed
        int n = 0;
        const char *const text = el_gets(line_, &n);
        if (pending_signal() != 0) {
            el_reset(line_); // discards the typed text and restores the terminal
            return false;
        }
        if (!text || n <= 0) return false;
        line.assign(text, static_cast<size_t>(n));
        if (line.back() == '\n') line.pop_back();
        return true;
    }

    void remember(const std::string &text) override {
        HistEvent event;
        if (text.find_first_not_of(" \n") != std::string::npos)
            history(history_, &event, H_ENTER, text.c_str());
    }

private:
    static char *shown_prompt(EditLine *line) {
        void *self = nullptr;
        el_get(line, EL_CLIENTDATA, &self);
        return static_cast<LibEditor *>(self)->prompt_.data();
    }

    static int get_character(EditLine *line, wchar_t *out) {
        void *self = nullptr;
        el_get(line, EL_CLIENTDATA, &self);
        return static_cast<LibEditor *>(self)->read_character(*out);
    }

    // Like read(): returns 1, 0 at the end of the input, or -1. libedit's own reader continues
    // after a signal; this one returns.
    int read_byte(char &byte) {
        if (const std::optional<char> kept = std::exchange(kept_byte_, std::nullopt)) {
            byte = *kept;
            return 1;
        }
        for (;;) {
            if (!wait_for_input(STDIN_FILENO)) {
                if (pending_signal() != 0) return -1;
                el_resize(line_);
                continue;
            }
            const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
            if (n >= 0 || errno != EINTR) return static_cast<int>(n);
        }
    }

    // Replaces invalid UTF-8 by U+FFFD, so that the user sees the text that the model gets.
    int read_character(wchar_t &out) {
        constexpr wchar_t kReplacement = 0xfffd;
        std::mbstate_t state = {};
        for (bool is_first = true;; is_first = false) {
            char byte = 0;
            if (const int n = read_byte(byte); n <= 0) return n;
            const size_t length = std::mbrtowc(&out, &byte, 1, &state);
            if (length == static_cast<size_t>(-2)) continue; // incomplete character
            if (length != static_cast<size_t>(-1)) return 1;
            if (!is_first) kept_byte_ = byte; // it may begin the next character, or end the line
            out = kReplacement;
            return 1;
        }
    }

    EditLine *line_;
    History *history_;
    std::string prompt_;
    std::optional<char> kept_byte_; // byte already read that belongs to the next character
};

// libedit interprets characters by the charset of LC_CTYPE, but the tool's text is UTF-8 in any
// locale. The other categories stay "C", so that numbers keep their format.
bool use_utf8() {
    for (const char *const name : {"C.UTF-8", "C.utf8", "en_US.UTF-8", "UTF-8", ""}) {
        const bool is_known = std::setlocale(LC_CTYPE, name) != nullptr;
        if (is_known && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return true;
    }
    std::setlocale(LC_CTYPE, "C");
    return false;
}

} // namespace

std::unique_ptr<Editor> Editor::make() {
    if (!use_utf8()) return nullptr; // the terminal's own line editing passes the bytes unchanged
    auto made = std::make_unique<LibEditor>();
    if (!made->works()) return nullptr;
    return made;
}

} // namespace ggufx::cli
