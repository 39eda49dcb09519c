// A JSON Schema as written: its values, their locations, and the targets of references.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/status.hpp"
#include "base/text_index.hpp"
#include "chat/json.hpp"

#include <map>

namespace ggufx::grammar {

// Location of a schema, for errors: "#" and the keys that lead to it.
struct SchemaLocation {
    const SchemaLocation *above;
    std::string_view key;
};

// A resource: part of a schema with its own $id.
struct Resource {
    std::string_view uri;
    const chat::Value *root;
};

// Dynamic scope: the resources entered on the way to a schema, for $dynamicRef. Equal scopes are
// stored once.
struct Scope {
    const Scope *outer;
    uint32_t resource;
    uint32_t depth; // number of outer scopes
};

// A schema that must hold or, negated, must not hold.
struct Subschema {
    chat::Value schema; // an object; or a boolean, which is never negated
    const SchemaLocation *location;
    const Scope *scope;
    bool negated;

    bool is_dict() const { return schema.is(chat::Kind::dict); }
    bool is_false() const { return !is_dict() && !schema.truth; } // no value matches
    bool is_true() const { return !is_dict() && schema.truth; }   // every value matches
    const chat::Dict *dict() const { return is_dict() ? schema.dict : nullptr; }
    bool same(const Subschema &o) const { return same_schema(o) && negated == o.negated; }
    // The same schema, which may be negated in one of them.
    bool same_schema(const Subschema &o) const { return dict() == o.dict() && scope == o.scope; }
};
using Subschemas = Vector<Subschema>; // all hold at once

// Kinds of values, as bits.
enum : uint32_t {
    kNull = 1,
    kBoolean = 2,
    kInteger = 4, // includes 1.0
    kFraction = 8,
    kString = 16,
    kArray = 32,
    kObject = 64,
    kNumber = kInteger | kFraction,
    kAllKinds = 127
};

class SchemaTree {
public:
    // Throws Error / std::bad_alloc.
    SchemaTree(const Host *host, Work &work, std::string_view text);
    Subschema root();
    const Host *host() const { return host_; }
    chat::Meter &meter() { return meter_; }
    Work &work() { return work_; }
    const SchemaLocation *below(const SchemaLocation *above, std::string_view key);
    // Writes the JSON pointer of a location, shortened if it is long.
    static void print_pointer(char *out, size_t size, const SchemaLocation *location);
    [[noreturn]] void refuse(const SchemaLocation *location, Status status, const char *format, ...)
        GGUFX_PRINTF(4, 5);
    Subschemas none() const { return Subschemas(HostAllocator<Subschema>(host_)); }

    // Returns a schema within that of another part: `key` is its keyword, `name` its name if the
    // keyword has several. {} is true. Throws Error if it is no schema.
    Subschema enter(const Subschema &of, const chat::Value &schema, std::string_view key,
                    std::string_view name = {});
    void add(Subschemas &out, const Subschema &part); // unless it is true or there already
    Subschema negate(const Subschema &part) const;
    Subschema never(const SchemaLocation *location) const {
        return {chat::Value::of(false), location, nullptr, false};
    }

    // Find a keyword of a schema; null if it is absent. Throw Error if it has another kind.
    const chat::Value *find(const Subschema &part, std::string_view key);
    const chat::Dict *find_dict(const Subschema &part, std::string_view key);
    const chat::List *find_list(const Subschema &part, std::string_view key);
    const chat::List *find_names(const Subschema &part, std::string_view key); // each is a string
    const chat::List *names_of(const Subschema &part, const chat::Value &value,
                               std::string_view key);
    uint32_t find_count(const Subschema &part, std::string_view key, uint32_t otherwise);
    Subschema resolve(const Subschema &of, const chat::Value &ref,
                      bool dynamic); // $ref, $dynamicRef

    uint32_t kind_of(const chat::Value &value) const;
    bool same(const chat::Value &a, const chat::Value &b); // equal as JSON
    uint32_t types(const Subschema &part);                 // kinds that `type` allows
    // Returns a schema of this value alone. For an array or an object it has a schema for each
    // element.
    Subschema constant(const chat::Value &value, const Subschema &of);
    // Returns the anyOf of these schemas.
    Subschema any_of(const Subschemas &parts);
    bool has_unevaluated() const { return has_unevaluated_; }
    bool has_dynamic() const { return has_dynamic_; }

private:
    using Name = Vector<char>;
    struct IndexedSchema {
        const chat::Value *schema;
        uint32_t resource;
    };
    void index(const chat::Value &schema, uint32_t resource);
    uint32_t index_one(const chat::Value &schema, uint32_t resource);
    uint32_t add_resource(std::string_view uri, const chat::Value *root);
    uint32_t resource_of(const chat::Dict *dict, uint32_t otherwise) const;
    const Scope *inside(const Scope *scope, uint32_t resource);
    std::string_view keep(const Name &text);
    std::string_view pointer_key(std::string_view raw);
    const chat::Value *follow(uint32_t *resource, const SchemaLocation **path,
                              std::string_view pointer);
    const chat::Value *find_anchor(uint32_t resource, std::string_view name, bool dynamic) const;

    template <class Key, class T>
    using Map = std::map<Key, T, std::less<Key>, HostAllocator<std::pair<const Key, T>>>;
    struct Anchor {
        const chat::Value *schema;
        bool dynamic;
    };
    const Host *host_;
    Work &work_;
    chat::Meter meter_;
    chat::Value root_;
    Vector<Resource> resources_;
    Map<std::string_view, uint32_t> by_uri_;
    Map<const chat::Dict *, uint32_t> resource_of_;
    Map<std::pair<uint32_t, std::string_view>, Anchor> anchors_;
    Map<std::pair<const Scope *, uint32_t>, const Scope *> scopes_;
    Map<Vector<const void *>, chat::Dict *> unions_;
    Map<const void *, chat::Dict *> constants_; // schemas of arrays and objects
    bool has_dynamic_ = false, has_unevaluated_ = false;
};

} // namespace ggufx::grammar
