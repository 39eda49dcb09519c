// Values of templates with the semantics of Python: truth, equality, order, containment. They live
// in a Meter's arena and are freed with it; none has a destructor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/text_index.hpp"
#include "chat/text.hpp"

#include <type_traits>

namespace ggufx::chat {

enum class Kind : uint8_t {
    missing, // no value: an argument that was not passed
    undefined,
    none,
    boolean,
    integer,
    real,
    string,
    list,
    tuple,
    dict,
    range,
    view,     // dict.items() and similar: no index, no JSON
    iterator, // result of filters such as map(): can be iterated once
    space,    // namespace()
    macro,
    method, // bound method
    function,
    loop,
    written, // JSON number as its text, on request (json.hpp)
};

struct List;
struct Dict;
struct RangeValue;
struct View;
struct Iterator;
struct Macro;
struct Method;
struct Loop;

struct Value {
    Kind kind = Kind::missing;
    bool user = false;    // a number, boolean or none from the conversation
    bool refused = false; // an undefined value with its own error message
    union {
        bool truth;
        int64_t integer = 0;
        double real;
        const Text *text; // string, written; undefined: the name for messages
        List *list;       // list, tuple
        Dict *dict;       // dict, space
        const RangeValue *range;
        View *view;
        Iterator *iterator;
        Macro *macro;
        Method *method;
        Loop *loop;
        uint32_t function; // index in the table of functions
    };

    template <class T>
    static Value make(Kind kind, T Value::*member, std::type_identity_t<T> value,
                      bool user = false) {
        Value out;
        out.kind = kind;
        out.user = user;
        out.*member = value;
        return out;
    }
    static Value none(bool user = false) { return make(Kind::none, &Value::integer, 0, user); }
    static Value of(bool truth, bool user = false) {
        return make(Kind::boolean, &Value::truth, truth, user);
    }
    static Value of(int64_t integer, bool user = false) {
        return make(Kind::integer, &Value::integer, integer, user);
    }
    static Value of(double real, bool user = false) {
        return make(Kind::real, &Value::real, real, user);
    }
    static Value of(const Text *text) { return make(Kind::string, &Value::text, text); }
    static Value of(List *list, Kind kind = Kind::list) { return make(kind, &Value::list, list); }
    static Value of(Dict *dict, Kind kind = Kind::dict) { return make(kind, &Value::dict, dict); }
    static Value of(const RangeValue *range) { return make(Kind::range, &Value::range, range); }
    static Value of(View *view) { return make(Kind::view, &Value::view, view); }
    static Value of(Iterator *it) { return make(Kind::iterator, &Value::iterator, it); }
    static Value of(Macro *macro) { return make(Kind::macro, &Value::macro, macro); }
    static Value of(Method *method) { return make(Kind::method, &Value::method, method); }
    static Value of(Loop *loop) { return make(Kind::loop, &Value::loop, loop); }
    static Value undefined(const Text *name) { return make(Kind::undefined, &Value::text, name); }
    bool is(Kind k) const { return kind == k; }
    bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple; }
    bool is_number() const {
        return kind == Kind::integer || kind == Kind::real || kind == Kind::boolean;
    }
    bool is_whole() const { return kind == Kind::integer || kind == Kind::boolean; }
    int64_t whole() const { return kind == Kind::boolean ? truth : integer; }
    double number() const { return kind == Kind::real ? real : static_cast<double>(whole()); }
};

struct List {
    Value *items = nullptr;
    size_t size = 0, capacity = 0;
    bool user = false;
};

struct Entry {
    Value key, value;
};

// Entries in insertion order; large dicts have an index of their string keys.
using TextKeys = TextIndex<const Entry *>;
struct KeyIndex {
    TextKeys index;
    const Host *owner;
    explicit KeyIndex(const Host *host) : index(host), owner(host) {}
    const Host *host() const { return owner; }
};
struct Dict {
    Entry **entries = nullptr;
    size_t size = 0, capacity = 0;
    KeyIndex *index = nullptr;
    bool user = false;
};

struct RangeValue {
    int64_t start, stop, step;
    uint64_t size;
};

struct View {
    List *items;
    const char *type; // "dict_items"
};

struct Iterator {
    const List *items;
    size_t at;
    const char *type; // "generator"
};

struct Method {
    Value self;
    uint32_t index; // index in the table of methods
};

struct Loop {
    const List *items;
    size_t index0;
    size_t depth0;
    Value changed;  // last argument of loop.changed()
    Macro *recurse; // macro of a recursive loop
};

constexpr unsigned kDeepest = 100; // maximum nesting of values in text, JSON and equality

void append(Meter &meter, List *list, const Value &value);
List *make_list(Meter &meter, size_t capacity = 0);
Dict *make_dict(Meter &meter);
const Value *lookup(Meter &meter, const Dict &dict, const Value &key); // null if absent
const Value *lookup(Meter &meter, const Dict &dict, std::string_view key);
void assign(Meter &meter, Dict *dict, const Value &key, const Value &value);
bool remove(Meter &meter, Dict *dict, const Value &key);

const char *type_name(const Value &value); // Python's name
bool truth(const Value &value);
bool equal(Meter &meter, const Value &a, const Value &b, unsigned depth = 0);
// -1, 0, 1, or 2 if one is NaN. Throws if Python has no order.
int compare(Meter &meter, const Value &a, const Value &b, const char *sign, unsigned depth = 0);
bool contains(Meter &meter, const Value &container, const Value &item);
size_t length(Meter &meter, const Value &value); // throws for values without a length
bool has_length(const Value &value);
bool is_iterable(const Value &value);
// Items of an iterable; for lists the list itself. Throws for other values.
const List *items_of(Meter &meter, const Value &value);

Value text_value(Meter &meter, std::string_view copied, bool user = false);
[[noreturn]] void fail_undefined(const Value &value);
Value make_undefined(Meter &meter, std::string_view name);
Value make_refused(Meter &meter, std::string_view reason); // reason: the whole message

} // namespace ggufx::chat
