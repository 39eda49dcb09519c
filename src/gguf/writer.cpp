// Keys and tensors of a file that is to be written.
// SPDX-License-Identifier: MIT
#include "gguf/writer.hpp"

#include "formats/format.hpp"
#include "gguf/limits.hpp"
#include "gguf/split_name.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::gguf {

namespace {

constexpr Wire kLittle = {};

// Reserves room for more elements without the quadratic cost of exact reservations.
template <class T> void make_room(Vector<T> &list, size_t more) {
    const size_t want = list.size() + more;
    if (want > list.capacity()) list.reserve(std::max(want, 2 * list.capacity()));
}

// Keys move between lists of one writer. splice() would abort if their allocators differed; this
// tells the compiler that they do not.
template <class List> void expect_one_host(const List &a, const List &b) {
    if (a.get_allocator() != b.get_allocator()) __builtin_unreachable();
}

// Returns the key's name for an index of keys.
constexpr auto kKeyName = [](const auto &place) { return place->name(); };

} // namespace

Writer::Writer(const Ref<Host> &host, const WriterOptions &options)
    : host_(host), options_(options), keys_(no_keys()), keys_by_name_(host.get()),
      tensors_(HostAllocator<WriterTensor>(host.get())), tensors_by_name_(host.get()) {
    wire_.big_endian = options.big_endian;
}

// ---- keys

const WriterKey *Writer::find_key(std::string_view name) const {
    const Place *place = keys_by_name_.find(name, kKeyName);
    return place ? &**place : nullptr;
}

Writer::Place Writer::require_key(std::string_view name) const {
    const Place *place = keys_by_name_.find(name, kKeyName);
    if (!place) fail(Status::not_found, {}, "there is no key \"%s\"", Quoted(name).c_str());
    return *place;
}

WriterKey Writer::begin_key(std::string_view name, ValueType type) const {
    if (name.empty()) fail(Status::key, {.index = keys_.size()}, "the key is empty");
    WriterKey key(host_.get());
    key.bytes.reserve(wire_.count_bytes() + name.size() + 4 + 8);
    put_string(key.bytes, wire_, name);
    put_number(key.bytes, wire_, static_cast<uint64_t>(type), 4);
    key.n_name = name.size();
    key.type = type;
    return key;
}

void Writer::check_alignment(const WriterKey &key) const {
    if (key.name() != "general.alignment") return;
    if (key.type != ValueType::u32)
        fail(Status::kvtype, {}, "key \"general.alignment\": its type must be u32, not %s",
             value_type_name(key.type));
    const uint64_t n = wire_.u32(key.bytes.data() + key.value_at());
    if (n == 0 || (n & (n - 1)) != 0)
        fail(Status::alignment, {}, "key \"general.alignment\": %" PRIu64 " is not a power of two",
             n);
}

uint64_t Writer::alignment() const {
    const WriterKey *key = find_key("general.alignment");
    return key ? wire_.u32(key->bytes.data() + key->value_at()) : kDefaultAlignment;
}

// Adds keys of different names: existing keys are replaced in their position, the others are
// appended.
void Writer::put_keys(Keys made) {
    if (made.size() > kMaxCount - keys_.size())
        fail(Status::limit, {.limit = kMaxCount}, "more than %" PRIu64 " keys", kMaxCount);
    keys_by_name_.reserve(made.size(), kKeyName);
    Place key = made.begin();
    bool all_new = true;
    try {
        for (; key != made.end(); ++key) {
            const bool is_new = !find_key(key->name());
            if (is_new) keys_by_name_.insert(key, kKeyName);
            all_new = all_new && is_new;
        }
    } catch (...) {
        while (key != made.begin())
            if (find_key((--key)->name()) == &*key) keys_by_name_.erase(key->name(), kKeyName);
        throw;
    }
    expect_one_host(keys_, made);
    if (all_new) return keys_.splice(keys_.end(), made);
    for (key = made.begin(); key != made.end();) { // nothing fails from here on
        const Place next = std::next(key), old = *keys_by_name_.find(key->name(), kKeyName);
        if (old != key) {
            expect_one_host(keys_, made);
            keys_.splice(old, made, key);
            keys_by_name_.replace(key, kKeyName);
            keys_.erase(old);
        }
        key = next;
    }
    expect_one_host(keys_, made);
    keys_.splice(keys_.end(), made);
}

void Writer::finish_key(WriterKey key) {
    check_alignment(key);
    Keys made = no_keys();
    made.push_back(std::move(key));
    put_keys(std::move(made));
}

void Writer::set_value(std::string_view key, ValueType type, const uint8_t *bytes, uint64_t n) {
    WriterKey made = begin_key(key, type);
    const RecodeInput in = {bytes, n, kLittle, false, key};
    const uint64_t used = recode_value(made.bytes, wire_, type, in, &made.n_nested);
    if (used != n)
        fail(Status::argument, {.offset = used},
             "key \"%s\": the value has %" PRIu64 " bytes, but %" PRIu64 " were given",
             Quoted(key).c_str(), used, n);
    finish_key(std::move(made));
}

void Writer::set_number(std::string_view key, ValueType type, uint64_t bits) {
    WriterKey made = begin_key(key, type);
    put_number(made.bytes, wire_, bits, static_cast<unsigned>(value_bytes(type)));
    finish_key(std::move(made));
}

void Writer::set_string(std::string_view key, std::string_view text) {
    WriterKey made = begin_key(key, ValueType::string);
    put_string(made.bytes, wire_, text);
    finish_key(std::move(made));
}

WriterKey Writer::number_key(const NumberKey &from) const {
    WriterKey made = begin_key(from.name, from.is_array ? ValueType::array : from.type);
    if (from.is_array) {
        put_number(made.bytes, wire_, static_cast<uint64_t>(from.type), 4);
        put_number(made.bytes, wire_, from.n, wire_.count_bytes());
    }
    put_elements(made.bytes, wire_, from.type, from.numbers, from.n);
    return made;
}

void Writer::set_array(std::string_view key, ValueType element, const void *elements, size_t n) {
    WriterKey made = number_key({key, element, elements, n});
    if (element == ValueType::boolean) // any non-zero byte is true
        for (size_t i = made.bytes.size() - n; i < made.bytes.size(); i++)
            made.bytes[i] = made.bytes[i] != 0;
    finish_key(std::move(made));
}

void Writer::set_strings(std::string_view key, const char *const *texts, const size_t *lengths,
                         size_t n) {
    WriterKey made = begin_key(key, ValueType::array);
    put_number(made.bytes, wire_, static_cast<uint64_t>(ValueType::string), 4);
    put_number(made.bytes, wire_, n, wire_.count_bytes());
    for (size_t i = 0; i < n; i++) {
        if (!texts[i] && lengths[i])
            fail(Status::argument, {.index = i}, "string %zu of the array is NULL", i);
        put_string(made.bytes, wire_, {texts[i] ? texts[i] : "", lengths[i]});
    }
    finish_key(std::move(made));
}

void Writer::unset(std::string_view key) {
    const Place place = require_key(key);
    keys_by_name_.erase(key, kKeyName);
    keys_.erase(place);
}

void Writer::rename(std::string_view key, std::string_view new_name) {
    const Place old = require_key(key);
    if (key == new_name) return;
    if (find_key(new_name))
        fail(Status::duplicate, {}, "there is a key \"%s\" already", Quoted(new_name).c_str());
    WriterKey renamed = begin_key(new_name, old->type);
    renamed.bytes.insert(renamed.bytes.end(),
                         old->bytes.begin() + static_cast<ptrdiff_t>(old->value_at()),
                         old->bytes.end());
    renamed.n_nested = old->n_nested;
    check_alignment(renamed);
    Keys made = no_keys();
    made.push_back(std::move(renamed));
    keys_by_name_.insert(made.begin(), kKeyName);
    keys_by_name_.erase(key, kKeyName);
    expect_one_host(keys_, made);
    keys_.splice(old, made);
    keys_.erase(old);
}

void Writer::copy_meta(const File &file, const NumberKey *more, size_t n_more) {
    Keys made = no_keys();
    // A part opened alone stays a part. Otherwise the id of its set is obsolete.
    const bool is_part = file.n_parts() == 1 && file.find_meta("split.count") != kNotFound;
    for (size_t i = 0; i < file.n_meta(); i++) {
        const std::string_view name = file.meta(i).key;
        // A set opened as one file drops the keys of its parts.
        if (file.n_parts() > 1 && is_split_key(name)) continue;
        if (!is_part && name == kSplitId) continue;
        WriterKey key = begin_key(name, file.meta(i).type);
        file.copy_value(key.bytes, wire_, i, &key.n_nested);
        made.push_back(std::move(key));
    }
    for (size_t i = 0; i < n_more; i++) made.push_back(number_key(more[i]));
    put_keys(std::move(made));
}

// ---- tensors

void Writer::reserve_tensors(size_t n) {
    if (n > kMaxCount - tensors_.size())
        fail(Status::limit, {.limit = kMaxCount}, "more than %" PRIu64 " tensors", kMaxCount);
    make_room(tensors_, n);
}

void Writer::add_tensor(std::string_view name, const Tensor &view, TensorStream stream,
                        io::OnEnd keep) {
    const Quoted shown(name.data(), name.size());
    const At at{.index = tensors_.size()};
    if (name.size() > kMaxNameBytes)
        fail(Status::name, at, "tensor \"%s\": a name of %zu bytes; the limit is %" PRIu64,
             shown.c_str(), name.size(), kMaxNameBytes);
    const fmt::TypeInfo *type = fmt::type_info(view.type);
    if (!type)
        fail(Status::type, at, "tensor \"%s\": tensor type %" PRIu32 " is unknown", shown.c_str(),
             view.type);
    if (wire_.big_endian && !fmt::swap_blocks(nullptr, *type, 0))
        fail(Status::endian, at,
             "tensor \"%s\": the byte order of type %s in a big-endian file is not defined",
             shown.c_str(), type->name);
    const auto name_of = [&](uint32_t i) { return tensors_[i].name(); };
    if (const uint32_t *same = tensors_by_name_.find(name, name_of))
        fail(Status::duplicate, at, "tensor \"%s\": the same name as tensor %" PRIu32,
             shown.c_str(), *same);
    WriterTensor made(host_.get());
    made.name_bytes.assign(name.begin(), name.end());
    made.view = view;
    made.view.name = {};
    made.stream = stream;
    made.keep = std::move(keep);
    reserve_tensors(1);
    tensors_.push_back(std::move(made));
    try {
        tensors_by_name_.insert(static_cast<uint32_t>(tensors_.size() - 1), name_of);
    } catch (...) {
        tensors_.pop_back();
        throw;
    }
}

void Writer::drop_tensors(size_t from) {
    const auto name_of = [&](uint32_t i) { return tensors_[i].name(); };
    for (; tensors_.size() > from; tensors_.pop_back())
        tensors_by_name_.erase(tensors_.back().name(), name_of);
}

} // namespace ggufx::gguf
