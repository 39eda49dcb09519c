// Parts of generators that need chat templates and grammars: messages, output parser, matcher.
// SPDX-License-Identifier: MIT
#include "abi/answer_format.hpp"
#include "abi/grammar_handles.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "generate/chat/planned_answer.hpp"

#include <algorithm>
#include <inttypes.h>
#include <optional>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

template <class T> void release_part(const Ref<Host> &host, T *part) {
    const Ref<Host> keep = host;
    unmake(*keep, part);
}

// ---- grammar

class MatcherPart final : public generate::Matcher {
public:
    explicit MatcherPart(const grammar::Grammar &grammar)
        : grammar_(grammar), matcher_(grammar),
          bits_(matcher_.n_words(), 0, HostAllocator<uint32_t>(grammar.host().get())) {}
    sampling::Allowed allowed() override {
        matcher_.fill(bits_.data());
        return {bits_.data(), grammar_.vocabulary().size()};
    }
    void accept(int32_t id) override { matcher_.accept(&id, 1); }
    void roll_back(uint64_t n_tokens) override { matcher_.roll_back(n_tokens); }
    bool is_whole() const override { return matcher_.is_whole(); }
    void release() override { release_part(grammar_.host(), this); }

private:
    const grammar::Grammar &grammar_;
    grammar::Matcher matcher_;
    Vector<uint32_t> bits_;
};

class GrammarPart final : public generate::Grammar {
public:
    explicit GrammarPart(Ref<ggufx_grammar> grammar) : grammar_(std::move(grammar)) {}
    generate::Owned<generate::Matcher> matcher() const override {
        const grammar::Grammar &inner = grammar_->grammar;
        return generate::Owned<generate::Matcher>(make<MatcherPart>(*inner.host(), inner));
    }
    void retain() override { refs_.retain(); }
    void release() override {
        if (refs_.release()) release_part(grammar_->grammar.host(), this);
    }

private:
    RefCount refs_;
    Ref<ggufx_grammar> grammar_;
};

void check_vocabulary(const grammar::Vocabulary &vocabulary, const ggufx_tokenizer *tokenizer,
                      uint64_t n_vocab) {
    const size_t n = vocabulary.size();
    const size_t same = tokenizer ? first_difference(vocabulary, *tokenizer) : n;
    if (same >= n_vocab) return;
    fail(Status::mismatch, {kNone, same},
         "the grammar is of another vocabulary: token %" PRIu64 " differs",
         static_cast<uint64_t>(same));
}

// ---- messages

class ParserPart final : public generate::Parser {
public:
    ParserPart(const Ref<Host> &host, const Ref<chat::OutputFormat> &format,
               const chat::ParserOptions &options, const generate::OutputSink &sink)
        : sink_(sink), parser_(host, format, options, {this, tell}) {
        if (options.reasoning) return;
        chat::ParserOptions tracked = options;
        tracked.reasoning = true;
        tracker_.emplace(host, format, tracked, chat::Sink{this, ignore});
    }
    // Markers before the output cause no events.
    void begin(std::string_view markers) {
        is_silent_ = true;
        if (!markers.empty()) feed(markers);
        is_silent_ = false;
    }
    void feed(std::string_view bytes) override {
        parser_.feed(bytes);
        if (tracker_) tracker_->feed(bytes);
    }
    void finish() override { parser_.finish(); }
    bool is_reasoning() const override { return !reasoning_close().empty(); }
    std::string_view reasoning_close() const override {
        return (tracker_ ? *tracker_ : parser_).reasoning_close();
    }
    uint64_t n_calls() const override { return parser_.n_calls(); }
    void release() override { release_part(parser_.host(), this); }

private:
    static void tell(void *user, uint32_t kind, uint64_t call, std::string_view text) {
        const auto &self = *static_cast<const ParserPart *>(user);
        if (!self.is_silent_) self.sink_.event(self.sink_.user, kind, call, text);
    }
    static void ignore(void *, uint32_t, uint64_t, std::string_view) {}

    const generate::OutputSink sink_;
    bool is_silent_ = true;
    chat::OutputParser parser_;
    std::optional<chat::OutputParser> tracker_; // follows reasoning that stays in the answer
};

// The output that follows a rendered request.
class AnswerFormat final : public generate::Format {
public:
    AnswerFormat(const Ref<Host> &host, Ref<chat::OutputFormat> format, Ref<ChatTokens> tokens,
                 const AnswerOptions &options)
        : host_(host), format_(std::move(format)), tokens_(std::move(tokens)),
          texts_(host.get()), of_{copy(options.of.prompt), copy(options.of.begun),
                                  copy(options.of.tools)},
          has_calls_(has_tools(of_.tools) && !options.ignores_calls),
          keeps_reasoning_(options.keeps_reasoning), has_one_call_(options.has_one_call) {
        if (options.request)
            plan_.emplace(host, format_, tokens_->tokenizer->tokenizer, *options.request,
                          *options.grammars);
    }
    generate::Owned<generate::Parser> parser(const generate::OutputSink &sink) const override {
        const chat::ParserOptions options = {has_calls_, !keeps_reasoning_, of_.prompt, of_.tools};
        auto *const made = make<ParserPart>(*host_, host_, format_, options, sink);
        generate::Owned<generate::Parser> out(made);
        made->begin(of_.begun);
        if (plan_) made->begin(plan_->begun);
        return out;
    }
    generate::Owned<generate::Constraint> constraint() const override {
        if (!plan_) return {};
        return generate::Owned<generate::Constraint>(make<generate::PlannedAnswer>(*host_, *plan_));
    }
    const generate::AnswerPlan *plan() const { return plan_ ? &*plan_ : nullptr; }
    bool has_one_call() const override { return has_one_call_; }
    bool is_restorable() const override { return !plan_ && !has_one_call_; }
    generate::TokenUse use(int32_t id) const override {
        return tokens_->tokens.use(id, has_calls_);
    }
    bool reads_ends() const override { return format_->harmony; }
    bool keeps_reasoning() const override { return keeps_reasoning_; }
    std::string_view prompt_end() const override { return of_.prompt; }
    std::string_view begun() const override { return of_.begun; }
    std::string_view tools() const override { return of_.tools; }
    void retain() override { refs_.retain(); }
    void release() override {
        if (refs_.release()) release_part(host_, this);
    }

private:
    std::string_view copy(std::string_view text) { return texts_.copy(text.data(), text.size()); }

    RefCount refs_;
    Ref<Host> host_;
    Ref<chat::OutputFormat> format_;
    Ref<ChatTokens> tokens_;
    Arena texts_;
    const AnswerTexts of_;
    const bool has_calls_, keeps_reasoning_, has_one_call_;
    std::optional<generate::AnswerPlan> plan_; // null: a free answer
};

// Returns the template of the model's file. If two threads compile it at the same time, one of them
// is used.
const ggufx_chat_template &own_chat(ggufx_model &model) {
    ggufx_chat_template *known = model.chat.load(Order::acquire);
    if (!known) {
        auto made =
            Ref<ggufx_chat_template>::adopt(make_file_chat(model.model.host(), model.model.file()));
        if (model.chat.replace(known, made.get(), Order::acq_rel)) known = made.detach();
    }
    return *known;
}

// Returns the special tokens of a template and a tokenizer; the template keeps those of the first.
Ref<ChatTokens> tokens_of(const ggufx_chat_template &chat, const Ref<ggufx_tokenizer> &tokenizer) {
    auto &kept = const_cast<ggufx_chat_template &>(chat).tokens;
    ChatTokens *known = kept.load(Order::acquire);
    if (known && known->tokenizer.get() == tokenizer.get()) return Ref<ChatTokens>::share(known);
    const Ref<Host> &host = chat.program.host();
    auto made =
        Ref<ChatTokens>::adopt(make<ChatTokens>(*host, host, tokenizer, chat.program, chat.format));
    if (!known && kept.replace(known, made.get(), Order::acq_rel)) made->retain();
    return made;
}

const ggufx_chat_template &chat_of(const ggufx_generator &generator) {
    return generator.chat ? *generator.chat : own_chat(*generator.session->model);
}

Ref<AnswerFormat> make_format(const ggufx_chat_template &chat,
                              const Ref<ggufx_tokenizer> &tokenizer, AnswerOptions options) {
    constexpr size_t kMostEnd = 4096; // the end of a prompt may open reasoning or a call
    AnswerTexts &of = options.of;
    if (of.prompt.size() > kMostEnd) of.prompt.remove_prefix(of.prompt.size() - kMostEnd);
    if (has_tools(of.tools) && !options.ignores_calls && !chat.format->has_calls())
        fail(Status::unsupported, {},
             "the template does not show how its models write tool calls (use a template that "
             "does)");
    const Ref<Host> &host = chat.program.host();
    return Ref<AnswerFormat>::adopt(
        make<AnswerFormat>(*host, host, chat.format, tokens_of(chat, tokenizer), options));
}

// ---- a message that the model continues

std::string_view text_of(const chat::Output &output) {
    return {output.text.data(), output.text.size()};
}

// Returns the length of the common prefix, up to the end of a marker or line.
size_t same_bytes(std::string_view a, std::string_view b) {
    const auto most = static_cast<ptrdiff_t>(std::min(a.size(), b.size()));
    auto n = static_cast<size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                                 a.begin());
    if (n == a.size()) return n;
    while (n > 0 && a[n - 1] != '\n' && a[n - 1] != '>' && a[n - 1] != ']') n--;
    return n;
}

// Returns the header of the message that a prompt with channels continues.
std::string_view begun_header(std::string_view prompt) {
    constexpr std::string_view start = "<|start|>assistant", body = "<|message|>";
    const size_t header = prompt.rfind(start), end = prompt.find(body, header);
    if (header == prompt.npos || end == prompt.npos) return {};
    return prompt.substr(header + start.size(), end + body.size() - header - start.size());
}

// Returns whether the message that the model continues has left its reasoning open. A second
// rendering, without its text, shows where the text begins.
bool leaves_reasoning_open(const ggufx_chat_template &chat, const ggufx_chat_request &request,
                           std::string_view continued) {
    const Ref<Host> &host = chat.program.host();
    chat::Output empty(host.get());
    try {
        (void)render_request(empty, chat, &request, true);
    } catch (const Error &error) { // the template requires content
        const auto status = static_cast<Status>(error.failure.status);
        if (status == Status::cancelled || status == Status::memory) throw;
        empty.text.clear();
    }
    const size_t n = same_bytes(text_of(empty), continued);
    chat::ParserOptions options;
    options.calls = false;
    options.prompt = continued.substr(0, n);
    const chat::Sink sink = {nullptr, [](void *, uint32_t, uint64_t, std::string_view) {}};
    chat::OutputParser parser(host, chat.format, options, sink);
    parser.feed(continued.substr(n));
    const std::string_view close = parser.reasoning_close();
    return !close.empty() && close == chat.format->reasoning[0].close;
}

} // namespace

void ggufx::abi::release_chat(ggufx_chat_template *chat) {
    if (chat) chat->release();
}

ChatRef ggufx::abi::import_chat(const ggufx_chat_template *chat) {
    require(!chat || alive(chat, Tag::chat), "ggufx_generator_options.chat must be a template");
    return ChatRef(
        Ref<ggufx_chat_template>::share(const_cast<ggufx_chat_template *>(chat)).detach());
}

Ref<generate::Grammar> ggufx::abi::import_grammar(const ggufx_grammar *grammar,
                                                  const ggufx_tokenizer *tokenizer,
                                                  uint64_t n_vocab) {
    if (!grammar) return {};
    require(alive(grammar, Tag::grammar), "ggufx_generator_options.grammar must be a grammar");
    check_vocabulary(grammar->grammar.vocabulary(), tokenizer, n_vocab);
    return Ref<generate::Grammar>::adopt(make<GrammarPart>(
        *grammar->grammar.host(), Ref<ggufx_grammar>::share(const_cast<ggufx_grammar *>(grammar))));
}

Ref<generate::Format> ggufx::abi::restore_format(const ggufx_generator &generator,
                                                 const generate::FormatTexts &of) {
    AnswerOptions options = {{of.prompt_end, of.begun, of.tools}};
    options.keeps_reasoning = generator.keeps_reasoning;
    const auto out = make_format(chat_of(generator), generator.tokenizer, options);
    return Ref<generate::Format>::share(out.get());
}

Ref<generate::Format> ggufx::abi::read_conversation(Vector<int32_t> &ids,
                                                    const ggufx_chat_template &chat,
                                                    const Ref<ggufx_tokenizer> &tokenizer,
                                                    const ggufx_chat_request &request,
                                                    AnswerOptions options, bool adds_special) {
    const Host *const host = chat.program.host().get();
    chat::Output output(host);
    const Progress progress = render_request(output, chat, &request);
    model::Ids all(host);
    const size_t first =
        tokenize_rendered(all, output, progress, chat, tokenizer->tokenizer, adds_special);
    ids.resize(all.size() - first);
    all.copy(ids.data(), first, ids.size());
    AnswerTexts &of = options.of;
    of = {text_of(output), {}, import_text(request.tools, "tools")};
    Vector<char> opened(output.text);
    if ((request.flags & GGUFX_CHAT_CONTINUE) && chat.format->harmony) {
        of.begun = begun_header(of.prompt);
    } else if ((request.flags & GGUFX_CHAT_CONTINUE) && chat.format->n_reasoning > 0 &&
               leaves_reasoning_open(chat, request, of.prompt)) {
        const std::string_view open = chat.format->reasoning[0].open;
        opened.insert(opened.end(), open.begin(), open.end());
        of.prompt = {opened.data(), opened.size()};
    }
    generate::AnswerPlan::Request plan;
    if (options.request) {
        plan = *options.request;
        plan.prompt = of.prompt;
        plan.has_tools = has_tools(of.tools) && !options.ignores_calls;
        options.request = &plan;
    }
    const auto out = make_format(chat, tokenizer, options);
    if (out->plan()) ids.insert(ids.end(), out->plan()->prompt.begin(), out->plan()->prompt.end());
    return Ref<generate::Format>::share(out.get());
}

void ggufx::abi::import_messages(generate::Prompt &out, const ggufx_generator &generator,
                                 const ggufx_chat_request &request) {
    check_request(request);
    if (!generator.tokenizer)
        fail(Status::unsupported, {},
             "GGUFX_GENERATOR_IDS_ONLY: the prompt must be token ids or rows");
    AnswerOptions options;
    options.keeps_reasoning = generator.keeps_reasoning;
    Vector<int32_t> ids(out.tokens.ids.get_allocator());
    out.format = read_conversation(ids, chat_of(generator), generator.tokenizer, request, options,
                                   !out.appends);
    out.tokens.add(ids.data(), ids.size(), generator.generator.prompt_mode());
}
