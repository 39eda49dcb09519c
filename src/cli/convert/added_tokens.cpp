// SPDX-License-Identifier: MIT
#include "convert/added_tokens.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kSpecialMapFile = "special_tokens_map.json";
constexpr const char *kAddedFile = "added_tokens.json";

// Image tokens in vocabularies that text-only models share, without an embedding row there.
constexpr std::string_view kTokensWithoutRow[] = {"<image_soft_token>"};

struct AddedToken {
    std::string text, file;
    bool special;
};
using AddedTokens = std::map<uint64_t, AddedToken>; // by id

bool is_true(const Json &object, const char *name) {
    const Json *flag = object.find(name);
    return flag && flag->truth().value_or(false);
}

// Returns the text of a token: a string, or the "content" of an object.
const std::string *content_of(const Json *token) {
    if (token && token->is_object()) token = token->find("content");
    return token ? token->text() : nullptr;
}

// Reads the files of added tokens, and checks each token against those read before.
class AddedReader {
public:
    explicit AddedReader(ModelFolder &folder) : folder_(folder) {}

    AddedTokens read() {
        read_tokenizer();
        read_decoder();
        const Json &plain = folder_.json(kAddedFile);
        for (size_t i = 0; i < plain.size(); i++)
            put(plain.elements()[i].whole(), &plain.keys()[i], false, kAddedFile);
        if (n_stripping_ > 0)
            folder_.warn(
                fmt::format("{} added tokens strip the spaces beside them (lstrip, rstrip, "
                            "single_word); GGUF has no key for that: {}{}",
                            n_stripping_, stripping_, n_stripping_ > 3 ? ", ..." : ""));
        return std::move(out_);
    }

private:
    // [{"id": ..., "content": ..., "special": ...}]
    void read_tokenizer() {
        const Json *added = folder_.json(kTokenizerFile).find("added_tokens");
        if (!added || !added->is_array()) return;
        for (const Json &token : added->elements()) {
            const Json *id = token.find("id");
            put(id ? id->whole() : std::nullopt, content_of(&token), is_true(token, "special"),
                kTokenizerFile);
            note_stripping(token);
        }
    }

    // {"id": {"content": ..., "special": ...}}
    void read_decoder() {
        const Json *decoder = folder_.json(kTokenizerConfigFile).find("added_tokens_decoder");
        if (!decoder || !decoder->is_object()) return;
        for (size_t i = 0; i < decoder->size(); i++) {
            const Json &token = decoder->elements()[i];
            const std::string &key = decoder->keys()[i];
            const bool digits = !key.empty() && key.size() < 10 &&
                                key.find_first_not_of("0123456789") == std::string::npos;
            put(digits ? std::optional<uint64_t>(std::stoul(key)) : std::nullopt,
                content_of(&token), is_true(token, "special"), kTokenizerConfigFile);
            note_stripping(token);
        }
    }

    void put(std::optional<uint64_t> id, const std::string *text, bool special, const char *file) {
        if (!id || !text)
            throw Failure(kInvalidFile,
                          folder_.quoted(file) + ": an added token has no id or no text");
        const auto [known, added] = out_.emplace(*id, AddedToken{*text, file, special});
        if (added) return;
        known->second.special |= special;
        if (known->second.text != *text)
            throw Failure(kInvalidFile, fmt::format("the id {} is \"{}\" in {}, but \"{}\" in {}",
                                                    *id, shorten(known->second.text, 40),
                                                    known->second.file, shorten(*text, 40), file));
    }

    void note_stripping(const Json &token) {
        const bool strips =
            is_true(token, "lstrip") || is_true(token, "rstrip") || is_true(token, "single_word");
        const std::string *text = content_of(&token);
        if (!strips || !text || !stripping_texts_.insert(*text).second) return;
        if (n_stripping_++ < 3)
            stripping_ += (stripping_.empty() ? "" : ", ") + ("\"" + shorten(*text, 40) + "\"");
    }

    ModelFolder &folder_;
    AddedTokens out_;
    size_t n_stripping_ = 0;
    std::string stripping_; // the first ones
    std::set<std::string> stripping_texts_;
};

bool warn_without_row(ModelFolder &folder, const std::string &text, uint64_t id) {
    for (const std::string_view known : kTokensWithoutRow) {
        if (text != known) continue;
        folder.warn(
            fmt::format("the token \"{}\" is dropped: the embedding has no row {}", text, id));
        return true;
    }
    return false;
}

void collect(std::set<std::string> &out, const Json *list) {
    if (!list || !(list->is_array() || list->is_object())) return;
    for (const Json &token : list->elements())
        if (const std::string *text = content_of(&token)) out.insert(*text);
}

// Returns the texts of special tokens. Exceptions: padding (any word), the unknown token (it has
// its own type), tokens that no class of transformers knows.
std::set<std::string> special_texts(ModelFolder &folder) {
    std::set<std::string> out;
    for (const SpecialToken &special : kSpecialTokens) {
        if (special.id == &Vocabulary::padding || special.id == &Vocabulary::unknown ||
            special.id == &Vocabulary::eot || special.id == &Vocabulary::eom)
            continue;
        if (const std::string *text = special_text(folder, special.name)) out.insert(*text);
    }
    for (const char *file : {kTokenizerConfigFile, kSpecialMapFile})
        for (const char *list : {"additional_special_tokens", "extra_special_tokens"})
            collect(out, folder.json(file).find(list));
    return out;
}

// Returns the text of a token as in files of added tokens.
std::string plain_text(const Vocabulary &v, size_t id) {
    const std::string &text = v.tokens[id];
    if (v.model != "bert" || v.kinds[id] != kNormal) return text;
    return text.starts_with(kSpaceSign) ? text.substr(kSpaceSign.size()) : "##" + text;
}

class Placer {
public:
    Placer(Vocabulary &out, ModelFolder &folder, const std::string &base_file, uint64_t n_rows)
        : out_(out), folder_(folder), base_file_(base_file), n_rows_(n_rows),
          n_base_(out.tokens.size()) {
        for (size_t id = n_base_; id-- > 0;)
            if (out.kinds[id] != kUnused) ids_[comparable(plain_text(out, id))] = id;
    }

    void place(uint64_t id, const AddedToken &token) {
        id < n_base_ ? replace(static_cast<size_t>(id), token) : append(id, token);
    }

    void mark_special(const std::string &text) {
        const auto found = ids_.find(comparable(text));
        if (found == ids_.end()) return;
        int32_t &kind = out_.kinds[found->second];
        if (kind != kNormal && kind != kUserDefined) return;
        kind = kControl;
        out_.tokens[found->second] = text;
    }

private:
    std::string comparable(const std::string &text) const {
        return out_.model == "llama" ? spaces_for_signs(text) : text;
    }

    void set(size_t id, const AddedToken &token) {
        out_.tokens[id] = token.special ? token.text : user_defined_text(out_.model, token.text);
        out_.kinds[id] = token.special ? kControl : kUserDefined;
        ids_.emplace(comparable(token.text), id);
    }

    void replace(size_t id, const AddedToken &token) {
        const int32_t kind = out_.kinds[id];
        if (kind == kUnused) return set(id, token);
        if (comparable(plain_text(out_, id)) != comparable(token.text))
            throw Failure(kInvalidFile,
                          fmt::format("{}: the token \"{}\" has the id {}, which is \"{}\" in {}",
                                      token.file, shorten(token.text, 40), id,
                                      shorten(plain_text(out_, id), 40), base_file_));
        const bool plain = kind == kNormal || kind == kUserDefined;
        if (plain) set(id, token);
    }

    void append(uint64_t id, const AddedToken &token) {
        const auto known = ids_.find(comparable(token.text));
        if (known != ids_.end() && known->second < n_base_)
            throw Failure(kInvalidFile,
                          fmt::format("{}: the token \"{}\" has the id {}, but {} in {}",
                                      token.file, shorten(token.text, 40), id, known->second,
                                      base_file_));
        if (known != ids_.end())
            folder_.warn(fmt::format("{}: the token \"{}\" has the ids {} and {}; text gets the "
                                     "former",
                                     token.file, shorten(token.text, 40), known->second, id));
        if (id < n_rows_) {
            out_.fill(id);
            out_.add("", kUnused);
            return set(static_cast<size_t>(id), token);
        }
        if (warn_without_row(folder_, token.text, id)) return;
        throw Failure(
            kInvalidFile,
            fmt::format("{}: the token \"{}\" has the id {}: {} tokens, but the embedding "
                        "has {} rows",
                        folder_.quoted(token.file), shorten(token.text, 40), id, id + 1, n_rows_));
    }

    Vocabulary &out_;
    ModelFolder &folder_;
    const std::string &base_file_;
    const uint64_t n_rows_;
    const size_t n_base_;
    std::map<std::string, size_t> ids_; // sorted: file texts may be made to collide
};

} // namespace

const std::string *special_text(ModelFolder &folder, const std::string &name) {
    for (const char *file : {kTokenizerConfigFile, kSpecialMapFile})
        if (const std::string *text = content_of(folder.json(file).find(name + "_token")))
            return text;
    return nullptr;
}

void add_tokens(Vocabulary &vocabulary, ModelFolder &folder, const std::string &base_file,
                uint64_t n_rows) {
    AddedTokens added = AddedReader(folder).read();
    const std::set<std::string> specials = special_texts(folder);
    Placer placer(vocabulary, folder, base_file, n_rows);
    for (auto &[id, token] : added) {
        token.special |= specials.count(token.text) > 0;
        placer.place(id, token);
    }
    for (const std::string &text : specials) placer.mark_special(text);
}

void drop_tokens_without_row(Vocabulary &v, ModelFolder &folder, uint64_t n_rows) {
    while (v.tokens.size() > n_rows &&
           warn_without_row(folder, v.tokens.back(), v.tokens.size() - 1)) {
        v.tokens.pop_back();
        v.kinds.pop_back();
        if (v.model == "llama") v.scores.pop_back();
    }
}

} // namespace ggufx::cli
