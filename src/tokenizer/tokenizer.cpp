// Common part of all kinds: tokens matched whole are split off the text first, the rest is encoded
// piece by piece. For vocabularies with U+2581 for a space, spaces are replaced here.
// SPDX-License-Identifier: MIT
#include "tokenizer/tokenizer.hpp"

#include "base/work.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/raw_bpe.hpp"
#include "tokenizer/rwkv.hpp"
#include "tokenizer/spm.hpp"
#include "tokenizer/unigram.hpp"
#include "tokenizer/wordpiece.hpp"

#include <algorithm>
#include <inttypes.h>
#include <utility>

namespace ggufx::model {

namespace {

constexpr size_t kMaxText = size_t{1} << 29; // spaces grow to 3 bytes, offsets are 32-bit

template <class T> Encoder *make_of(const Vocab &vocab) {
    return make<T>(*vocab.host(), vocab);
}

Encoder *make_encoder(const Vocab &vocab) {
    if (vocab.kind() == VocabKind::spm) return make_of<Spm>(vocab);
    if (!kEveryVocabulary) return nullptr;
    switch (vocab.kind()) {
    case VocabKind::bpe:
        return make_of<Bpe>(vocab);
    case VocabKind::raw_bpe:
        return make_of<RawBpe>(vocab);
    case VocabKind::wordpiece:
        return make_of<Wordpiece>(vocab);
    case VocabKind::unigram:
        return make_of<Unigram>(vocab);
    case VocabKind::rwkv:
        return make_of<Rwkv>(vocab);
    case VocabKind::spm:
    case VocabKind::none:
        break;
    }
    return nullptr;
}

void destroy_encoder(const Vocab &vocab, Encoder *encoder) {
    const Host &host = *vocab.host(); // the host needs the size
    if (vocab.kind() == VocabKind::spm) return unmake(host, static_cast<Spm *>(encoder));
    if (!kEveryVocabulary) return;
    switch (vocab.kind()) {
    case VocabKind::bpe:
        return unmake(host, static_cast<Bpe *>(encoder));
    case VocabKind::raw_bpe:
        return unmake(host, static_cast<RawBpe *>(encoder));
    case VocabKind::wordpiece:
        return unmake(host, static_cast<Wordpiece *>(encoder));
    case VocabKind::unigram:
        return unmake(host, static_cast<Unigram *>(encoder));
    case VocabKind::rwkv:
        return unmake(host, static_cast<Rwkv *>(encoder));
    case VocabKind::spm:
    case VocabKind::none:
        break;
    }
}

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

} // namespace

Tokenizer::Tokenizer(Ref<gguf::File> file)
    : vocab_(std::move(file)), whole_(vocab_), mask_(find_mask()), encoder_(make_encoder(vocab_)) {}

Tokenizer::~Tokenizer() {
    destroy_encoder(vocab_, encoder_);
}

// Returns the "<mask>" token if it absorbs the white space before it, as in some model families.
int32_t Tokenizer::find_mask() const {
    if (vocab_.kind() == VocabKind::none) return -1;
    const gguf::File &file = vocab_.file();
    const auto text = [&](const char *key) {
        const size_t index = file.find_meta(key);
        const bool there =
            index != gguf::kNotFound && file.meta(index).type == gguf::ValueType::string;
        return there ? file.get_string(index) : std::string_view();
    };
    const std::string_view pre = text("tokenizer.ggml.pre"), name = text("general.architecture");
    const bool takes = pre == "jina-v2-de" || pre == "jina-v2-es" || pre == "jina-v2-code" ||
                       name == "nomic-bert-moe" || name == "jina-bert-v3";
    return takes ? vocab_.find("<mask>") : -1;
}

void Tokenizer::tokenize_plain(Ids &ids, std::string_view text, Controls controls) const {
    if (text.empty()) return;
    if (!vocab_.escapes_spaces()) return encoder_->encode(ids, text, controls);
    Vector<char> escaped{HostAllocator<char>(vocab_.host().get())};
    const auto spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
    escaped.reserve(text.size() + 2 * spaces + kSpaceText.size());
    const auto put_space = [&] {
        escaped.insert(escaped.end(), kSpaceText.begin(), kSpaceText.end());
    };
    // With merge_spaces, a space waits for the next character, so that none is left at the end.
    const bool merges = vocab_.merge_spaces();
    bool waiting = vocab_.add_space(), began = false;
    if (!merges && std::exchange(waiting, false)) put_space();
    for (const char c : text) {
        if (c == ' ' && merges) {
            waiting |= began;
        } else if (c == ' ') {
            put_space();
        } else {
            if (std::exchange(waiting, false)) put_space();
            began = true;
            escaped.push_back(c);
        }
    }
    if (!escaped.empty()) encoder_->encode(ids, {escaped.data(), escaped.size()}, controls);
}

void Tokenizer::tokenize(Ids &ids, std::string_view text, const TokenizeOptions &options) const {
    if (text.size() > kMaxText) {
        fail(Status::argument, {}, "the text has %" PRIu64 " bytes, the limit is %" PRIu64,
             static_cast<uint64_t>(text.size()), static_cast<uint64_t>(kMaxText));
    }
    if (!encoder_) fail(Status::unsupported, {}, "the model has no vocabulary, only ids");
    std::optional<WholeTokens::Pieces> pieces =
        whole_.find(text, options.parse_special, options.origin);
    const Controls controls =
        options.origin ? Controls(options.origin->marks()) : Controls::allowed;
    const auto add = [&](bool wanted, int32_t id) {
        if (options.add_special && wanted && id >= 0) ids.push_back(id);
    };
    add(vocab_.add_bos(), vocab_.bos());
    Work work(UINT64_MAX, options.progress);
    size_t done = 0;
    for (; pieces && !pieces->empty(); pieces->pop_front()) { // frees memory for the ids
        const WholeTokens::Piece piece = pieces->front();
        std::string_view plain = text.substr(done, piece.start - done);
        while (whole_.id(piece) == mask_ && !plain.empty() && is_space(plain.back()))
            plain.remove_suffix(1);
        work.add_steps(plain.size() + 1);
        tokenize_plain(ids, plain, controls);
        ids.push_back(whole_.id(piece));
        done = size_t{piece.start} + whole_.length(piece);
    }
    tokenize_plain(ids, text.substr(done), controls);
    add(vocab_.add_eos(), vocab_.eos());
    // Other kinds have the separator between two texts only.
    add(vocab_.kind() == VocabKind::wordpiece, vocab_.special(Special::separator));
}

size_t Tokenizer::detokenize(char *out, size_t capacity, const int32_t *ids, size_t n_ids,
                             const DetokenizeOptions &options, DetokenizeState &state,
                             bool last) const {
    Sink sink(out, capacity);
    Detokenizer detokenizer(sink, vocab_, options, state);
    for (size_t i = 0; i < n_ids; i++) detokenizer.put(ids[i]);
    if (last) detokenizer.finish();
    return sink.needed();
}

} // namespace ggufx::model
