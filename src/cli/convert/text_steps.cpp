// SPDX-License-Identifier: MIT
#include "convert/text_steps.hpp"

#include "convert/pre_tokenizer.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

bool has_text(const Json &step, const char *name, std::string_view text) {
    const Json *value = step.find(name);
    return value && value->text() && *value->text() == text;
}

bool flag_of_step(const Json &step, const char *name, bool absent) {
    const Json *flag = step.find(name);
    return flag ? flag->truth().value_or(absent) : absent;
}

// Matches {"String": " "}.
bool is_of_space(const Json &step) {
    const Json *pattern = step.find("pattern");
    return pattern && has_text(*pattern, "String", " ");
}

// Returns whether a token has a space sign inside, which cannot occur if words are split.
bool spans_words(const Vocabulary &v) {
    for (size_t i = 0; i < v.tokens.size(); i++)
        if (v.kinds[i] == kNormal && v.tokens[i].find(kSpaceSign, 1) != std::string::npos)
            return true;
    return false;
}

class StepReader {
public:
    explicit StepReader(Vocabulary &out) : v_(out) {}

    void read(const Json &tokenizer) {
        const auto normalizer = tokenizer_steps(tokenizer.find("normalizer"), "normalizers");
        const auto cuts = tokenizer_steps(tokenizer.find("pre_tokenizer"), "pretokenizers");
        for (const Json *step : normalizer)
            if (!takes_normalizer(*step)) note("normalizer", *step);
        for (const Json *step : cuts)
            if (v_.model != "gpt2" && !takes_cut(*step)) note("pre_tokenizer", *step);
        if (v_.model == "llama") v_.add_space_prefix = prefix_;
        if (v_.model == "bert") set_case(!normalizer.empty());
    }

private:
    // NFC is ignored without a warning: published byte-level vocabularies have it, their GGUF files
    // do not, and composed text is the same.
    bool takes_normalizer(const Json &step) {
        if (has_type(step, "NFC")) return true;
        if (v_.model == "bert") return takes_word_normalizer(step);
        if (v_.model != "llama") return false;
        if (has_type(step, "Prepend") && has_text(step, "prepend", kSpaceSign))
            return prefix_ = true;
        if (has_type(step, "Replace") && is_of_space(step) && has_text(step, "content", kSpaceSign))
            return signs_ = true;
        return false;
    }

    bool takes_word_normalizer(const Json &step) {
        if (has_type(step, "NFD")) return true; // part of the vocabulary type
        if (has_type(step, "Lowercase")) return lowers_ = true;
        if (has_type(step, "StripAccents")) return strips_ = true;
        if (!has_type(step, "BertNormalizer")) return false;
        const Json *accents = step.find("strip_accents");
        lowers_ = flag_of_step(step, "lowercase", true);
        strips_ = accents ? accents->truth().value_or(lowers_) : lowers_;
        return flag_of_step(step, "clean_text", true) &&
               flag_of_step(step, "handle_chinese_chars", true);
    }

    bool takes_cut(const Json &step) {
        if (v_.model == "bert") return has_type(step, "BertPreTokenizer");
        if (has_type(step, "Split")) // spaces are signs by now: nothing to split
            return signs_ && is_of_space(step);
        if (!has_type(step, "Metaspace") || !has_text(step, "replacement", kSpaceSign))
            return false;
        const bool old = flag_of_step(step, "add_prefix_space", true); // without a scheme
        prefix_ |= step.find("prepend_scheme") ? !has_text(step, "prepend_scheme", "never") : old;
        return !flag_of_step(step, "split", true) || !spans_words(v_);
    }

    // Sets flags that differ from the defaults of the vocabulary type.
    void set_case(bool stated) {
        if (!stated) lowers_ = strips_ = false;
        if (!lowers_) v_.lowercase = false;
        if (strips_ != lowers_) v_.strip_accents = strips_;
    }

    void note(const char *what, const Json &step) {
        v_.notes.push_back(
            fmt::format("tokenizer.json: its {} is ignored, since GGUF has no key for it: {}", what,
                        shorten(step.dump(), 100)));
    }

    Vocabulary &v_;
    bool prefix_ = false, signs_ = false, lowers_ = false, strips_ = false;
};

} // namespace

void read_text_steps(const Json &tokenizer, Vocabulary &vocabulary) {
    StepReader(vocabulary).read(tokenizer);
}

} // namespace ggufx::cli
