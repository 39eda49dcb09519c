// SPDX-License-Identifier: MIT
#include "generate/chat/planned_answer.hpp"

namespace ggufx::generate {

PlannedAnswer::PlannedAnswer(const AnswerPlan &plan)
    : plan_(plan), allowed_(plan.host(), plan.tokenizer().vocab().size()) {
    if (plan.json) matcher_ = plan.json->matcher();
    if (plan.call) call_.emplace(plan);
    const bool is_open = plan.reasoning_open >= 0 || plan.call_open >= 0;
    enter(plan.reasons ? Stage::reasoning : is_open ? Stage::begun : Stage::opening);
}

// Without reasoning the opening is a part of the prompt, which the parser has not read.
void PlannedAnswer::begin(Text &text) {
    if (stage_ == Stage::json || stage_ == Stage::call) text.leave_parser();
}

void PlannedAnswer::release() {
    const Host &host = *plan_.host();
    unmake(host, this);
}

void PlannedAnswer::enter(Stage stage) {
    stage_ = stage;
    n_opened_ = 0;
    if (stage == Stage::opening && plan_.opening.empty())
        stage_ = call_ ? Stage::call : Stage::json;
}

Constraint::Next PlannedAnswer::next() {
    switch (stage_) {
    case Stage::opening:
        return {plan_.opening[n_opened_], {}};
    case Stage::json:
        return {-1, matcher_->allowed()};
    case Stage::call:
        return call_->next();
    case Stage::begun:
        break;
    default:
        return {};
    }
    Next first;
    if (!plan_.opening.empty())
        first.forced = plan_.opening[0];
    else if (call_)
        first = call_->next();
    else
        first.allowed = matcher_->allowed();
    allowed_.clear();
    for (const int32_t id : {plan_.reasoning_open, plan_.call_open, first.forced})
        if (id >= 0) allowed_.add(id);
    if (first.forced < 0) allowed_.add(first.allowed);
    return {-1, allowed_.allowed()};
}

// Chooses the stage by the first token.
void PlannedAnswer::choose_stage(int32_t id) {
    if (plan_.reasoning_open == id) return enter(Stage::reasoning);
    if (plan_.call_open == id) return enter(Stage::free);
    enter(Stage::opening);
}

void PlannedAnswer::take(int32_t id, Text &text, EventQueue *queue) {
    if (stage_ == Stage::begun) {
        choose_stage(id);
        begin(text);
    }
    switch (stage_) {
    case Stage::opening:
        (void)text.hide();
        return open(text, queue);
    case Stage::reasoning: // stop strings do not apply within reasoning
        text.show_all(queue);
        if (text.is_reasoning()) return;
        enter(Stage::opening);
        begin(text);
        return begin_call(text, queue);
    case Stage::json:
        matcher_->accept(id);
        return text.show(queue);
    case Stage::call: {
        begin_call(text, queue);
        const std::string_view bytes = text.hide();
        return call_->add(id, bytes, text.call_sink(queue));
    }
    default:
        return text.show(queue);
    }
}

// After a forced marker.
void PlannedAnswer::open(Text &text, EventQueue *queue) {
    if (++n_opened_ < plan_.opening.size()) return;
    stage_ = call_ ? Stage::call : Stage::json;
    begin(text); // from here on the grammar decides the output
    begin_call(text, queue);
}

void PlannedAnswer::begin_call(Text &text, EventQueue *queue) {
    if (stage_ == Stage::call) call_->begin(text.call_sink(queue));
}

} // namespace ggufx::generate
