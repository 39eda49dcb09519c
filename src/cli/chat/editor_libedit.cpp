// libedit (BSD): keys, history, width of characters. Prompt and keys go to standard error, since
// standard output is the model's.
// SPDX-License-Identifier: MIT
#include "chat/editor.hpp"

#include "floor/interrupts.hpp"
#include "floor/signals.hpp"

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <unistd.h>

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
        el_resize(line_); // while an answer came
        int n = 0;
        const char *const text = el_gets(line_, &n);
        if (pending_signal() != 0) {
            el_reset(line_); // what was typed is forgotten, the terminal is as before
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

    // libedit's own reader goes on after a signal; here one ends the line, and bytes that are no
    // character are passed over.
    static int get_character(EditLine *line, wchar_t *out) {
        std::mbstate_t state = {};
        for (;;) {
            if (!wait_for_input(STDIN_FILENO)) {
                if (pending_signal() != 0) return -1;
                el_resize(line);
                continue;
            }
            char byte = 0;
            const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return static_cast<int>(n);
            const size_t length = std::mbrtowc(out, &byte, 1, &state);
            if (length == static_cast<size_t>(-2)) continue; // more bytes follow
            if (length != static_cast<size_t>(-1)) return 1;
            state = {};
        }
    }

    EditLine *line_;
    History *history_;
    std::string prompt_;
};

} // namespace

std::unique_ptr<Editor> Editor::make() {
    std::setlocale(LC_CTYPE, ""); // how wide characters are
    auto made = std::make_unique<LibEditor>();
    if (!made->works()) return nullptr;
    return made;
}

} // namespace ggufx::cli
