// Functions that a model may call or must call.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"
#include "serve/tool_schema.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

constexpr size_t kMostFunctionName = 128; // maximum bytes in the name of a forced function
constexpr size_t kMostIgnored = 64;       // keywords that the response header names

struct ToolChoice {
    enum class Kind { free, none, required } kind = Kind::free;
    std::string name; // name of the required function; empty: any
    bool requires_one() const { return kind == Kind::required; }
    bool takes(const std::string &function) const {
        return requires_one() && (name.empty() || name == function);
    }
};

ToolChoice read_choice(Fields &fields, Nesting nesting) {
    using Kind = ToolChoice::Kind;
    const Json *const choice = fields.take("tool_choice");
    const std::string *const word = choice ? choice->text() : nullptr;
    if (!choice || (word && *word == "auto")) return {};
    if (word) return {*word == "none" ? Kind::none : Kind::required, ""};
    Fields of = *fields.object("tool_choice");
    auto nested = nesting == Nesting::nested ? of.object("function") : std::nullopt;
    Fields &function = nested ? *nested : of;
    const std::string name = *function.text("name");
    function.finish();
    of.finish();
    return {Kind::required, name};
}

// Returns true for names that any template can write between its markers.
bool is_name(const std::string &name) {
    const auto is_letter = [](unsigned char c) {
        return c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               (c >= '0' && c <= '9') ||
               std::string_view("_-.:/").find(static_cast<char>(c)) != std::string_view::npos;
    };
    return !name.empty() && name.size() <= kMostFunctionName &&
           std::all_of(name.begin(), name.end(), is_letter);
}

// Returns the schema of the arguments, which must be an object.
std::string schema_of(Fields &function, const Json *parameters, std::vector<std::string> &widened) {
    if (!parameters) return R"({"type":"object","properties":{},"additionalProperties":false})";
    if (!parameters->is_object()) function.refuse("parameters", "is not a schema of an object");
    Json schema = modern_schema(*parameters, widened);
    const Json *const type = schema.find("type");
    bool fits = !type || (type->text() && *type->text() == "object");
    for (size_t i = 0; type && type->is_array() && i < type->size(); i++)
        fits = fits || (type->elements()[i].text() && *type->elements()[i].text() == "object");
    if (!fits) function.refuse("parameters", "is not a schema of an object");
    schema["type"] = "object";
    return schema.dump();
}

struct Function {
    Json json; // JSON for the template
    Callable callable;
    std::vector<std::string> widened; // keywords that the grammar of a forced call ignores
};

Function read_tool(const Json &given, Fields tool, Nesting nesting, const ToolChoice &choice) {
    Function out;
    auto nested = nesting == Nesting::nested ? tool.object("function") : std::nullopt;
    Fields &of = nested ? *nested : tool;
    const std::string name = *of.text("name");
    const bool is_taken = choice.takes(name);
    if (is_taken && !is_name(name))
        of.refuse("name",
                  "is not a name of 1 to 128 letters, digits and _-.:/, which a forced call needs");
    const auto text = of.text("description");
    const Json *const parameters = of.take("parameters");
    of.finish();
    tool.finish();
    Json function = Json{{"name", name}};
    if (text) function["description"] = *text;
    if (parameters) function["parameters"] = *parameters;
    out.json = nested ? given : Json{{"type", "function"}, {"function", function}};
    out.callable = {name, is_taken ? schema_of(of, parameters, out.widened) : "",
                    choice.name == name};
    return out;
}

// Stores the functions that tool_choice allows.
void force(Fields &fields, const ToolChoice &choice, std::vector<Callable> functions,
           ChatWanted &out) {
    std::erase_if(functions, [&](const Callable &one) { return !choice.takes(one.name); });
    if (functions.empty())
        fields.refuse("tool_choice", choice.name.empty() ? "forces a call, but there are no tools"
                                                         : "names no function of tools");
    std::vector<std::string> names;
    for (const Callable &one : functions) names.push_back(one.name);
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end())
        fields.refuse("tools", "has two functions of the same name");
    if (!out.stop.empty())
        fields.refuse("stop", "is not supported together with a forced tool call");
    out.forced = std::move(functions);
}

} // namespace

void read_tools(Fields &fields, ChatWanted &out, Nesting nesting) {
    const Json *const tools = fields.take("tools");
    const ToolChoice choice = read_choice(fields, nesting);
    out.parallel_calls = *fields.truth("parallel_tool_calls");
    Json all = Json::array();
    std::vector<Callable> functions;
    for (size_t i = 0; tools && i < tools->size(); i++) {
        const Json &given = tools->elements()[i];
        const Fields of = fields.entry("tools", given, i);
        const std::string place = "tools[" + std::to_string(i) + "]";
        if (of.is_skipped()) { // a hosted tool
            out.ignored.push_back(place);
            continue;
        }
        Function tool = read_tool(given, of, nesting, choice);
        for (const std::string &keyword : tool.widened)
            if (out.ignored.size() < kMostIgnored) out.ignored.push_back(place + " " + keyword);
        all.push_back(std::move(tool.json));
        functions.push_back(std::move(tool.callable));
    }
    if (choice.requires_one()) force(fields, choice, std::move(functions), out);
    if (all.size() > 0 && choice.kind != ToolChoice::Kind::none) out.tools = all.dump();
}

} // namespace ggufx::cli
