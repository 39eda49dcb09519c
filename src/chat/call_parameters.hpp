// Parameters of a function whose calls write each of them between markers, read from the schema of
// its arguments. Linear in the schema: each reference and each list of values is read once.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/value.hpp"

#include <map>
#include <set>

namespace ggufx::chat {

// Makes grammars of JSON Schemas.
class SchemaGrammars {
public:
    virtual size_t of_schema(std::string_view json) = 0; // index of the grammar; throws

protected:
    ~SchemaGrammars() = default;
};

struct CallParameter {
    std::string_view key;
    bool is_required = false, is_string = false; // is_string: written raw, without JSON quotes
    const List *texts = nullptr;                 // allowed strings; null: any string
    uint64_t max_length = UINT64_MAX;            // for a string, in characters
    size_t grammar = SIZE_MAX;                   // for a JSON value
};

// Writes JSON that lives as long as `meter`. Throws Error (limit) / std::bad_alloc.
std::string_view schema_text(Meter &meter, const Value &schema);

class ParameterReader {
public:
    // raw_strings: strings are written raw. The meter and `root`, whose numbers are as written, must
    // outlive the reader, whose results point into them.
    ParameterReader(Meter &meter, SchemaGrammars &grammars, bool raw_strings, const Value &root)
        : meter_(meter), grammars_(grammars), raw_strings_(raw_strings), root_(root),
          out_(HostAllocator<CallParameter>(meter.host())), index_(alloc()), required_(alloc()),
          added_(alloc()), targets_(alloc()), strings_(alloc()), referring_(alloc()) {}
    // Throws Error (limit, errors of the grammars) / std::bad_alloc.
    Vector<CallParameter> read();

private:
    struct Strings {          // the strings that a schema accepts
        bool are_all = false; // it accepts nothing else
        const List *texts = nullptr;
        uint64_t max_length = UINT64_MAX;
    };
    template <class T> using Set = std::set<T, std::less<T>, HostAllocator<T>>;
    template <class K, class T>
    using Map = std::map<K, T, std::less<K>, HostAllocator<std::pair<const K, T>>>;

    HostAllocator<char> alloc() const { return HostAllocator<char>(meter_.host()); }
    const Value *find(const Value &object, std::string_view key);
    void add(const Value *given, unsigned depth);
    CallParameter parameter_of(std::string_view key, const Value &schema);
    size_t grammar_of(const Value &schema);
    const Value *target_of(const Text &reference);
    const Value *resolve(const Value *schema);
    const Strings &strings_of(const Value &schema);
    Strings read_strings(const Value &schema);

    Meter &meter_;
    SchemaGrammars &grammars_;
    const bool raw_strings_;
    const Value &root_;
    Vector<CallParameter> out_;
    Map<std::string_view, size_t> index_; // places in out_ by keys
    Vector<std::string_view> required_;   // keys
    Set<const Value *> added_;            // schemas
    // Results by references, by schemas, and by texts of schemas.
    Map<const Text *, const Value *> targets_;
    Map<const Value *, Strings> strings_;
    Map<std::string_view, size_t> referring_;
};

} // namespace ggufx::chat
