// ggufx perplexity --choices: context and continuation are tokenized together, so that the boundary
// is tokenized as in training. The common prefix of a question's continuations is computed once.
// SPDX-License-Identifier: MIT
#include "run/choices.hpp"

#include "common/progress.hpp"
#include "common/signals.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

const std::string &text_of(const Json &line, const char *key, const std::string &place) {
    const Json *const value = line.find(key);
    if (value && value->text()) return *value->text();
    throw Failure(kInvalidFile, fmt::format("{}: \"{}\" is not a string", place, key));
}

size_t answer_of(const Json &line, const char *key, size_t n, const std::string &place) {
    const Json *const value = line.find(key);
    uint64_t index = n;
    if (value && value->text()) { // HellaSwag's own files have string labels
        const std::string &label = *value->text();
        if (label.size() == 1 && label[0] >= '0' && label[0] <= '9')
            index = static_cast<uint64_t>(label[0] - '0');
    } else if (value) {
        index = value->whole().value_or(n);
    }
    if (index < n) return static_cast<size_t>(index);
    throw Failure(
        kInvalidFile,
        fmt::format("{}: \"{}\" is not the index of one of {} continuations", place, key, n));
}

Question parse_question(const Json &line, const std::string &place) {
    if (!line.is_object()) throw Failure(kInvalidFile, place + ": not an object");
    const bool is_own = line.find("context") != nullptr;
    const std::string context = is_own ? text_of(line, "context", place) //
                                       : text_of(line, "ctx", place) + " ";
    const Json *const endings = line.find("endings");
    if (!endings || !endings->is_array() || endings->size() < 2 || endings->size() > 64)
        throw Failure(kInvalidFile, place + ": \"endings\" is not a list of 2 to 64 strings");
    Question question;
    question.n_context = context.size();
    for (const Json &ending : endings->elements()) {
        if (!ending.text() || ending.text()->empty())
            throw Failure(kInvalidFile,
                          place + ": \"endings\" has an entry that is not a string, or is empty");
        question.texts.push_back(context + *ending.text());
    }
    question.answer = answer_of(line, is_own ? "answer" : "label", question.texts.size(), place);
    return question;
}

// Continuations of one question as token ids, after their common prefix.
struct CutQuestion {
    std::vector<int32_t> context, endings;
    std::vector<size_t> lengths;
    size_t longest = 0; // longest sequence in tokens, including the context
};

CutQuestion cut(const std::vector<std::vector<int32_t>> &ids) {
    size_t common = SIZE_MAX;
    for (const auto &other : ids) {
        const auto [a, b] = std::mismatch(ids[0].begin(), ids[0].end(), other.begin(), other.end());
        common = std::min({common, static_cast<size_t>(a - ids[0].begin()), other.size() - 1});
    }
    CutQuestion out;
    if (common == 0 || common == SIZE_MAX) return out;
    out.context.assign(ids[0].begin(), ids[0].begin() + static_cast<ptrdiff_t>(common));
    for (const auto &all : ids) {
        out.endings.insert(out.endings.end(), all.begin() + static_cast<ptrdiff_t>(common),
                           all.end());
        out.lengths.push_back(all.size() - common);
        out.longest = std::max(out.longest, all.size());
    }
    return out;
}

size_t best_of(const std::vector<double> &values) {
    return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

void count(ChoiceScore &score, const std::vector<double> &values, size_t answer) {
    score.n++;
    score.n_right += best_of(values) == answer;
}

void count(ChoicesResult &result, const Question &question, const CutQuestion &ids,
           const std::vector<double> &sums) {
    std::vector<double> by_token = sums, by_byte = sums;
    for (size_t i = 0; i < sums.size(); i++) {
        by_token[i] /= static_cast<double>(ids.lengths[i]);
        by_byte[i] /= static_cast<double>(question.texts[i].size() - question.n_context);
    }
    count(result.plain, sums, question.answer);
    count(result.by_token, by_token, question.answer);
    count(result.by_byte, by_byte, question.answer);
}

Json score_json(const ChoiceScore &score) {
    return {{"accuracy", score.share()}, {"stderr", score.error()}, {"right", score.n_right}};
}

Json result_json(const ChoicesResult &result) {
    return {{"questions", result.plain.n},
            {"plain", score_json(result.plain)},
            {"by_token", score_json(result.by_token)},
            {"by_byte", score_json(result.by_byte)}};
}

// Tokenizes questions; `first` is the number of questions before them, for error messages.
std::vector<CutQuestion> cut_all(const ggufx_tokenizer *tokenizer,
                                 std::span<const Question> questions, size_t first) {
    std::vector<CutQuestion> out;
    for (const Question &question : questions) {
        std::vector<std::vector<int32_t>> ids;
        for (const std::string &text : question.texts)
            ids.push_back(tokenize(tokenizer, text, GGUFX_TOKENIZE_ADD_SPECIAL));
        out.push_back(cut(ids));
        if (out.back().context.empty())
            throw Failure(kInvalidFile,
                          fmt::format("question {}: its continuations have no common first token",
                                      first + out.size()));
    }
    return out;
}

} // namespace

double ChoiceScore::share() const {
    return n ? static_cast<double>(n_right) / static_cast<double>(n) : 0;
}

double ChoiceScore::error() const {
    return n > 1 ? std::sqrt(share() * (1 - share()) / static_cast<double>(n - 1)) : 0;
}

std::vector<Question> parse_questions(std::string_view text, const std::string &path) {
    std::vector<Question> out;
    size_t number = 0;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        number++;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string place = fmt::format("{}: line {}", escape(path), number);
        out.push_back(parse_question(parse_json(line, place), place));
    }
    if (out.empty()) throw Failure(kInvalidFile, escape(path) + ": the file has no questions");
    return out;
}

void ChoicesResult::add(const ChoicesResult &other) {
    const auto add = [](ChoiceScore &to, const ChoiceScore &from) {
        to.n += from.n;
        to.n_right += from.n_right;
    };
    add(plain, other.plain);
    add(by_token, other.by_token);
    add(by_byte, other.by_byte);
}

namespace {

// Evaluates questions first .. end - 1 of a file.
class Choices {
public:
    Choices(const Globals &globals, const ChoicesOptions &options)
        : globals_(globals), options_(options), text_(read_utf8(options.text.text)),
          questions_(parse_questions(text_, options.text.text)) {
        if (options.limit && options.limit < questions_.size())
            questions_.resize(static_cast<size_t>(options.limit));
        rt_ = make_runtime(globals);
        file_ = open_model(rt_.get(), options.text.model, options.text.making);
        model_ = make_model(rt_.get(), file_.get(), options.text.making);
    }
    size_t size() const { return questions_.size(); }
    ChoicesResult measure(size_t first, size_t end) const;
    Json job() const {
        return {{"model", model_facts(model_.get()).identity},
                {"model_bytes", file_facts(file_.get()).n_bytes},
                {"text", fingerprint(text_)},
                {"questions", questions_.size()},
                {"ctk", type_name(options_.type_k)},
                {"ctv", type_name(options_.type_v)},
                {"adapters", Adapters(rt_.get(), model_.get(), options_.adapters).job()}};
    }

private:
    const Globals &globals_;
    const ChoicesOptions &options_;
    const std::string text_;
    std::vector<Question> questions_;
    Runtime rt_;
    File file_;
    Model model_;
};

ChoicesResult Choices::measure(size_t first, size_t end) const {
    ChoicesResult result;
    if (first == end) return result;
    const Tokenizer tokenizer = make_tokenizer(file_.get());
    const std::span<const Question> questions = std::span(questions_).subspan(first, end - first);
    const std::vector<CutQuestion> cuts = cut_all(tokenizer.get(), questions, first);
    size_t longest = 4;
    for (const CutQuestion &ids : cuts) longest = std::max(longest, ids.longest);
    const Session session =
        make_session(rt_.get(), file_.get(), model_.get(), static_cast<uint32_t>(longest),
                     options_.type_k, options_.type_v, options_.text.making.group.n_ranks());
    Adapters(rt_.get(), model_.get(), options_.adapters).give_to(session.get());
    Progress progress(globals_, "choices");
    const ggufx_progress cancel = cancel_hook();
    for (size_t i = 0; i < cuts.size(); i++) {
        std::vector<double> sums(cuts[i].lengths.size());
        const std::vector<ggufx_token_list> endings = token_lists(cuts[i].endings, cuts[i].lengths);
        call([&](ggufx_error *error) {
            return ggufx_eval_continuations(sums.data(), session.get(), cuts[i].context.data(),
                                            cuts[i].context.size(), endings.data(), endings.size(),
                                            &cancel, error);
        });
        count(result, questions[i], cuts[i], sums);
        progress.update(i + 1, cuts.size(),
                        fmt::format("question {} of {}, {:.2f} %", i + 1, cuts.size(),
                                    100 * result.by_token.share()));
    }
    return result;
}

void print(const Globals &globals, const ChoicesResult &result) {
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(result_json(result));
        print_json(out, line);
    } else {
        const auto row = [&](const char *name, const ChoiceScore &score) {
            out.write(fmt::format("{:<9} {:.2f} +- {:.2f} % ({} of {})\n", name,
                                  100 * score.share(), 100 * score.error(), score.n_right,
                                  score.n));
        };
        row("plain", result.plain);
        row("by token", result.by_token);
        row("by byte", result.by_byte);
    }
    out.finish();
}

ChoicesResult read_result(const PartReader &part) {
    const uint64_t n = part.whole("questions");
    const auto score = [&](const char *name) {
        const uint64_t n_right = part.at(name).whole("right");
        if (n_right > n) part.refuse(name, "has more right answers than questions");
        return ChoiceScore{n, n_right};
    };
    return {score("plain"), score("by_token"), score("by_byte")};
}

} // namespace

int measure_choices(const Globals &globals, const ChoicesOptions &options) {
    const Choices choices(globals, options);
    const Parts parts(globals, options.shards, "choices", choices.job());
    const Share &share = options.shards.share;
    if (!share.whole()) {
        if (parts.is_done()) return kOk;
        parts.write(result_json(choices.measure(static_cast<size_t>(share.first(choices.size())),
                                                static_cast<size_t>(share.end(choices.size())))));
        return kOk;
    }
    if (!options.shards.merge) {
        print(globals, choices.measure(0, choices.size()));
        return kOk;
    }
    const std::optional<std::vector<Json>> results = parts.read();
    if (!results) return kCheckFailed;
    ChoicesResult sum;
    for (const Json &result : *results)
        sum.add(read_result({result, escape(options.shards.parts)}));
    print(globals, sum);
    return kOk;
}

} // namespace ggufx::cli
