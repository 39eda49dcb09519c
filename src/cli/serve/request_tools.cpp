// Functions that a model may call or must call.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"
#include "serve/tool_schema.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

constexpr size_t kMostTools = 512;
constexpr size_t kMostFunctionName = 128; // maximum bytes in the name of a forced function

struct ToolChoice {
    enum class Kind { free, none, required } kind = Kind::free;
    std::string name; // name of the required function; empty: any
    bool requires_one() const { return kind == Kind::required; }
    bool takes(const std::string &function) const {
        return requires_one() && (name.empty() || name == function);
    }
};

ToolChoice read_choice(Fields &fields, ToolForm form) {
    using Kind = ToolChoice::Kind;
    const Json *const choice = fields.take("tool_choice");
    if (!choice) return {};
    if (const std::string *const text = choice->text()) {
        if (*text == "auto") return {};
        if (*text == "none") return {Kind::none, ""};
        if (*text == "required") return {Kind::required, ""};
    }
    if (!choice->is_object())
        fields.refuse("tool_choice",
                      "is not one of \"auto\", \"none\", \"required\" and a function");
    Fields of = fields.within(*choice, "tool_choice");
    if (of.text("type") != "function") of.refuse("type", "is not \"function\"");
    std::optional<std::string> name;
    if (form == ToolForm::flat) {
        name = of.text("name");
    } else if (const Json *const function = of.take("function")) {
        Fields inner = of.within(*function, "function");
        name = inner.text("name");
        inner.finish();
    }
    if (!name) of.refuse(form == ToolForm::flat ? "name" : "function", "names no function");
    of.finish();
    return {Kind::required, *name};
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

Function read_tool(const Json &given, Fields tool, ToolForm form, const ToolChoice &choice) {
    Function out;
    tool.no_effect("type", {"function"});
    const Json *inner = nullptr;
    if (form == ToolForm::nested) {
        inner = tool.take("function");
        if (!inner) tool.refuse("function", "is missing");
    }
    Fields of = inner ? tool.within(*inner, "function") : tool;
    const auto name = of.text("name");
    if (!name) of.refuse("name", "is missing");
    const bool is_taken = choice.takes(*name);
    if (is_taken && !is_name(*name))
        of.refuse("name",
                  "is not a name of 1 to 128 letters, digits and _-.:/, which a forced call needs");
    const auto text = of.text("description");
    const Json *const parameters = of.take("parameters");
    of.truth("strict"); // a forced call is always strict
    of.finish();
    if (inner) tool.finish();
    Json function = Json{{"name", *name}};
    if (text) function["description"] = *text;
    if (parameters) function["parameters"] = *parameters;
    out.json = inner ? given : Json{{"type", "function"}, {"function", function}};
    out.callable = {*name, is_taken ? schema_of(of, parameters, out.widened) : "",
                    choice.name == *name};
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

// Returns true for server-side tools, which are not supported: the model does not see them.
bool runs_elsewhere(const Json &tool) {
    static constexpr std::string_view types[] = {"web_search",
                                                 "web_search_preview",
                                                 "file_search",
                                                 "code_interpreter",
                                                 "computer",
                                                 "mcp",
                                                 "image_generation",
                                                 "local_shell",
                                                 "shell",
                                                 "apply_patch",
                                                 "tool_search",
                                                 "namespace",
                                                 "custom",
                                                 "computer_use_preview"};
    const Json *const type = tool.is_object() ? tool.find("type") : nullptr;
    if (!type || !type->text()) return false;
    std::string_view name = *type->text();
    const size_t dated = name.find("_20"); // web_search_2025_08_26
    name = name.substr(0, dated);
    return std::find(std::begin(types), std::end(types), name) != std::end(types);
}

} // namespace

void read_tools(Fields &fields, ChatWanted &out, ToolForm form) {
    const Json *const tools = fields.take("tools");
    const ToolChoice choice = read_choice(fields, form);
    out.parallel_calls = fields.truth("parallel_tool_calls").value_or(true);
    if (tools && (!tools->is_array() || tools->size() > kMostTools))
        fields.refuse("tools", "is not a list of at most 512 functions");
    Json all = Json::array();
    std::vector<Callable> functions;
    for (size_t i = 0; tools && i < tools->size(); i++) {
        const Json &given = tools->elements()[i];
        if (form == ToolForm::flat && runs_elsewhere(given)) {
            out.ignored.push_back(index_of("tools", i));
            continue;
        }
        Function tool = read_tool(given, fields.within(given, index_of("tools", i)), form, choice);
        for (const std::string &keyword : tool.widened)
            out.ignored.push_back(index_of("tools", i) + " " + keyword);
        all.push_back(std::move(tool.json));
        functions.push_back(std::move(tool.callable));
    }
    if (choice.requires_one()) force(fields, choice, std::move(functions), out);
    if (all.size() > 0 && choice.kind != ToolChoice::Kind::none) out.tools = all.dump();
}

} // namespace ggufx::cli
