// Values, references and scopes of a JSON Schema, see schema_tree.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/schema_tree.hpp"

#include "base/hex.hpp"
#include "grammar/decimal.hpp"
#include "grammar/syntax.hpp"
#include "grammar/uri.hpp"

#include <algorithm>
#include <inttypes.h>
#include <stdarg.h>

namespace ggufx::grammar {

using chat::Dict;
using chat::Kind;
using chat::List;
using chat::Value;

namespace {

constexpr unsigned kMostShown = 12; // keys of a JSON pointer in an error
constexpr uint32_t kMostScopes = 4096;
constexpr std::string_view kOneSchema[] = {"additionalProperties",
                                           "contains",
                                           "contentSchema",
                                           "else",
                                           "if",
                                           "items",
                                           "not",
                                           "propertyNames",
                                           "then",
                                           "unevaluatedItems",
                                           "unevaluatedProperties"};
constexpr std::string_view kListOfSchemas[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::string_view kNamedSchemas[] = {"$defs", "definitions", "dependentSchemas",
                                              "patternProperties", "properties"};
constexpr chat::Limits kUnlimited = {0, UINT64_MAX, 1}; // the compilation's budget counts

template <size_t N> bool has(const std::string_view (&list)[N], std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

} // namespace

SchemaTree::SchemaTree(const Host *host, Work &work, std::string_view text)
    : host_(host), work_(work), meter_(host, kUnlimited, work),
      resources_(HostAllocator<Resource>(host)),
      by_uri_(HostAllocator<std::pair<const std::string_view, uint32_t>>(host)),
      resource_of_(HostAllocator<std::pair<const Dict *const, uint32_t>>(host)),
      anchors_(HostAllocator<std::pair<const std::pair<uint32_t, std::string_view>, Anchor>>(host)),
      scopes_(
          HostAllocator<std::pair<const std::pair<const Scope *, uint32_t>, const Scope *>>(host)),
      unions_(HostAllocator<std::pair<const Vector<const void *>, Dict *>>(host)),
      constants_(HostAllocator<std::pair<const void *const, Dict *>>(host)) {
    try {
        root_ = chat::read_json(meter_, text, "the schema", chat::JsonNumbers::as_written);
    } catch (const Error &e) {
        if (e.failure.offset == kNone) throw;
        refuse_at(text, e.failure.offset, static_cast<Status>(e.failure.status), "%s",
                  e.failure.message);
    }
    add_resource({}, &root_);
    index(root_, 0);
}

Subschema SchemaTree::root() {
    return enter({root_, nullptr, nullptr, false}, root_, {});
}

const SchemaLocation *SchemaTree::below(const SchemaLocation *above, std::string_view key) {
    return meter_.make<SchemaLocation>(above, key);
}

void SchemaTree::print_pointer(char *out, size_t size, const SchemaLocation *location) {
    const SchemaLocation *path[kMostShown];
    unsigned n = 0;
    for (; location && n < kMostShown; location = location->above)
        if (!location->key.empty()) path[n++] = location;
    size_t at = print_text(out, size, "#%s", location ? "/..." : "");
    while (n-- > 0)
        at += print_text(out + at, size - at, "/%s",
                         Quoted(path[n]->key.data(), path[n]->key.size()).c_str());
}

void SchemaTree::refuse(const SchemaLocation *location, Status status, const char *format, ...) {
    char text[200], pointer[200];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    print_pointer(pointer, sizeof pointer, location);
    fail(status, {}, "%s: %s", pointer, text);
}

// ---- resources and anchors ----

std::string_view SchemaTree::keep(const Name &text) {
    char *const out = static_cast<char *>(meter_.bytes(text.size() + 1));
    std::copy(text.begin(), text.end(), out);
    return {out, text.size()};
}

uint32_t SchemaTree::add_resource(std::string_view uri, const Value *root) {
    const auto number = static_cast<uint32_t>(resources_.size());
    resources_.push_back({uri, root});
    by_uri_.emplace(uri, number); // the first one counts
    return number;
}

uint32_t SchemaTree::resource_of(const Dict *dict, uint32_t otherwise) const {
    const auto found = resource_of_.find(dict);
    return found == resource_of_.end() ? otherwise : found->second;
}

// Indexes the $id and anchors of a schema; returns its resource.
uint32_t SchemaTree::index_one(const Value &schema, uint32_t resource) {
    const auto member = [&](std::string_view key) {
        return chat::lookup(meter_, *schema.dict, key);
    };
    const auto text_of = [&](std::string_view key) {
        const Value *const value = member(key);
        return value && value->is(Kind::string) ? value->text->view() : std::string_view();
    };
    std::string_view id = text_of("$id");
    id = id.substr(0, id.find('#'));
    if (!id.empty())
        resource = add_resource(keep(resolve_uri(host_, resources_[resource].uri, id)), &schema);
    const std::string_view dialect = text_of("$schema");
    if (!dialect.empty() && dialect.find("json-schema.org/") == dialect.npos)
        refuse(nullptr, Status::unsupported, "'$schema' names an unknown dialect: '%s'",
               Quoted(dialect).c_str());
    const std::string_view anchor = text_of("$anchor"), dynamic = text_of("$dynamicAnchor");
    if (!anchor.empty()) anchors_.try_emplace({resource, anchor}, Anchor{&schema, false});
    if (!dynamic.empty()) anchors_[{resource, dynamic}] = {&schema, true};
    has_dynamic_ = has_dynamic_ || member("$dynamicRef");
    has_unevaluated_ =
        has_unevaluated_ || member("unevaluatedProperties") || member("unevaluatedItems");
    return resource;
}

// Indexes the schemas within a schema, by the addresses of their values.
void SchemaTree::index(const Value &first, uint32_t first_resource) {
    Vector<IndexedSchema> todo{HostAllocator<IndexedSchema>(host_)};
    todo.push_back({&first, first_resource});
    while (!todo.empty()) {
        const IndexedSchema place = todo.back();
        todo.pop_back();
        meter_.charge(1);
        if (!place.schema->is(Kind::dict) || resource_of_.count(place.schema->dict) > 0) continue;
        const Dict &dict = *place.schema->dict;
        const uint32_t resource = index_one(*place.schema, place.resource);
        resource_of_.emplace(&dict, resource);
        for (size_t i = 0; i < dict.size; i++) {
            const std::string_view key = dict.entries[i]->key.text->view();
            const Value &at = dict.entries[i]->value;
            if (has(kOneSchema, key)) todo.push_back({&at, resource});
            if (has(kListOfSchemas, key) && at.is(Kind::list))
                for (size_t k = 0; k < at.list->size; k++)
                    todo.push_back({&at.list->items[k], resource});
            if (has(kNamedSchemas, key) && at.is(Kind::dict))
                for (size_t k = 0; k < at.dict->size; k++)
                    todo.push_back({&at.dict->entries[k]->value, resource});
        }
    }
}

// Returns the scope within a resource: the resources entered so far, each once. Null unless
// something uses $dynamicRef.
const Scope *SchemaTree::inside(const Scope *scope, uint32_t resource) {
    if (!has_dynamic_) return nullptr;
    for (const Scope *s = scope; s; s = s->outer)
        if (s->resource == resource) return scope;
    const auto [at, fresh] = scopes_.try_emplace({scope, resource}, nullptr);
    const uint32_t depth = scope ? scope->depth + 1 : 0;
    if (depth >= kMostScopes)
        fail(Status::limit, {.limit = kMostScopes},
             "over %" PRIu32 " parts with an '$id' lead to a schema", kMostScopes);
    if (fresh) at->second = meter_.make<Scope>(scope, resource, depth);
    return at->second;
}

// ---- schemas within schemas ----

Subschema SchemaTree::enter(const Subschema &of, const Value &schema, std::string_view key,
                            std::string_view name) {
    const SchemaLocation *location = key.empty() ? of.location : below(of.location, key);
    if (!name.empty()) location = below(location, name);
    const bool is_dict = schema.is(Kind::dict);
    if (!is_dict && !schema.is(Kind::boolean))
        refuse(location, Status::malformed, "a schema is neither an object nor true nor false");
    if (!is_dict || schema.dict->size == 0)
        return {Value::of(is_dict || schema.truth), location, nullptr, false};
    const auto known = resource_of_.find(schema.dict);
    const bool moves = known != resource_of_.end();
    return {schema, location, moves ? inside(of.scope, known->second) : of.scope, false};
}

void SchemaTree::add(Subschemas &out, const Subschema &part) {
    if (part.is_true()) return;
    work_.add(4 + 4 * out.size());
    for (const Subschema &there : out)
        if (there.same(part)) return;
    out.push_back(part);
}

Subschema SchemaTree::negate(const Subschema &part) const {
    Subschema out = part;
    if (part.is_dict())
        out.negated = !out.negated;
    else
        out.schema = Value::of(!part.schema.truth);
    return out;
}

const Value *SchemaTree::find(const Subschema &part, std::string_view key) {
    return part.is_dict() ? chat::lookup(meter_, *part.schema.dict, key) : nullptr;
}

const Dict *SchemaTree::find_dict(const Subschema &part, std::string_view key) {
    const Value *const value = find(part, key);
    if (value && !value->is(Kind::dict))
        refuse(part.location, Status::malformed, "'%s' is not an object", Quoted(key).c_str());
    return value ? value->dict : nullptr;
}

const List *SchemaTree::find_list(const Subschema &part, std::string_view key) {
    const Value *const value = find(part, key);
    if (value && !value->is(Kind::list))
        refuse(part.location, Status::malformed, "'%s' is not an array", Quoted(key).c_str());
    return value ? value->list : nullptr;
}

const List *SchemaTree::find_names(const Subschema &part, std::string_view key) {
    const Value *const value = find(part, key);
    return value ? names_of(part, *value, key) : nullptr;
}

const List *SchemaTree::names_of(const Subschema &part, const Value &value, std::string_view key) {
    bool right = value.is(Kind::list);
    for (size_t i = 0; right && i < value.list->size; i++)
        right = value.list->items[i].is(Kind::string);
    if (!right)
        refuse(part.location, Status::malformed, "'%s' is not an array of names",
               Quoted(key).c_str());
    return value.list;
}

uint32_t SchemaTree::find_count(const Subschema &part, std::string_view key, uint32_t otherwise) {
    const Value *const value = find(part, key);
    if (!value) return otherwise;
    Decimal number(host_);
    const bool fits = value->is(Kind::written) && read_decimal(number, value->text->view());
    if (!value->is(Kind::written) || (fits && (number.negative || !number.is_whole())))
        refuse(part.location, Status::malformed, "'%s' is not a count", Quoted(key).c_str());
    uint64_t n = fits ? 0 : kMany;
    if (fits)
        for (const char c : number.whole_part())
            n = std::min<uint64_t>(kMany, n * 10 + static_cast<uint64_t>(c - '0'));
    return static_cast<uint32_t>(std::min<uint64_t>(n, kMany - 1));
}

// ---- references ----

// Decodes a key of a JSON pointer in a URI: %XX, then ~0 and ~1.
std::string_view SchemaTree::pointer_key(std::string_view raw) {
    Name plain{HostAllocator<char>(host_)}, key(plain);
    const auto hex = [&](size_t k) { return k < raw.size() ? hex_value(raw[k]) : -1; };
    for (size_t i = 0; i < raw.size(); i++) {
        const bool escape = raw[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0;
        plain.push_back(escape ? static_cast<char>(hex(i + 1) << 4 | hex(i + 2)) : raw[i]);
        if (escape) i += 2;
    }
    for (size_t i = 0; i < plain.size(); i++) {
        const bool escape = plain[i] == '~' && i + 1 < plain.size();
        if (escape) i++;
        key.push_back(!escape ? plain[i] : plain[i] == '0' ? '~' : '/');
    }
    return keep(key);
}

// Follows a JSON pointer from the root of a resource; it may lead into another one.
const Value *SchemaTree::follow(uint32_t *resource, const SchemaLocation **path,
                                std::string_view pointer) {
    const Value *at = resources_[*resource].root;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        const std::string_view raw = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(raw.size());
        const std::string_view name = pointer_key(raw);
        const Value *next = nullptr;
        if (at->is(Kind::dict)) next = chat::lookup(meter_, *at->dict, name);
        if (at->is(Kind::list)) {
            uint64_t number = 0;
            bool is_number = !name.empty() && name.size() < 9;
            for (const char c : name)
                is_number = is_number && c >= '0' && c <= '9',
                number = number * 10 + static_cast<uint64_t>(c - '0');
            if (is_number && number < at->list->size) next = &at->list->items[number];
        }
        if (!next) return nullptr;
        at = next;
        *path = below(*path, name);
        if (at->is(Kind::dict)) *resource = resource_of(at->dict, *resource);
    }
    index(*at, *resource); // it may be where no schema was expected
    return at;
}

const Value *SchemaTree::find_anchor(uint32_t resource, std::string_view name, bool dynamic) const {
    const auto found = anchors_.find({resource, name});
    if (found == anchors_.end() || (dynamic && !found->second.dynamic)) return nullptr;
    return found->second.schema;
}

Subschema SchemaTree::resolve(const Subschema &of, const Value &ref, bool dynamic) {
    const char *const key = dynamic ? "$dynamicRef" : "$ref";
    if (!ref.is(Kind::string)) refuse(of.location, Status::malformed, "'%s' is not a string", key);
    const std::string_view text = ref.text->view();
    uint32_t resource = resource_of(of.schema.dict, 0);
    const std::string_view whole = keep(resolve_uri(host_, resources_[resource].uri, text));
    const size_t hash = whole.find('#');
    const std::string_view fragment =
        hash == whole.npos ? std::string_view() : whole.substr(hash + 1);
    const auto lost = [&](const char *why) {
        refuse(of.location, Status::unsupported, "'%s' %s: '%s'", key, why, Quoted(text).c_str());
    };
    const auto found = by_uri_.find(whole.substr(0, hash));
    if (found == by_uri_.end()) lost("leads out of the schema");
    resource = found->second;
    const SchemaLocation *path = nullptr;
    const Value *at;
    if (fragment.empty() || fragment[0] == '/') {
        at = follow(&resource, &path, fragment);
    } else {
        at = find_anchor(resource, fragment, false);
        path = below(nullptr, fragment);
        if (at && dynamic && find_anchor(resource, fragment, true)) {
            for (const Scope *s = of.scope; s; s = s->outer) // the outermost one is last
                if (const Value *const outer = find_anchor(s->resource, fragment, true))
                    at = outer, resource = s->resource;
        }
    }
    if (!at) lost("leads nowhere");
    const Subschema from = {of.schema, path, inside(of.scope, resource), false};
    return enter(from, *at, {});
}

// ---- values ----

uint32_t SchemaTree::kind_of(const Value &value) const {
    switch (value.kind) {
    case Kind::none:
        return kNull;
    case Kind::boolean:
        return kBoolean;
    case Kind::written: {
        Decimal number(host_);
        const bool fits = read_decimal(number, value.text->view());
        return !fits || number.is_whole() ? kInteger : kFraction;
    }
    case Kind::string:
        return kString;
    case Kind::list:
        return kArray;
    default:
        return kObject;
    }
}

// Returns whether a number has neither point nor exponent: such an integer has one spelling.
static bool is_plain_integer(std::string_view text) {
    return text != "-0" && text.find_first_of(".eE") == text.npos;
}

bool SchemaTree::same(const Value &a, const Value &b) {
    meter_.charge(1);
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case Kind::none:
        return true;
    case Kind::boolean:
        return a.truth == b.truth;
    case Kind::string:
        return a.text->view() == b.text->view();
    case Kind::written: {
        if (a.text->view() == b.text->view()) return true;
        if (is_plain_integer(a.text->view()) && is_plain_integer(b.text->view())) return false;
        Decimal x(host_), y(host_);
        if (!read_decimal(x, a.text->view()) || !read_decimal(y, b.text->view())) return false;
        return compare(x, y) == 0;
    }
    case Kind::list:
        for (size_t i = 0; i < a.list->size && a.list->size == b.list->size; i++)
            if (!same(a.list->items[i], b.list->items[i])) return false;
        return a.list->size == b.list->size;
    default:
        for (size_t i = 0; i < a.dict->size && a.dict->size == b.dict->size; i++) {
            const chat::Entry &entry = *a.dict->entries[i];
            const Value *const other = chat::lookup(meter_, *b.dict, entry.key);
            if (!other || !same(entry.value, *other)) return false;
        }
        return a.dict->size == b.dict->size;
    }
}

uint32_t SchemaTree::types(const Subschema &part) {
    static constexpr struct {
        std::string_view name;
        uint32_t bits;
    } names[] = {{"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger},
                 {"number", kNumber}, {"string", kString},   {"array", kArray},
                 {"object", kObject}};
    const Value *const type = find(part, "type");
    if (!type) return kAllKinds;
    const bool list = type->is(Kind::list);
    uint32_t bits = 0;
    for (size_t i = 0; i < (list ? type->list->size : 1); i++) {
        const Value &name = list ? type->list->items[i] : *type;
        uint32_t known = 0;
        for (const auto &n : names)
            if (name.is(Kind::string) && name.text->view() == n.name) known = n.bits;
        if (!known) refuse(part.location, Status::malformed, "'type' is not the name of a type");
        bits |= known;
    }
    return bits;
}

Subschema SchemaTree::constant(const Value &value, const Subschema &of) {
    const auto text = [&](std::string_view s) {
        return Value::of(chat::borrow_text(meter_, s, false));
    };
    const auto put = [&](Dict *to, std::string_view key, const Value &what) {
        chat::assign(meter_, to, text(key), what);
    };
    const auto of_one = [&](const Value &one) {
        Dict *const dict = chat::make_dict(meter_);
        put(dict, "const", one);
        return Value::of(dict);
    };
    const bool deep = value.is(Kind::list) || value.is(Kind::dict);
    Dict *known = nullptr;
    const void *const id =
        value.is(Kind::list) ? static_cast<const void *>(value.list) : value.dict;
    if (deep) {
        const auto found = constants_.find(id);
        if (found != constants_.end()) known = found->second;
    }
    Dict *dict = known;
    if (!dict) {
        dict = chat::make_dict(meter_);
        if (value.is(Kind::list)) {
            List *const items = chat::make_list(meter_);
            for (size_t i = 0; i < value.list->size; i++)
                chat::append(meter_, items, of_one(value.list->items[i]));
            char count[24];
            const size_t n = print_text(count, sizeof count, "%zu", value.list->size);
            Value least = text(keep(Name(count, count + n, HostAllocator<char>(host_))));
            least.kind = Kind::written;
            put(dict, "type", text("array"));
            put(dict, "prefixItems", Value::of(items));
            put(dict, "items", Value::of(false));
            put(dict, "minItems", least);
        } else if (value.is(Kind::dict)) {
            Dict *const properties = chat::make_dict(meter_);
            List *const required = chat::make_list(meter_);
            for (size_t i = 0; i < value.dict->size; i++) {
                const chat::Entry &entry = *value.dict->entries[i];
                chat::assign(meter_, properties, entry.key, of_one(entry.value));
                chat::append(meter_, required, entry.key);
            }
            put(dict, "type", text("object"));
            put(dict, "properties", Value::of(properties));
            put(dict, "required", Value::of(required));
            put(dict, "additionalProperties", Value::of(false));
        } else {
            put(dict, "const", value);
        }
        if (deep) constants_.emplace(id, dict);
    }
    return {Value::of(dict), of.location, nullptr, false};
}

Subschema SchemaTree::any_of(const Subschemas &parts) {
    Vector<const void *> key{HostAllocator<const void *>(host_)};
    for (const Subschema &part : parts) key.push_back(part.is_dict() ? part.dict() : nullptr);
    const auto [at, fresh] = unions_.try_emplace(std::move(key), nullptr);
    if (fresh) {
        Dict *const dict = chat::make_dict(meter_);
        List *const list = chat::make_list(meter_);
        for (const Subschema &part : parts) chat::append(meter_, list, part.schema);
        const Value word = Value::of(chat::borrow_text(meter_, "anyOf", false));
        chat::assign(meter_, dict, word, Value::of(list));
        at->second = dict;
    }
    return {Value::of(at->second), parts[0].location, parts[0].scope, false};
}

} // namespace ggufx::grammar
