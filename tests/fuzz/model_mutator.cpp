// SPDX-License-Identifier: MIT
#include "model_mutator.hpp"

#include <string.h>

#include <string_view>

namespace {

constexpr uint64_t kNumbers[] = {
    0,    1,    2,     3,     4,        5,          7,          8,          15,      16,  17,
    31,   32,   33,    63,    64,       65,         127,        128,        255,     256, 257,
    1024, 4096, 65535, 65536, 1u << 20, 0x7fffffff, 0x80000000, 0xffffffff, 1u << 30};
constexpr double kReals[] = {0,    1,    -1,    0.5,   1e-30,           1e30,
                             1e38, 1e-9, 100.0, 10000, __builtin_inf(), __builtin_nan("")};
constexpr size_t kArrayElements = 64; // elements changed in one array

uint64_t load(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
    return v;
}
void store(uint8_t *p, size_t n, uint64_t v) {
    for (size_t i = 0; i < n; i++, v >>= 8) p[i] = static_cast<uint8_t>(v);
}

} // namespace

uint32_t Dice::next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>(z >> 32);
}

// Reads fields; past the end it returns 0, and ok() is false.
class ModelMutator::Reader {
public:
    explicit Reader(ModelMutator &owner) : owner_(owner) {}

    bool ok() const { return ok_; }
    size_t at() const { return at_; }
    uint64_t number(size_t n) {
        if (!take(n)) return 0;
        return load(&owner_.data_[at_ - n], n);
    }
    uint64_t field(size_t n, Kind kind) {
        const uint64_t v = number(n);
        if (ok_) owner_.fields_.push_back({at_ - n, n, kind, vocabulary_});
        return v;
    }
    std::string_view text(bool is_field) {
        const uint64_t n = number(8);
        if (!ok_ || n > owner_.data_.size() || !take(static_cast<size_t>(n))) return {};
        const size_t start = at_ - static_cast<size_t>(n);
        if (is_field && n)
            owner_.fields_.push_back({start, static_cast<size_t>(n), Kind::name, vocabulary_});
        return {reinterpret_cast<const char *>(&owner_.data_[start]), static_cast<size_t>(n)};
    }
    void value(uint64_t type, bool is_field);
    void key() {
        const std::string_view name = text(true);
        vocabulary_ = name.substr(0, 10) == "tokenizer.";
        const uint64_t type = number(4);
        value(type, true);
        vocabulary_ = false;
    }
    void tensor() {
        text(true);
        const uint64_t n = number(4);
        if (n > 4) ok_ = false;
        for (uint64_t i = 0; ok_ && i < n; i++) field(8, Kind::dimension);
        field(4, Kind::u32); // type
        number(8);
    }

private:
    bool take(size_t n) {
        ok_ = ok_ && n <= owner_.data_.size() - at_;
        if (ok_) at_ += n;
        return ok_;
    }
    ModelMutator &owner_;
    size_t at_ = 0;
    bool ok_ = true, vocabulary_ = false;
};

void ModelMutator::Reader::value(uint64_t type, bool is_field) {
    static constexpr struct {
        size_t n;
        Kind kind;
    } kSimple[] = {{1, Kind::u8},  {1, Kind::u8},  {2, Kind::u16}, {2, Kind::u16}, {4, Kind::u32},
                   {4, Kind::u32}, {4, Kind::f32}, {1, Kind::u8},  {0, Kind::u8},  {0, Kind::u8},
                   {8, Kind::u64}, {8, Kind::u64}, {8, Kind::f64}};
    if (type == 8) {
        text(is_field);
    } else if (type == 9) {
        const uint64_t element = number(4), n = number(8);
        if (element == 9) ok_ = false; // arrays of arrays: no model has them
        for (uint64_t i = 0; ok_ && i < n; i++) value(element, i < kArrayElements);
    } else if (type < sizeof kSimple / sizeof *kSimple) {
        if (is_field)
            field(kSimple[type].n, kSimple[type].kind);
        else
            number(kSimple[type].n);
    } else {
        ok_ = false;
    }
}

ModelMutator::ModelMutator(const uint8_t *data, size_t n) : data_(data, data + n) {
    read();
}

void ModelMutator::read() {
    Reader in(*this);
    const uint64_t magic = in.number(4), version = in.number(4), n_tensors = in.number(8),
                   n_keys = in.number(8);
    if (magic != 0x46554747 || version != 3) return;
    for (uint64_t i = 0; in.ok() && i < n_keys; i++) in.key();
    for (uint64_t i = 0; in.ok() && i < n_tensors; i++) in.tensor();
    if (!in.ok()) fields_.clear();
    directory_end_ = in.at();
}

// Prefers hyper-parameters and tensors over the vocabulary, which has most fields.
const ModelMutator::Field &ModelMutator::choose(Dice &dice) const {
    for (int i = 0; i < 20; i++) {
        const Field &field = fields_[dice.below(fields_.size())];
        if (!field.vocabulary) return field;
    }
    return fields_[dice.below(fields_.size())];
}

// Mostly keeps the size of the tensor.
void ModelMutator::change_dimensions(std::vector<uint8_t> &bytes, const Field &field,
                                     Dice &dice) const {
    uint8_t *here = &bytes[field.at];
    const uint64_t v = load(here, 8);
    const Field &other = *(&field == fields_.data() ? &field : &field - 1);
    const bool pair = other.kind == Kind::dimension && other.at + 8 == field.at;
    uint8_t *before = &bytes[other.at];
    switch (dice.below(4)) {
    case 0:
        if (pair) {
            store(here, 8, load(before, 8));
            store(before, 8, v);
            return;
        }
        [[fallthrough]];
    case 1:
        if (pair && v % 2 == 0) {
            store(here, 8, v / 2);
            store(before, 8, load(before, 8) * 2);
            return;
        }
        [[fallthrough]];
    case 2:
        return store(here, 8, v - dice.below(3));
    default:
        return store(here, 8, kNumbers[dice.below(sizeof kNumbers / sizeof *kNumbers)]);
    }
}

void ModelMutator::change(std::vector<uint8_t> &bytes, Dice &dice) const {
    if (dice.below(8) == 0 && bytes.size() > directory_end_) { // a value of the weights
        const size_t at = directory_end_ + dice.below(bytes.size() - directory_end_);
        bytes[at] = static_cast<uint8_t>(dice.below(3) ? 0xff : dice.next());
        return;
    }
    const Field &f = choose(dice);
    uint8_t *here = &bytes[f.at];
    if (f.kind == Kind::dimension) return change_dimensions(bytes, f, dice);
    if (f.kind == Kind::name) {
        here[dice.below(f.n_bytes)] = static_cast<uint8_t>(dice.below(4) ? 'x' : dice.next());
        return;
    }
    if (f.kind == Kind::f32 || f.kind == Kind::f64) {
        const double real = kReals[dice.below(sizeof kReals / sizeof *kReals)];
        const float narrow = static_cast<float>(real);
        memcpy(here, f.n_bytes == 8 ? static_cast<const void *>(&real) : &narrow, f.n_bytes);
        return;
    }
    const uint64_t v = load(here, f.n_bytes);
    const uint64_t near[] = {v + 1, v - 1, v * 2, v / 2, v ^ (1ull << dice.below(8 * f.n_bytes))};
    const size_t pick = dice.below(12);
    store(here, f.n_bytes,
          pick < 5 ? near[pick] : kNumbers[dice.below(sizeof kNumbers / sizeof *kNumbers)]);
}

std::vector<uint8_t> ModelMutator::mutated(Dice &dice) const {
    std::vector<uint8_t> out = data_;
    const size_t n = 1 + dice.below(dice.below(3) ? 2 : 5);
    for (size_t i = 0; i < n && !fields_.empty(); i++) change(out, dice);
    return out;
}
