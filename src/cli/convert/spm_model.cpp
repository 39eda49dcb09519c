// tokenizer.model: SentencePiece's protobuf ModelProto; other fields are skipped by wire type.
//   pieces = 1 {piece = 1, score = 2, type = 3}
//   trainer_spec = 2 {model_type = 3, treat_whitespace_as_suffix = 24, ids = 40..43}
//   normalizer_spec = 3 {precompiled_charsmap = 2, add_dummy_prefix = 3,
//     remove_extra_whitespaces = 4, escape_whitespaces = 5}; all three flags default to true
// SPDX-License-Identifier: MIT
#include "convert/vocabulary.hpp"

#include <bit>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr size_t kMaxPieceBytes = 1u << 16;
constexpr uint64_t kBpe = 2; // TrainerSpec.ModelType

enum Wire : unsigned { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// One message: reads fields one after the other, and nothing past its end.
class Message {
public:
    Message(std::string_view bytes, size_t offset, const std::string &what)
        : bytes_(bytes), offset_(offset), what_(what) {}

    bool next() {
        if (at_ == bytes_.size()) return false;
        const uint64_t tag = varint();
        field_ = tag >> 3;
        wire_ = static_cast<unsigned>(tag & 7);
        if (field_ == 0) fail("field number 0");
        value_ = 0;
        text_ = {};
        switch (wire_) {
        case kVarint:
            value_ = varint();
            break;
        case kFixed64:
            value_ = fixed(8);
            break;
        case kFixed32:
            value_ = fixed(4);
            break;
        case kLengthDelimited:
            take_bytes();
            break;
        default:
            fail(fmt::format("wire type {}", wire_));
        }
        return true;
    }

    bool is(uint64_t field, Wire wire) const {
        if (field_ != field) return false;
        if (wire_ != wire) fail(fmt::format("field {} has wire type {}", field_, wire_));
        return true;
    }
    uint64_t value() const { return value_; }
    std::string_view text() const { return text_; }
    Message inner() const { return {text_, offset_ + at_ - text_.size(), what_}; }

    [[noreturn]] void fail(const std::string &why) const {
        throw Failure(kInvalidFile, fmt::format("{}: byte {}: {}", what_, offset_ + at_, why));
    }

private:
    uint64_t varint() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ == bytes_.size()) fail("the message ends inside a number");
            const auto byte = static_cast<uint8_t>(bytes_[at_++]);
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        fail("a number of more than 64 bits");
    }

    uint64_t fixed(size_t n) {
        if (bytes_.size() - at_ < n) fail("the message ends inside a number");
        uint64_t value = 0;
        for (size_t i = n; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
        at_ += n;
        return value;
    }

    void take_bytes() {
        const uint64_t n = varint();
        if (n > bytes_.size() - at_) {
            fail(fmt::format("a field of {} bytes, {} are left", n, bytes_.size() - at_));
        }
        text_ = bytes_.substr(at_, static_cast<size_t>(n));
        at_ += static_cast<size_t>(n);
    }

    std::string_view bytes_;
    size_t offset_; // offset of bytes_ in the file
    const std::string &what_;
    size_t at_ = 0;
    uint64_t field_ = 0, value_ = 0;
    unsigned wire_ = 0;
    std::string_view text_;
};

void read_piece(Message message, Vocabulary &out) {
    std::string_view piece;
    float score = 0;
    uint64_t kind = kNormal;
    while (message.next()) {
        if (message.is(1, kLengthDelimited)) piece = message.text();
        if (message.is(2, kFixed32)) {
            score = std::bit_cast<float>(static_cast<uint32_t>(message.value()));
        }
        if (message.is(3, kVarint)) kind = message.value();
    }
    if (kind < kNormal || kind > kByte) message.fail(fmt::format("a piece of type {}", kind));
    if (piece.size() > kMaxPieceBytes || out.tokens.size() == kMaxTokens) {
        message.fail(fmt::format("piece {} of {} bytes; the limits are {} pieces of {} bytes",
                                 out.tokens.size(), piece.size(), kMaxTokens, kMaxPieceBytes));
    }
    out.tokens.push_back(kind == kUserDefined ? user_defined_text(out.model, std::string(piece))
                                              : std::string(piece));
    out.scores.push_back(score);
    out.kinds.push_back(static_cast<int32_t>(kind));
}

// Reads ids, which are int32; a negative one means that there is no such token.
void read_trainer(Message message, Vocabulary &out) {
    const auto id = [&](std::optional<uint64_t> &into) {
        const auto value = static_cast<int64_t>(message.value());
        into = value < 0 ? std::nullopt : std::optional<uint64_t>(message.value());
    };
    while (message.next()) {
        if (message.is(3, kVarint) && message.value() != kBpe) {
            throw Failure(kUnsupported, "tokenizer.model: model type " +
                                            std::to_string(message.value()) +
                                            " is not supported; only BPE (2) is");
        }
        if (message.is(24, kVarint) && message.value() != 0)
            out.notes.push_back(
                "tokenizer.model: treat_whitespace_as_suffix is ignored: GGUF has no "
                "key for it with this vocabulary");
        if (message.is(40, kVarint)) id(out.unknown);
        if (message.is(41, kVarint)) id(out.bos);
        if (message.is(42, kVarint)) id(out.eos);
        if (message.is(43, kVarint)) id(out.padding);
    }
}

void read_normalizer(Message message, Vocabulary &out, bool &merges) {
    while (message.next()) {
        if (message.is(2, kLengthDelimited) && !message.text().empty())
            out.notes.push_back("tokenizer.model: precompiled_charsmap is ignored: GGUF has no key "
                                "for it with this vocabulary");
        if (message.is(3, kVarint)) out.add_space_prefix = message.value() != 0;
        if (message.is(4, kVarint)) merges = message.value() != 0;
        if (message.is(5, kVarint) && message.value() == 0)
            out.notes.push_back(
                "tokenizer.model: escape_whitespaces = false is ignored: GGUF has no "
                "key for it with this vocabulary");
    }
}

void put_varint(std::string &out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void put_field(std::string &out, uint64_t field, uint64_t value) {
    put_varint(out, field << 3 | kVarint);
    put_varint(out, value);
}

void put_text(std::string &out, uint64_t field, std::string_view text) {
    put_varint(out, field << 3 | kLengthDelimited);
    put_varint(out, text.size());
    out += text;
}

// Returns a piece's text; user-defined tokens of spaces only are stored as space signs.
std::string piece_text(const Vocabulary &vocabulary, size_t id) {
    const std::string &text = vocabulary.tokens[id];
    const bool user = vocabulary.kinds[id] == kUserDefined;
    if (!user || text.find_first_not_of(' ') != std::string::npos) return text;
    std::string out;
    for (size_t i = 0; i < text.size(); i++) out += kSpaceSign;
    return out;
}

} // namespace

Vocabulary parse_spm(std::string_view bytes, const std::string &what) {
    Vocabulary out;
    out.model = "llama";
    out.unknown = 0; // the format's defaults
    out.bos = 1;
    out.eos = 2;
    out.add_space_prefix = true;
    bool merges = true;
    Message message(bytes, 0, what);
    while (message.next()) {
        if (message.is(1, kLengthDelimited)) read_piece(message.inner(), out);
        if (message.is(2, kLengthDelimited)) read_trainer(message.inner(), out);
        if (message.is(3, kLengthDelimited)) read_normalizer(message.inner(), out, merges);
    }
    if (merges) out.merge_spaces = true; // otherwise absent: the key's default
    if (out.tokens.empty()) throw Failure(kInvalidFile, what + ": it has no pieces");
    for (std::optional<uint64_t> *id : {&out.unknown, &out.bos, &out.eos, &out.padding}) {
        if (*id && **id >= out.tokens.size()) *id = std::nullopt; // defaults of a tiny vocabulary
    }
    return out;
}

std::string spm_bytes(const Vocabulary &vocabulary) {
    std::string out;
    for (size_t i = 0; i < vocabulary.tokens.size(); i++) {
        std::string piece;
        put_text(piece, 1, piece_text(vocabulary, i));
        const auto bits =
            std::bit_cast<uint32_t>(i < vocabulary.scores.size() ? vocabulary.scores[i] : 0.0f);
        put_varint(piece, 2 << 3 | kFixed32);
        for (unsigned shift = 0; shift < 32; shift += 8) {
            piece += static_cast<char>(bits >> shift & 0xff);
        }
        put_field(piece, 3, static_cast<uint64_t>(vocabulary.kinds[i]));
        put_text(out, 1, piece);
    }
    constexpr uint64_t kNone = UINT64_MAX; // -1
    std::string trainer;
    put_field(trainer, 3, kBpe);
    put_field(trainer, 40, vocabulary.unknown.value_or(kNone));
    put_field(trainer, 41, vocabulary.bos.value_or(kNone));
    put_field(trainer, 42, vocabulary.eos.value_or(kNone));
    put_field(trainer, 43, vocabulary.padding.value_or(kNone));
    put_text(out, 2, trainer);
    std::string normalizer;
    put_field(normalizer, 3, vocabulary.add_space_prefix.value_or(true));
    put_field(normalizer, 4, vocabulary.merge_spaces.value_or(false));
    put_text(out, 3, normalizer);
    return out;
}

} // namespace ggufx::cli
