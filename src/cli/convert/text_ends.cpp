// SPDX-License-Identifier: MIT
#include "convert/text_ends.hpp"

#include "convert/pre_tokenizer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ggufx::cli {

namespace {

using Texts = std::vector<std::string>;

const std::string *text_in(const Json &object, const char *inner, const char *name) {
    const Json *found = object.find(inner);
    found = found ? found->find(name) : nullptr;
    return found ? found->text() : nullptr;
}

// Special tokens of a template, by name.
using Specials = std::map<std::string_view, const Json *>;

Specials specials_of(const Json &step) {
    Specials out;
    const Json *known = step.find("special_tokens");
    for (size_t i = 0; known && known->is_object() && i < known->size(); i++)
        out.emplace(known->keys()[i], &known->elements()[i]);
    return out;
}

// Returns the tokens that a special token stands for: usually itself.
Texts tokens_of(const Specials &specials, const std::string &name) {
    const auto entry = specials.find(name);
    const Json *list = entry == specials.end() ? nullptr : entry->second->find("tokens");
    Texts out;
    for (size_t i = 0; list && list->is_array() && i < list->size(); i++)
        if (const std::string *text = list->elements()[i].text()) out.push_back(*text);
    return out.empty() ? Texts{name} : out;
}

// Returns the tokens before the first sequence, and those after each one.
std::vector<Texts> parts_of(const Json &step, const Specials &specials, const char *which) {
    std::vector<Texts> out(1);
    const Json *list = step.find(which);
    if (!list || !list->is_array()) return out;
    for (const Json &entry : list->elements()) {
        if (entry.find("Sequence")) out.emplace_back();
        if (const std::string *name = text_in(entry, "SpecialToken", "id"))
            for (std::string &text : tokens_of(specials, *name))
                out.back().push_back(std::move(text));
    }
    return out;
}

// Reads "sep": ["</s>", 2].
Texts pair_text(const Json &step, const char *name) {
    const Json *pair = step.find(name);
    const bool there = pair && pair->is_array() && pair->size() > 0 && pair->elements()[0].text();
    return there ? Texts{*pair->elements()[0].text()} : Texts();
}

void append(Texts &out, const Texts &more) {
    out.insert(out.end(), more.begin(), more.end());
}

TextEnds ends_of_step(const Json &step) {
    TextEnds out;
    const bool roberta = has_type(step, "RobertaProcessing");
    out.stated = roberta || has_type(step, "BertProcessing");
    if (out.stated) {
        out.before = pair_text(step, "cls");
        out.after = pair_text(step, "sep");
        if (roberta) out.between = out.after; // a second separator
        return out;
    }
    if (!has_type(step, "TemplateProcessing")) return out;
    const Specials specials = specials_of(step);
    const std::vector<Texts> single = parts_of(step, specials, "single");
    const std::vector<Texts> pair = parts_of(step, specials, "pair");
    out.stated = true;
    out.before = single[0];
    if (single.size() > 1) out.after = single[1];
    if (pair.size() < 3) return out;
    const Texts &middle = pair[1];
    const auto n = static_cast<ptrdiff_t>(std::min(out.after.size(), middle.size()));
    const bool ended = std::equal(middle.begin(), middle.begin() + n, out.after.begin());
    out.between.assign(middle.begin() + (ended ? n : 0), middle.end());
    return out;
}

class EndWriter {
public:
    EndWriter(Vocabulary &v, bool embeds) : v_(v), embeds_(embeds) {}

    void write() {
        const TextEnds &ends = v_.ends;
        if (v_.model != "bert") v_.add_bos = !ends.before.empty() && begins_with(ends.before[0]);
        // The vocabulary type itself adds [CLS] at the start and [SEP] at the end.
        if (v_.model == "bert" && !ends.before.empty()) begins_with(ends.before[0]);
        name_rest(ends.before, "before");
        if (!ends.after.empty()) ends_with(ends.after[0]);
        name_rest(ends.after, "after");
        if (!ends.between.empty()) separates(ends.between[0]);
    }

private:
    bool begins_with(const std::string &text) {
        const auto id = v_.find(text);
        if (!v_.bos) v_.bos = id;
        if (id && v_.bos == id) return true;
        name(text, "before", "it is not BOS");
        return false;
    }

    void ends_with(const std::string &text) {
        const auto id = v_.find(text);
        auto &end = v_.model == "bert" ? v_.separator : v_.eos;
        if (!end) end = id;
        if (id && end != id && embeds_ && v_.model != "bert" && !v_.eot)
            v_.eot = std::exchange(v_.eos, id);
        if (!id || end != id)
            name(text, "after", v_.model == "bert" ? "it is not SEP" : "it is not EOS");
        else if (v_.model != "bert")
            v_.add_eos = true;
    }

    void separates(const std::string &text) {
        const auto id = v_.find(text);
        if (id && (id == v_.separator || id == v_.eos))
            v_.add_separator = true;
        else if (!id || id != v_.bos) // each text separately, like two prompts
            name(text, "between two of", "it is neither SEP nor EOS");
    }

    void name_rest(const Texts &list, const char *place) {
        for (size_t i = 1; i < list.size(); i++) name(list[i], place, "only one token can");
    }

    void name(const std::string &text, const char *place, const char *why) {
        v_.notes.push_back(fmt::format("tokenizer.json: the post_processor adds \"{}\" {} a text, "
                                       "but GGUF has no key for that ({})",
                                       shorten(text, 40), place, why));
    }

    Vocabulary &v_;
    const bool embeds_;
};

} // namespace

TextEnds text_ends_of(const Json &tokenizer) {
    std::vector<TextEnds> steps;
    for (const Json *step : tokenizer_steps(tokenizer.find("post_processor"), "processors"))
        steps.push_back(ends_of_step(*step));
    TextEnds out;
    for (auto step = steps.rbegin(); step != steps.rend(); step++) append(out.before, step->before);
    for (const TextEnds &step : steps) { // later steps wrap earlier ones
        out.stated |= step.stated;
        append(out.after, step.after);
        append(out.between, step.between);
    }
    return out;
}

void set_text_ends(Vocabulary &vocabulary, bool embeds) {
    if (vocabulary.ends.stated) EndWriter(vocabulary, embeds).write();
}

} // namespace ggufx::cli
