// See detokenizer.hpp. Clean-up of spaces as in transformers and llama.cpp: " ?" " !" " ." " ,"
// lose the space; then " ' " both spaces; then " 's" " 'm" " 're" " 've" the space. Each pass
// is a small state machine that holds the bytes it cannot decide on yet.
// SPDX-License-Identifier: MIT
#include "tokenizer/detokenizer.hpp"

#include "tokenizer/byte_map.hpp"
#include "tokenizer/merges.hpp"
#include "tokenizer/rwkv.hpp"

namespace ggufx::model {

namespace {

uint8_t hex_digit(char c) {
    return static_cast<uint8_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

} // namespace

void Detokenizer::put(int32_t id) {
    const Token &token = vocab_[static_cast<size_t>(id)];
    const std::string_view text = token.view();
    if (token.kind == TokenKind::control || token.kind == TokenKind::unknown) {
        if (options_.keep_special) put_bytes(text);
        return;
    }
    const bool drops_space = !state_.started && vocab_.add_space() && !options_.keep_space;
    state_.started = 1;
    if (token.kind == TokenKind::byte)
        return put_byte(static_cast<char>(hex_digit(text[3]) << 4 | hex_digit(text[4])));
    if (token.kind == TokenKind::user && vocab_.kind() != VocabKind::rwkv) return put_bytes(text);
    const bool drop = drops_space && text.substr(0, kSpaceText.size()) == kSpaceText;
    put_text(drop ? text.substr(kSpaceText.size()) : text);
}

void Detokenizer::put_text(std::string_view text) {
    if (vocab_.kind() == VocabKind::rwkv) {
        while (!text.empty()) {
            const int32_t byte = take_escaped(&text);
            if (byte >= 0) put_byte(static_cast<char>(byte));
        }
    } else if (vocab_.kind() == VocabKind::bpe) {
        while (!text.empty()) {
            const Character c = first_character(text);
            const int32_t byte = kByteMap.byte(c.code);
            if (byte >= 0)
                put_byte(static_cast<char>(byte));
            else // no character of the byte map: unchanged
                put_bytes(text.substr(0, c.length));
            text.remove_prefix(c.length);
        }
    } else if (vocab_.kind() == VocabKind::raw_bpe && !vocab_.escapes_spaces()) {
        put_bytes(text);
    } else {
        while (!text.empty()) {
            const bool space = text.substr(0, kSpaceText.size()) == kSpaceText;
            put_byte(space ? ' ' : text[0]);
            text.remove_prefix(space ? kSpaceText.size() : 1);
        }
    }
}

void Detokenizer::clean_marks(char c) {
    const bool mark = c == '?' || c == '!' || c == '.' || c == ',';
    if (state_.marks && !mark) clean_quotes(' ');
    state_.marks = c == ' ';
    if (!state_.marks) clean_quotes(c);
}

void Detokenizer::clean_quotes(char c) {
    const uint8_t held = state_.quote;
    state_.quote = 0;
    if (held == 2) {
        if (c == ' ') return clean_contractions('\'');
        clean_contractions(' ');
        clean_contractions('\'');
        return clean_contractions(c);
    }
    if (held == 1 && c == '\'') {
        state_.quote = 2;
        return;
    }
    if (held == 1) clean_contractions(' ');
    if (c == ' ')
        state_.quote = 1;
    else
        clean_contractions(c);
}

void Detokenizer::clean_contractions(char c) {
    const uint8_t held = state_.contraction;
    if (held == 1 && c == '\'') {
        state_.contraction = 2;
        return;
    }
    if (held == 2 && (c == 'r' || c == 'v')) {
        state_.contraction = static_cast<uint8_t>(c);
        return;
    }
    const bool drops_space = (held == 2 && (c == 's' || c == 'm')) || (held > 2 && c == 'e');
    if (held && !drops_space) hold(' ');
    if (held > 1) hold('\'');
    if (held > 2) hold(static_cast<char>(held));
    state_.contraction = c == ' ';
    if (c != ' ') hold(c);
}

void Detokenizer::let_go() {
    for (uint8_t i = 0; i < state_.n_held; i++) sink_.put(static_cast<char>(state_.held[i]));
    state_.n_held = 0;
}

void Detokenizer::hold(char c) {
    if (!options_.whole_characters) return sink_.put(c);
    const uint8_t byte = static_cast<uint8_t>(c);
    if (state_.n_held > 0) {
        const uint8_t lead = state_.held[0];
        const bool second = state_.n_held == 1;
        // Some lead bytes allow fewer second bytes: overlong forms, surrogates, above 0x10ffff.
        const uint8_t least = !second ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const uint8_t most = !second ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (byte >= least && byte <= most) {
            if (state_.n_held + 1u < lead_length(static_cast<char>(lead))) {
                state_.held[state_.n_held++] = byte;
                return;
            }
            let_go();
            return sink_.put(c);
        }
        let_go();
    }
    if (byte >= 0xc2 && byte <= 0xf4)
        state_.held[state_.n_held++] = byte;
    else
        sink_.put(c);
}

void Detokenizer::finish() {
    if (state_.marks) clean_quotes(' ');
    state_.marks = 0;
    if (state_.quote > 0) clean_contractions(' ');
    if (state_.quote > 1) clean_contractions('\'');
    state_.quote = 0;
    if (state_.contraction > 0) hold(' ');
    if (state_.contraction > 1) hold('\'');
    if (state_.contraction > 2) hold(static_cast<char>(state_.contraction));
    state_.contraction = 0;
    let_go();
}

} // namespace ggufx::model
