// A tool call that an output must have, token by token: names, keys and arguments match the schema
// of the tool, markers are forced. Events give the call as JSON while it is written.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/utf8_repair.hpp"
#include "generate/chat/answer_plan.hpp"

namespace ggufx::generate {

class ForcedCall {
public:
    // The plan, which has a call, must outlive it. It begins after the opening.
    explicit ForcedCall(const AnswerPlan &plan);
    ForcedCall(const ForcedCall &) = delete;

    // These throw Error / std::bad_alloc.
    void begin(const OutputSink &sink); // tells the name, once, if the opening has it
    Constraint::Next next();
    void add(int32_t id, std::string_view bytes, const OutputSink &sink);
    bool is_whole() const { return stage_ == Stage::whole; } // no token may follow

private:
    enum class Stage { name, object, key, string, value, value_end, whole };
    void tell_name();
    void begin_arguments();
    void offer_keys();
    void begin_value();
    void end_value();
    void finish();
    size_t unfinished_end() const;
    void add_to_string(std::string_view bytes);
    void end_string(size_t length);
    bool fits_value(int32_t id);
    bool ends(int32_t id) const;
    void put(std::string_view json);
    void put_string(std::string_view text);

    const AnswerPlan &plan_;
    const CallPlan &call_;
    const OutputSink *sink_ = nullptr; // that of the current call
    const CallPlan::Function *function_ = nullptr;
    const CallPlan::Parameter *parameter_ = nullptr;
    // Options of the current choice; the last one may be the end.
    Vector<const CallPlan::Parameter *> offered_;
    Vector<bool> is_written_; // parameters of the function
    size_t n_written_ = 0;
    Stage stage_ = Stage::name;
    TokenChoice choice_;
    TokenSet allowed_;
    Owned<Matcher> matcher_;
    Vector<char> text_;    // whole characters of the string being written
    size_t n_counted_ = 0; // bytes of text_ that are no part of an end marker
    size_t n_chars_ = 0;   // characters of them
    Utf8Repair repair_;    // state between tokens
    bool has_begun_ = false;
};

} // namespace ggufx::generate
