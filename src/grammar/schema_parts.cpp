// See schema_parts.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/schema_parts.hpp"

#include "base/hex.hpp"
#include "grammar/syntax.hpp"

#include <algorithm>
#include <stdarg.h>

namespace ggufx::grammar {

using chat::Kind;
using chat::Value;

namespace {

constexpr size_t kMostAlternatives = 4096;
constexpr uint64_t kMostExpansions = 1 << 18; // of a whole schema
constexpr unsigned kMostShown = 12;           // keys of a pointer in an error

chat::Limits limits_of(size_t n) {
    return {uint64_t{1} << 32, (64u << 20) + 64 * uint64_t{n}, 1};
}

} // namespace

uint32_t kind_of(const Value &value) {
    switch (value.kind) {
    case Kind::none:
        return kNull;
    case Kind::boolean:
        return kBoolean;
    case Kind::integer:
        return kInteger;
    case Kind::real: // 1.0 is an integer, too
        return value.real >= -9e15 && value.real <= 9e15 &&
                       value.real == static_cast<double>(static_cast<int64_t>(value.real))
                   ? kInteger
                   : kFraction;
    case Kind::string:
        return kString;
    case Kind::list:
        return kArray;
    default:
        return kObject;
    }
}

SchemaTree::SchemaTree(const Host *host, std::string_view text)
    : host_(host), meter_(host, limits_of(text.size())) {
    try {
        root_ = chat::read_json(meter_, text, "the schema");
    } catch (const Error &e) {
        if (e.failure.offset == kNone) throw;
        refuse_at(text, e.failure.offset, static_cast<Status>(e.failure.status), "%s",
                  e.failure.message);
    }
}

const Where *SchemaTree::below(const Where *above, std::string_view key) {
    return meter_.make<Where>(above, key);
}

void SchemaTree::refuse(const Where *where, Status status, const char *format, ...) {
    char text[200], pointer[200];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    const Where *path[kMostShown];
    unsigned n = 0;
    for (; where && n < kMostShown; where = where->above)
        if (!where->key.empty()) path[n++] = where;
    size_t at = print_text(pointer, sizeof pointer, "#%s", where ? "/..." : "");
    while (n-- > 0)
        at += print_text(pointer + at, sizeof pointer - at, "/%s",
                         Quoted(path[n]->key.data(), path[n]->key.size()).c_str());
    fail(status, {}, "%s: %s", pointer, text);
}

void SchemaTree::add(Parts &out, const Value &schema, const Where *where) {
    if (schema.is(Kind::boolean) && schema.truth) return;
    if (!schema.is(Kind::boolean) && !schema.is(Kind::dict))
        refuse(where, Status::malformed, "a schema is neither an object nor true nor false");
    for (const Part &part : out)
        if (part.schema.kind == schema.kind && part.id() == Part{schema, where}.id()) return;
    out.push_back({schema, where});
}

const Value *SchemaTree::find(const Part &part, std::string_view key) {
    return part.schema.is(Kind::dict) ? chat::lookup(meter_, *part.schema.dict, key) : nullptr;
}

// ---- references ----

void SchemaTree::find_anchor(const Value &in, std::string_view name, const Value **found,
                             unsigned depth) {
    meter_.charge(1);
    if (depth > chat::kJsonDepth || *found) return;
    if (in.is(Kind::list))
        for (size_t i = 0; i < in.list->size; i++)
            find_anchor(in.list->items[i], name, found, depth + 1);
    if (!in.is(Kind::dict)) return;
    const Value *const anchor = chat::lookup(meter_, *in.dict, "$anchor");
    if (anchor && anchor->is(Kind::string) && anchor->text->view() == name) *found = &in;
    for (size_t i = 0; i < in.dict->size; i++)
        find_anchor(in.dict->entries[i]->value, name, found, depth + 1);
}

Part SchemaTree::resolve(const Value &ref, const Where *where) {
    if (!ref.is(Kind::string)) refuse(where, Status::malformed, "'$ref' is no text");
    std::string_view text = ref.text->view();
    const std::string_view whole = text;
    const auto lost = [&](const char *why) {
        refuse(where, Status::unsupported, "'$ref' %s: '%s'", why,
               Quoted(whole.data(), whole.size()).c_str());
    };
    if (const Value *const id = find({root_, nullptr}, "$id");
        id && id->is(Kind::string) && id->text->size > 0 &&
        text.substr(0, id->text->size) == id->text->view())
        text.remove_prefix(id->text->size);
    if (text.empty()) return {root_, nullptr};
    if (text[0] != '#') lost("leads out of the schema");
    text.remove_prefix(1);
    const Value *at = &root_;
    if (!text.empty() && text[0] != '/') {
        at = nullptr;
        find_anchor(root_, text, &at, 0);
        if (!at) lost("leads nowhere");
        return {*at, below(nullptr, text)};
    }
    const Where *path = nullptr;
    while (!text.empty()) {
        text.remove_prefix(1);
        const std::string_view raw = text.substr(0, text.find('/'));
        text.remove_prefix(raw.size());
        char *const key = static_cast<char *>(meter_.bytes(raw.size() + 1));
        size_t n = 0;
        for (size_t i = 0; i < raw.size(); i++) {
            char c = raw[i];
            const auto hex = [&](size_t k) { return k < raw.size() ? hex_value(raw[k]) : -1; };
            if (c == '~' && i + 1 < raw.size())
                c = raw[++i] == '0' ? '~' : '/';
            else if (c == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0)
                c = static_cast<char>(hex(i + 1) << 4 | hex(i + 2)), i += 2;
            key[n++] = c;
        }
        const std::string_view name(key, n);
        const Value *next = nullptr;
        if (at->is(Kind::dict)) next = chat::lookup(meter_, *at->dict, name);
        if (at->is(Kind::list)) {
            uint64_t index = 0;
            bool number = n > 0 && n < 9;
            for (const char c : name)
                number = number && c >= '0' && c <= '9',
                index = index * 10 + static_cast<uint64_t>(c - '0');
            if (number && index < at->list->size) next = &at->list->items[index];
        }
        if (!next) lost("leads nowhere");
        at = next;
        path = below(path, name);
    }
    return {*at, path};
}

// ---- alternatives ----

// One of the ways that are looked at: parts that hold, parts still to be opened.
struct SchemaTree::Path {
    explicit Path(const Parts &none) : open(none), held(none) {}
    Parts open, held;
    size_t next = 0;    // of held: its branches
    unsigned stage = 0; // 0: anyOf, 1: oneOf
};

void SchemaTree::expand(Vector<Parts> &out, const Parts &parts) {
    Vector<Path> paths{HostAllocator<Path>(host_)};
    paths.emplace_back(none());
    paths.back().open = parts;
    while (!paths.empty()) {
        if (++work_ > kMostExpansions || paths.size() + out.size() > kMostAlternatives)
            fail(Status::limit, {}, "the schema has too many alternatives");
        Path path = std::move(paths.back());
        paths.pop_back();
        while (!path.open.empty()) { // references and allOf
            const Part part = path.open.back();
            path.open.pop_back();
            const size_t before = path.held.size();
            add(path.held, part.schema, part.where);
            if (path.held.size() == before) continue;
            if (const Value *const ref = find(part, "$ref")) {
                const Part target = resolve(*ref, part.where);
                add(path.open, target.schema, target.where);
            }
            const Value *const all = find(part, "allOf");
            if (!all) continue;
            if (!all->is(Kind::list)) refuse(part.where, Status::malformed, "'allOf' is no array");
            for (size_t i = 0; i < all->list->size; i++)
                add(path.open, all->list->items[i], below(part.where, "allOf"));
        }
        bool split = false;
        while (!split && path.next < path.held.size()) {
            const Part part = path.held[path.next];
            const char *const word = path.stage == 0 ? "anyOf" : "oneOf";
            const Value *const branches = find(part, word);
            const bool one = path.stage == 1;
            path.next += path.stage;
            path.stage = 1 - path.stage;
            if (!branches) continue;
            if (!branches->is(Kind::list) || branches->list->size == 0)
                refuse(part.where, Status::malformed, "'%s' is no array of schemas", word);
            const Where *const where = below(part.where, word);
            if (one) require_exclusive(*branches, where);
            for (size_t i = branches->list->size; i-- > 0;) {
                Path branch(path);
                add(branch.open, branches->list->items[i], where);
                paths.push_back(std::move(branch));
            }
            split = true;
        }
        if (!split) out.push_back(std::move(path.held));
    }
}

const chat::List *SchemaTree::values_of(const Value &schema, const Where *where) {
    if (const Value *const value = find({schema, where}, "const")) {
        chat::List *const list = chat::make_list(meter_, 1);
        chat::append(meter_, list, *value);
        return list;
    }
    const Value *const values = find({schema, where}, "enum");
    if (!values) return nullptr;
    if (!values->is(Kind::list)) refuse(where, Status::malformed, "'enum' is no array");
    return values->list;
}

const chat::List *SchemaTree::choices(const Part &part) {
    return values_of(part.schema, part.where);
}

const chat::List *SchemaTree::excluded(const Part &part) {
    const Value *const schema = find(part, "not");
    return schema ? values_of(*schema, below(part.where, "not")) : nullptr;
}

bool SchemaTree::same(const Value &a, const Value &b) {
    return a.is(Kind::boolean) == b.is(Kind::boolean) && chat::equal(meter_, a, b);
}

uint32_t SchemaTree::types_of(const Value &type, const Where *where) {
    static constexpr struct {
        std::string_view name;
        uint32_t bits;
    } names[] = {{"null", kNull},       {"boolean", kBoolean},
                 {"integer", kInteger}, {"number", kInteger | kFraction},
                 {"string", kString},   {"array", kArray},
                 {"object", kObject}};
    const bool list = type.is(Kind::list);
    uint32_t bits = 0;
    for (size_t i = 0; i < (list ? type.list->size : 1); i++) {
        const Value &name = list ? type.list->items[i] : type;
        uint32_t known = 0;
        for (const auto &n : names)
            if (name.is(Kind::string) && name.text->view() == n.name) known = n.bits;
        if (!known) refuse(where, Status::malformed, "'type' is no name of a type");
        bits |= known;
    }
    return bits;
}

// Of `not` with one keyword: what it names is all that it takes away.
uint32_t SchemaTree::excluded_kinds(const Part &part) {
    const Value *const schema = find(part, "not");
    if (!schema) return 0;
    const Where *const where = below(part.where, "not");
    const Value *const type = find({*schema, where}, "type");
    const chat::List *const values = values_of(*schema, where);
    if (!schema->is(Kind::dict) || schema->dict->size != 1 || (!type && !values))
        refuse(part.where, Status::unsupported,
               "the keyword 'not' is supported with 'type', 'enum' or 'const' alone");
    if (type) return types_of(*type, where);
    uint32_t bits = 0;
    bool truths[2] = {};
    for (size_t i = 0; i < values->size; i++) {
        if (values->items[i].is(Kind::none)) bits |= kNull;
        if (values->items[i].is(Kind::boolean)) truths[values->items[i].truth] = true;
    }
    return truths[0] && truths[1] ? bits | kBoolean : bits;
}

uint32_t SchemaTree::kinds(const Parts &flat) {
    uint32_t out = kAllKinds;
    for (const Part &part : flat) {
        if (!part.schema.is(Kind::dict)) return 0;
        if (const chat::List *const values = choices(part)) {
            uint32_t bits = 0;
            for (size_t i = 0; i < values->size; i++) bits |= kind_of(values->items[i]);
            out &= bits;
        }
        if (const Value *const type = find(part, "type")) out &= types_of(*type, part.where);
        out &= ~excluded_kinds(part);
    }
    return out;
}

// ---- oneOf ----

// Is no value accepted by both? What cannot be seen at once counts as no.
bool SchemaTree::exclude(const Part &a, const Part &b) {
    const chat::List *const x = choices(a), *const y = choices(b);
    if (!x || !y) return false;
    for (size_t i = 0; i < x->size; i++)
        for (size_t k = 0; k < y->size; k++)
            if (same(x->items[i], y->items[k])) return false;
    return true;
}

bool SchemaTree::exclude_flat(const Parts &a, const Parts &b) {
    const uint32_t both = kinds(a) & kinds(b);
    if (both == 0) return true;
    const auto requires_name = [&](const Parts &parts, const Value &name) {
        for (const Part &part : parts) {
            const Value *const names = find(part, "required");
            for (size_t i = 0; names && names->is(Kind::list) && i < names->list->size; i++)
                if (same(names->list->items[i], name)) return true;
        }
        return false;
    };
    for (const Part &p : a) {
        for (const Part &q : b) {
            if (++work_ > kMostExpansions)
                fail(Status::limit, {}, "the schema has too many alternatives");
            if (exclude(p, q)) return true;
            const Value *const m = find(p, "properties"), *const n = find(q, "properties");
            if (both != kObject || !m || !n || !m->is(Kind::dict) || !n->is(Kind::dict)) continue;
            for (size_t i = 0; i < m->dict->size; i++) {
                const chat::Entry &entry = *m->dict->entries[i];
                const Value *const other = chat::lookup(meter_, *n->dict, entry.key);
                if (other && exclude({entry.value, nullptr}, {*other, nullptr}) &&
                    requires_name(a, entry.key) && requires_name(b, entry.key))
                    return true;
            }
        }
    }
    return false;
}

void SchemaTree::require_exclusive(const Value &branches, const Where *where) {
    const size_t n = branches.list->size;
    Vector<Vector<Parts>> flat{HostAllocator<Vector<Parts>>(host_)};
    for (size_t i = 0; i < n; i++) {
        flat.emplace_back(HostAllocator<Parts>(host_));
        Parts parts = none();
        add(parts, branches.list->items[i], where);
        if (nesting_ < kMostNesting) {
            nesting_++;
            expand(flat.back(), parts);
            nesting_--;
        } else { // by its own keywords alone
            flat.back().push_back(parts);
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            for (const Parts &a : flat[i])
                for (const Parts &b : flat[k])
                    if (!exclude_flat(a, b))
                        refuse(where, Status::unsupported,
                               "branches %u and %u are not seen to exclude each other; anyOf "
                               "takes either",
                               static_cast<unsigned>(k), static_cast<unsigned>(i));
}

} // namespace ggufx::grammar
