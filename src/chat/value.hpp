// Values of templates, with Python's meaning: what is true, equal, less, contained. They live in a
// Meter's arena and are freed with it; none has a destructor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/text_index.hpp"
#include "chat/text.hpp"

namespace ggufx::chat {

enum class Kind : uint8_t {
    missing, // no value at all: an argument that was not given
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
    view,     // dict.items() and its like: no index, no JSON
    iterator, // what filters as map() give: can be walked once
    space,    // namespace()
    macro,
    method, // of a value
    function,
    loop,
    written, // a number of JSON by its own text, for those who ask for it (json.hpp)
};

struct List;
struct Dict;
struct Range;
struct View;
struct Iterator;
struct Macro;
struct Method;
struct Loop;

struct Value {
    Kind kind = Kind::missing;
    bool user = false;    // a number, truth or none that came with the conversation
    bool refused = false; // an undefined value with a reason of its own
    union {
        bool truth;
        int64_t integer = 0;
        double real;
        const Text *text; // string, written; of an undefined value: what it would be called
        List *list;       // list, tuple
        Dict *dict;       // dict, space
        const Range *range;
        View *view;
        Iterator *iterator;
        Macro *macro;
        Method *method;
        Loop *loop;
        uint32_t function; // index in the table of functions
    };

    static Value none(bool user = false) {
        Value v;
        v.kind = Kind::none;
        v.user = user;
        return v;
    }
    static Value of(bool truth, bool user = false) {
        Value v;
        v.kind = Kind::boolean;
        v.user = user;
        v.truth = truth;
        return v;
    }
    static Value of(int64_t integer, bool user = false) {
        Value v;
        v.kind = Kind::integer;
        v.user = user;
        v.integer = integer;
        return v;
    }
    static Value of(double real, bool user = false) {
        Value v;
        v.kind = Kind::real;
        v.user = user;
        v.real = real;
        return v;
    }
    static Value of(const Text *text) {
        Value v;
        v.kind = Kind::string;
        v.text = text;
        return v;
    }
    static Value of(List *list, Kind kind = Kind::list) {
        Value v;
        v.kind = kind;
        v.list = list;
        return v;
    }
    static Value of(Dict *dict, Kind kind = Kind::dict) {
        Value v;
        v.kind = kind;
        v.dict = dict;
        return v;
    }
    static Value undefined(const Text *name) {
        Value v;
        v.kind = Kind::undefined;
        v.text = name;
        return v;
    }
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

// In the order of insertion; texts as keys are found by an index once there are many.
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

struct Range {
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
    uint32_t index; // in the table of methods
};

struct Loop {
    const List *items;
    size_t index0;
    size_t depth0;
    Value changed;  // what loop.changed() saw last
    Macro *recurse; // of a recursive loop
};

constexpr unsigned kDeepest = 100; // values within values that are walked: text, JSON, equality

void append(Meter &meter, List *list, const Value &value);
List *make_list(Meter &meter, size_t capacity = 0);
Dict *make_dict(Meter &meter);
const Value *lookup(Meter &meter, const Dict &dict, const Value &key); // null when absent
const Value *lookup(Meter &meter, const Dict &dict, std::string_view key);
void assign(Meter &meter, Dict *dict, const Value &key, const Value &value);
bool remove(Meter &meter, Dict *dict, const Value &key);

const char *type_name(const Value &value); // Python's
bool truth(const Value &value);
bool equal(Meter &meter, const Value &a, const Value &b, unsigned depth = 0);
// -1, 0, 1; 2 where one is not a number. Throws where Python has no order.
int compare(Meter &meter, const Value &a, const Value &b, const char *sign, unsigned depth = 0);
bool contains(Meter &meter, const Value &container, const Value &item);
size_t length(Meter &meter, const Value &value); // throws where it has none
bool has_length(const Value &value);
bool is_iterable(const Value &value);
// All items of what can be walked; the list itself for lists. Throws for others.
const List *items_of(Meter &meter, const Value &value);

Value text_value(Meter &meter, std::string_view copied, bool user = false);
[[noreturn]] void fail_undefined(const Value &value);
Value make_undefined(Meter &meter, std::string_view name);
Value make_refused(Meter &meter, std::string_view reason); // reason in whole

} // namespace ggufx::chat
