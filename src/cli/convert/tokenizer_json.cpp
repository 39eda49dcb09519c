// Reads and writes tokenizer.json: BPE and WordPiece models of "fast" tokenizers.
// SPDX-License-Identifier: MIT
#include "convert/pre_tokenizer.hpp"
#include "convert/text_ends.hpp"
#include "convert/text_steps.hpp"

#include <fmt/format.h>
#include <map>

namespace ggufx::cli {

namespace {

struct VocabularyReader {
    const Json &json;
    const std::string &what;
    Vocabulary out = {};

    [[noreturn]] void fail(const std::string &why, int code = kInvalidFile) const {
        throw Failure(code, what + ": " + why);
    }

    const Json &member(const Json &object, const char *name) const {
        const Json *found = object.find(name);
        if (!found) fail(std::string("\"") + name + "\" is missing");
        return *found;
    }

    void put_token(uint64_t id, const std::string &text, int32_t kind, bool again) {
        if (id >= kMaxTokens) fail(fmt::format("id {}; the limit is {}", id, kMaxTokens));
        const auto at = static_cast<size_t>(id);
        if (at >= out.tokens.size()) {
            out.tokens.resize(at + 1);
            out.kinds.resize(at + 1, 0); // 0: no token has this id so far
        }
        if (out.kinds[at] && !(again && out.tokens[at] == text)) {
            fail(fmt::format("two tokens have the id {}", id));
        }
        out.tokens[at] = text;
        out.kinds[at] = kind;
    }

    void read_vocab(const Json &model) {
        const Json &vocab = member(model, "vocab");
        if (!vocab.is_object()) fail("\"vocab\" is not an object");
        for (size_t i = 0; i < vocab.size(); i++) {
            const std::optional<uint64_t> id = vocab.elements()[i].whole();
            if (!id) fail("token \"" + shorten(vocab.keys()[i], 40) + "\" has no id");
            put_token(*id, vocab.keys()[i], kNormal, false);
        }
    }

    void read_added() {
        const Json *added = json.find("added_tokens");
        if (!added || !added->is_array()) return;
        for (const Json &token : added->elements()) {
            const Json &content = member(token, "content");
            const std::optional<uint64_t> id = member(token, "id").whole();
            if (!content.text() || !id) fail("an added token without id or content");
            const Json *special = token.find("special");
            const bool control = special && special->truth().value_or(false);
            put_token(*id, *content.text(), control ? kControl : kUserDefined, true);
        }
    }

    // Names unused ids by texts that do not occur.
    void fill_holes() {
        for (size_t i = 0; i < out.tokens.size(); i++) {
            if (out.kinds[i]) continue;
            out.tokens[i] = fmt::format("[PAD{}]", i);
            out.kinds[i] = kUnused;
        }
    }

    static std::pair<std::string, std::string> halves(const Json &merge) {
        if (merge.is_array() && merge.size() == 2 && merge.elements()[0].text() &&
            merge.elements()[1].text()) {
            return {*merge.elements()[0].text(), *merge.elements()[1].text()};
        }
        const std::string text = merge.text() ? *merge.text() : "";
        const size_t space = text.find(' ', 1);
        if (space == std::string::npos) return {};
        return {text.substr(0, space), text.substr(space + 1)};
    }

    // Reads merges. Byte-level models keep them. For other models, the rank of the first merge that
    // makes a token becomes its score, so that the best score is merged first.
    void read_merges(const Json &model, bool byte_level) {
        const Json &merges = member(model, "merges");
        if (!merges.is_array()) fail("\"merges\" is not a list");
        std::map<std::string, size_t> ranks; // sorted: file texts may be made to collide
        for (size_t i = 0; i < merges.size(); i++) {
            const auto [left, right] = halves(merges.elements()[i]);
            if (left.empty() || right.empty()) fail(fmt::format("merge {} is not a pair", i));
            if (byte_level) out.merges.push_back(fmt::format("{} {}", left, right));
            if (!byte_level) ranks.emplace(left + right, i);
        }
        for (size_t i = 0; !byte_level && i < out.tokens.size(); i++) {
            const auto rank = ranks.find(out.tokens[i]);
            out.scores.push_back(
                -static_cast<float>(rank == ranks.end() ? merges.size() + i : rank->second));
            const std::string &token = out.tokens[i];
            const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token[5] == '>';
            if (is_byte && out.kinds[i] == kNormal) out.kinds[i] = kByte;
        }
    }

    void require_word_prefix(const Json &model) const {
        const Json *prefix = model.find("continuing_subword_prefix");
        if (!prefix || !prefix->text() || *prefix->text() != "##")
            fail("WordPiece is supported with the continuing_subword_prefix \"##\" only",
                 kUnsupported);
    }

    // Removes "##" from tokens inside a word, and adds the space sign to tokens that begin a word.
    void read_words() {
        for (size_t i = 0; i < out.tokens.size(); i++) {
            std::string &token = out.tokens[i];
            if (out.kinds[i] != kNormal) continue;
            token = token.starts_with("##") ? token.substr(2) : std::string(kSpaceSign) + token;
        }
    }

    void read_unknown(const Json &model) {
        const Json *unknown = model.find("unk_token");
        if (!unknown || !unknown->text()) return;
        const Json *known = member(model, "vocab").find(*unknown->text());
        if (!known) return;
        out.unknown = known->whole();
        out.kinds[static_cast<size_t>(*out.unknown)] = kUnknown;
    }

    // Notes settings of a model that change token ids and have no key.
    void note_model(const Json &model) {
        for (const char *name : {"dropout", "end_of_word_suffix", "continuing_subword_prefix"}) {
            const Json *value = model.find(name);
            const bool none = !value || value->is_null() ||
                              (value->text() && value->text()->empty()) ||
                              value->number().value_or(1) == 0;
            if (none || out.model == "bert") continue;
            out.notes.push_back(
                fmt::format("tokenizer.json: {} {} is ignored, since GGUF has no key for it", name,
                            shorten(value->dump(), 40)));
        }
    }

    bool is_byte_level(const Json &model) const {
        const Json *fallback = model.find("byte_fallback");
        if (fallback && fallback->truth().value_or(false)) return false;
        for (const Json *step : tokenizer_steps(json.find("pre_tokenizer"), "pretokenizers")) {
            if (has_type(*step, "ByteLevel")) return true;
        }
        return false;
    }
};

} // namespace

Vocabulary parse_tokenizer_json(std::string_view text, const std::string &what) {
    return vocabulary_of_json(parse_json(text, what), what);
}

Vocabulary vocabulary_of_json(const Json &json, const std::string &what) {
    VocabularyReader reader = {json, what};
    const Json &model = reader.member(json, "model");
    const bool words = has_type(model, "WordPiece");
    // Files of 2020 do not name the type.
    const bool pairs = has_type(model, "BPE") || (!model.find("type") && model.find("merges"));
    if (!words && !pairs)
        reader.fail("only models of type BPE and WordPiece are supported", kUnsupported);
    if (words) reader.require_word_prefix(model);
    const bool byte_level = pairs && reader.is_byte_level(model);
    reader.out.model = words ? "bert" : byte_level ? "gpt2" : "llama";
    reader.read_vocab(model);
    reader.read_added();
    reader.fill_holes();
    if (!byte_level) reader.read_unknown(model);
    words ? reader.read_words() : reader.read_merges(model, byte_level);
    if (byte_level) reader.out.pre = pre_name_of(json);
    reader.note_model(model);
    read_text_steps(json, reader.out);
    reader.out.ends = text_ends_of(json);
    return std::move(reader.out);
}

namespace {

Json special_part(const std::string &text) {
    return {{"SpecialToken", Json{{"id", text}, {"type_id", 0}}}};
}

// Adds BOS and EOS, or [CLS] and [SEP], around a text if the vocabulary requires it.
Json post_processor_json(const Vocabulary &v) {
    const bool words = v.model == "bert";
    if (!words && !v.add_bos) return {};
    const auto &last = words ? v.separator : v.eos;
    const auto has = [&](const std::optional<uint64_t> &id) { return id && *id < v.tokens.size(); };
    Json single = Json::array(), specials = Json::object();
    const auto add = [&](const std::optional<uint64_t> &id) {
        const std::string &text = v.tokens[static_cast<size_t>(*id)];
        Json ids = Json::array(), tokens = Json::array();
        ids.push_back(*id);
        tokens.push_back(text);
        single.push_back(special_part(text));
        specials[text] = {{"id", text}, {"ids", ids}, {"tokens", tokens}};
    };
    if ((words || *v.add_bos) && has(v.bos)) add(v.bos);
    single.push_back({{"Sequence", Json{{"id", "A"}, {"type_id", 0}}}});
    if ((words || v.add_eos.value_or(false)) && has(last)) add(last);
    Json pair = single;
    pair.push_back({{"Sequence", Json{{"id", "B"}, {"type_id", 1}}}});
    return {{"type", "TemplateProcessing"},
            {"single", single},
            {"pair", pair},
            {"special_tokens", specials}};
}

// Returns a token of the base vocabulary as in tokenizer.json.
std::string own_text(const Vocabulary &v, size_t id) {
    const std::string &text = v.tokens[id];
    if (v.model != "bert" || v.kinds[id] != kNormal) return text;
    return text.starts_with(kSpaceSign) ? text.substr(kSpaceSign.size()) : "##" + text;
}

Json word_parts(const Vocabulary &v, Json words) {
    const bool lowers = v.lowercase.value_or(true);
    const bool unknown = v.unknown && *v.unknown < v.tokens.size();
    return {
        {"normalizer", Json{{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", true},
                            {"strip_accents", v.strip_accents ? Json(*v.strip_accents) : Json()},
                            {"lowercase", lowers}}},
        {"pre_tokenizer", Json{{"type", "BertPreTokenizer"}}},
        {"decoder", Json{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
        {"model", Json{{"type", "WordPiece"},
                       {"unk_token", unknown ? v.tokens[static_cast<size_t>(*v.unknown)] : "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", std::move(words)}}}};
}

Json byte_parts(const Vocabulary &v, Json words) {
    Json merges = Json::array();
    for (const std::string &merge : v.merges) merges.push_back(merge);
    const Json cuts = pre_tokenizer_json(v.pre);
    return {{"normalizer", Json()},
            {"pre_tokenizer", cuts.is_null() ? pre_tokenizer_json("gpt-2") : cuts},
            {"decoder", Json{{"type", "ByteLevel"}}},
            {"model", Json{{"type", "BPE"},
                           {"dropout", Json()},
                           {"unk_token", Json()},
                           {"byte_fallback", false},
                           {"ignore_merges", ignores_merges(v.pre)},
                           {"vocab", std::move(words)},
                           {"merges", merges}}}};
}

} // namespace

Json tokenizer_json(const Vocabulary &vocabulary) {
    std::vector<Json::Member> words;
    Json added = Json::array();
    for (size_t i = 0; i < vocabulary.tokens.size(); i++) {
        const int32_t kind = vocabulary.kinds[i];
        if (kind == kNormal || kind == kByte || kind == kUnknown) {
            words.push_back({own_text(vocabulary, i), i});
        } else if (kind != kUnused) {
            added.push_back({{"id", i},
                             {"content", vocabulary.tokens[i]},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", kind == kControl}});
        }
    }
    Json out = {{"version", "1.0"},
                {"truncation", Json()},
                {"padding", Json()},
                {"added_tokens", added},
                {"post_processor", post_processor_json(vocabulary)}};
    Json vocab = Json::object_of(std::move(words));
    out.update(vocabulary.model == "bert" ? word_parts(vocabulary, std::move(vocab))
                                          : byte_parts(vocabulary, std::move(vocab)));
    return out;
}

} // namespace ggufx::cli
