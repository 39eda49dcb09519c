// The base vocabulary of a folder: SentencePiece's tokenizer.model, tokenizer.json, vocab.json with
// merges.txt (BPE of older folders), vocab.txt (WordPiece).
// SPDX-License-Identifier: MIT
#include "convert/added_tokens.hpp"
#include "convert/pre_tokenizer.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kSpmFile = "tokenizer.model";
constexpr const char *kVocabFile = "vocab.json";
constexpr const char *kMergesFile = "merges.txt";
constexpr const char *kWordFile = "vocab.txt";

// Vocabulary files that this tool does not read (vocab.json: without merges.txt).
constexpr const char *kUnreadVocabularies[] = {"tekken.json", "vocab.json", "spiece.model",
                                               "sentencepiece.bpe.model", "tokenizer.model.v3"};

// Pre-tokenizers of classes without a tokenizer.json, by class or by the model's type.
struct SlowTokenizer {
    std::string_view name;
    const char *pre;
};
constexpr SlowTokenizer kSlowTokenizers[] = {
    {"GPT2Tokenizer", "gpt-2"},
    {"CodeGenTokenizer", "gpt-2"},
    {"RobertaTokenizer", "gpt-2"},
    {"Qwen2Tokenizer", "qwen2"},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen2"},
};

std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const bool returns = end > at && text[end - 1] == '\r';
        out.push_back(text.substr(at, end - at - returns));
        at = end + 1;
    }
    return out;
}

// Detects lines such as "IQ== 0": the bytes of a token in base64, and its rank.
bool is_tiktoken(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return false;
    const auto holds_only = [](std::string_view part, const char *characters) {
        return part.find_first_not_of(characters) == std::string_view::npos;
    };
    std::string_view rank = line.substr(space + 1);
    if (rank.ends_with('\r')) rank.remove_suffix(1);
    constexpr const char *kBase64 =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    return holds_only(line.substr(0, space), kBase64) && holds_only(rank, "0123456789");
}

bool has_bpe_files(const ModelFolder &folder) {
    return folder.has(kVocabFile) && folder.has(kMergesFile);
}

// Reads tokenizer.model. Another format is ignored if another vocabulary exists.
std::optional<Vocabulary> read_spm(ModelFolder &folder) {
    const std::string what = folder.quoted(kSpmFile);
    const std::string bytes = InputFile(joined(folder.path(), kSpmFile)).read_all(kMostText);
    const bool replaced = folder.has(kTokenizerFile) || has_bpe_files(folder);
    const bool tiktoken = is_tiktoken(bytes);
    if (tiktoken && !replaced)
        throw Failure(kUnsupported,
                      what + ": it is a tiktoken vocabulary (base64 and ranks), which convert does "
                             "not read; put the tokenizer.json of the model beside it");
    if (tiktoken) return std::nullopt;
    try {
        require_fetched(bytes, what);
        return parse_spm(bytes, what);
    } catch (const Failure &failure) {
        if (!replaced) throw;
        folder.warn(std::string(failure.what()) + "; the file is ignored");
    }
    return std::nullopt;
}

std::string pre_of_class(ModelFolder &folder, const Json &config) {
    const Json *name = folder.json(kTokenizerConfigFile).find("tokenizer_class");
    const Json *type = config.find("model_type");
    for (const Json *given : {name, type}) {
        if (!given || !given->text()) continue;
        std::string_view text = *given->text();
        if (text.ends_with("Fast")) text.remove_suffix(4);
        for (const SlowTokenizer &known : kSlowTokenizers)
            if (known.name == text) return known.pre;
    }
    return "";
}

// Returns the special tokens that RoBERTa's class adds to a text; other classes add none.
Json text_ends_of_class(ModelFolder &folder) {
    const Json *name = folder.json(kTokenizerConfigFile).find("tokenizer_class");
    if (!name || !name->text() || !name->text()->starts_with("RobertaTokenizer")) return {};
    const auto pair = [&](const char *token, const char *absent) {
        const std::string *text = special_text(folder, token);
        Json out = Json::array();
        out.push_back(text ? *text : std::string(absent));
        return out;
    };
    return {
        {"type", "RobertaProcessing"}, {"sep", pair("sep", "</s>")}, {"cls", pair("cls", "<s>")}};
}

// Converts vocab.json and merges.txt to an equivalent tokenizer.json.
Vocabulary read_bpe_files(ModelFolder &folder, const Json &config) {
    Json merges = Json::array();
    const std::vector<std::string> lines = lines_of(folder.text(kMergesFile));
    for (size_t i = 0; i < lines.size(); i++)
        if (!lines[i].empty() && !(i == 0 && lines[i].starts_with("#version")))
            merges.push_back(lines[i]);
    const std::string pre = pre_of_class(folder, config);
    Json byte_level = {{"type", "ByteLevel"}, {"use_regex", false}};
    const Json whole = {
        {"pre_tokenizer", pre.empty() ? byte_level : pre_tokenizer_json(pre)},
        {"post_processor", text_ends_of_class(folder)},
        {"model", Json{{"type", "BPE"}, {"vocab", folder.json(kVocabFile)}, {"merges", merges}}}};
    if (folder.json(kVocabFile).size() == 0)
        throw Failure(kInvalidFile, folder.quoted(kVocabFile) + ": it has no tokens");
    return vocabulary_of_json(whole, folder.quoted(kVocabFile));
}

// Special tokens of BERT's class, unless the folder names others.
struct WordSpecial {
    const char *name, *text;
    std::optional<uint64_t> Vocabulary::*id;
};
constexpr WordSpecial kWordSpecials[] = {{"unk", "[UNK]", &Vocabulary::unknown},
                                         {"sep", "[SEP]", &Vocabulary::separator},
                                         {"pad", "[PAD]", &Vocabulary::padding},
                                         {"cls", "[CLS]", &Vocabulary::classifier},
                                         {"mask", "[MASK]", &Vocabulary::mask}};

// Returns BERT's normalizer for the settings of its class.
Json normalizer_of_class(const Json &settings) {
    const auto flag = [&](const char *name) {
        const Json *value = settings.find(name);
        return value ? value->truth().value_or(true) : true;
    };
    const Json *accents = settings.find("strip_accents");
    return {{"type", "BertNormalizer"},
            {"handle_chinese_chars", flag("tokenize_chinese_chars")},
            {"strip_accents", accents ? *accents : Json()},
            {"lowercase", flag("do_lower_case")}};
}

// Converts a file with one token per line to an equivalent tokenizer.json.
Vocabulary read_word_file(ModelFolder &folder) {
    std::map<std::string, std::optional<uint64_t> Vocabulary::*> specials;
    for (const WordSpecial &special : kWordSpecials) {
        const std::string *text = special_text(folder, special.name);
        specials.emplace(text ? *text : special.text, special.id);
    }
    std::vector<Json::Member> words;
    Json added = Json::array();
    Vocabulary ids;
    for (std::string &line : lines_of(folder.text(kWordFile))) {
        const uint64_t id = words.size();
        const auto special = specials.find(line);
        if (special != specials.end()) {
            ids.*special->second = id;
            added.push_back({{"id", id}, {"content", line}, {"special", true}});
        }
        words.push_back({std::move(line), id});
    }
    if (words.empty()) throw Failure(kInvalidFile, folder.quoted(kWordFile) + ": it has no tokens");
    const Json whole = {{"added_tokens", added},
                        {"normalizer", normalizer_of_class(folder.json(kTokenizerConfigFile))},
                        {"pre_tokenizer", Json{{"type", "BertPreTokenizer"}}},
                        {"model", Json{{"type", "WordPiece"},
                                       {"continuing_subword_prefix", "##"},
                                       {"vocab", Json::object_of(std::move(words))}}}};
    Vocabulary out = vocabulary_of_json(whole, folder.quoted(kWordFile));
    for (const WordSpecial &special : kWordSpecials) out.*special.id = ids.*special.id;
    if (out.unknown) out.kinds[static_cast<size_t>(*out.unknown)] = kUnknown;
    return out;
}

} // namespace

std::optional<BaseVocabulary> read_base_vocabulary(ModelFolder &folder, const Json &config) {
    if (folder.has(kSpmFile))
        if (auto spm = read_spm(folder)) return BaseVocabulary{std::move(*spm), kSpmFile};
    if (folder.has(kTokenizerFile))
        return BaseVocabulary{
            vocabulary_of_json(folder.json(kTokenizerFile), folder.quoted(kTokenizerFile)),
            kTokenizerFile};
    if (has_bpe_files(folder)) return BaseVocabulary{read_bpe_files(folder, config), kVocabFile};
    if (folder.has(kWordFile)) return BaseVocabulary{read_word_file(folder), kWordFile};
    for (const std::string &name : names_in(folder.path())) {
        bool known = name.ends_with(".tiktoken");
        for (const char *other : kUnreadVocabularies) known |= name == other;
        if (known)
            folder.warn(name + " is not read, so that the model has no vocabulary: add "
                               "tokenizer.json, or a tokenizer.model of SentencePiece");
    }
    return std::nullopt;
}

} // namespace ggufx::cli
