// An output that follows the plan of a constrained answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "generate/chat/forced_call.hpp"
#include "generate/text.hpp"

namespace ggufx::generate {

class PlannedAnswer final : public Constraint {
public:
    explicit PlannedAnswer(const AnswerPlan &plan); // the plan must outlive it
    void begin(Text &text) override;
    Next next() override;
    void take(int32_t id, Text &text, EventQueue *queue) override;
    bool reasons() const override { return stage_ == Stage::reasoning; }
    bool may_end() const override { return stage_ != Stage::reasoning && stage_ != Stage::call; }
    bool is_whole() const override { return call_ && call_->is_whole(); }
    void release() override;

private:
    enum class Stage {
        free,      // the model has opened a tool call in place of JSON
        reasoning, // free reasoning; the answer follows
        begun,     // the first token may open reasoning, or a tool call in place of JSON
        opening,   // forced markers before JSON or the name of a call
        json,
        call,
    };
    void enter(Stage stage);
    void choose_stage(int32_t id);
    void open(Text &text, EventQueue *queue);
    void begin_call(Text &text, EventQueue *queue);

    const AnswerPlan &plan_;
    Stage stage_;
    size_t n_opened_ = 0; // tokens of the opening so far
    TokenSet allowed_;
    Owned<Matcher> matcher_;
    std::optional<ForcedCall> call_;
};

} // namespace ggufx::generate
