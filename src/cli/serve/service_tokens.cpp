// /tokenize and /detokenize. Their answers may be hundreds of times as long as the requests, so they
// are made as the client reads them.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include <charconv>

namespace ggufx::cli {

namespace {

constexpr size_t kItemsAtOnce = 256; // between two checks of the size of a part

class TokenList {
public:
    TokenList(const ModelHost &host, std::vector<int32_t> ids, bool with_pieces)
        : host_(host), ids_(std::move(ids)), with_pieces_(with_pieces) {}

    bool append_to(std::string &out) {
        if (at_ == 0) out += "{\"tokens\":[";
        for (size_t n = 0; n < kItemsAtOnce && at_ < ids_.size(); n++, at_++) {
            if (at_ > 0) out += ',';
            if (with_pieces_)
                append_piece(out, ids_[at_]);
            else
                append_id(out, ids_[at_]);
        }
        if (at_ < ids_.size()) return true;
        out += "]}\n";
        return false;
    }

private:
    static void append_id(std::string &out, int32_t id) {
        char digits[12];
        out.append(digits, std::to_chars(digits, digits + sizeof digits, id).ptr);
    }
    // A piece that is not UTF-8 is an object with its bytes.
    void append_piece(std::string &out, int32_t id) const {
        const std::string piece = host_.piece(id);
        out += "{\"id\":";
        append_id(out, id);
        out += ",\"piece\":";
        if (is_utf8(piece))
            append_json_string(out, piece);
        else
            out += json_bytes(piece).dump();
        out += '}';
    }

    const ModelHost &host_;
    std::vector<int32_t> ids_;
    bool with_pieces_;
    size_t at_ = 0;
};

// Returns the length of the text before an invalid byte at its end, and the continuation bytes after
// it. One U+FFFD stands for all of them, and more may follow in the next part.
size_t length_before_error(std::string_view text) {
    size_t begin = text.size();
    while (begin > 0 && (text[begin - 1] & 0xc0) == 0x80) begin--;
    if (begin > 0) begin--;
    const std::string_view last = text.substr(begin);
    const bool is_ascii = !last.empty() && (last[0] & 0x80) == 0;
    return begin + (is_ascii ? 1 : utf8_length(last));
}

class TokenText {
public:
    TokenText(const ModelHost &host, std::vector<int32_t> ids)
        : host_(host), ids_(std::move(ids)) {}

    bool append_to(std::string &out) {
        if (at_ == 0) out += "{\"content\":\"";
        const size_t n = std::min(kItemsAtOnce, ids_.size() - at_);
        const bool is_last = at_ + n == ids_.size();
        const std::string text =
            error_ + host_.detokenize_part({ids_.data() + at_, n}, state_,
                                           GGUFX_DETOKENIZE_KEEP_SPECIAL |
                                               (is_last ? GGUFX_DETOKENIZE_FLUSH : 0));
        at_ += n;
        const size_t end = is_last ? text.size() : length_before_error(text);
        error_ = text.substr(end, 1);
        append_json_characters(out, std::string_view(text).substr(0, end));
        if (is_last) out += "\"}\n";
        return !is_last;
    }

private:
    const ModelHost &host_;
    std::vector<int32_t> ids_;
    size_t at_ = 0;
    ggufx_detokenizer_state state_ = {};
    std::string error_; // invalid byte at the end of the part before
};

} // namespace

void Service::tokenize(Call &call, Json body) {
    const TokenizeWanted wanted = read_tokenize(std::exchange(body, {}), options_.lenient);
    const uint32_t flags = (wanted.add_special ? GGUFX_TOKENIZE_ADD_SPECIAL : 0) |
                           (wanted.parse_special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0);
    respond_parts(*call.exchange,
                  std::make_shared<TokenList>(*host_, host_->tokenize(wanted.content, flags),
                                              wanted.with_pieces));
}

void Service::detokenize(Call &call, Json body) {
    std::vector<int32_t> ids = read_detokenize(std::exchange(body, {}), options_.lenient);
    host_->check(ids, "tokens");
    respond_parts(*call.exchange, std::make_shared<TokenText>(*host_, std::move(ids)));
}

} // namespace ggufx::cli
