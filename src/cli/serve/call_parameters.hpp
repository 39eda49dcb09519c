// Parameters of a function whose calls write each of them between markers, read from the schema of
// its arguments. Linear in the schema: each reference and each list of values is read once.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/call_plan.hpp"

#include <unordered_map>
#include <unordered_set>

namespace ggufx::cli {

class ParameterReader {
public:
    // `root` must outlive the reader.
    ParameterReader(SchemaCompiler &grammars, const CallSyntax &syntax, const std::string &function,
                    const Json &root)
        : grammars_(grammars), syntax_(syntax), place_{"tools", function}, root_(root) {}
    // Throws ApiError as SchemaCompiler::of_schema.
    std::vector<CallPlan::Parameter> read();

private:
    struct Strings {          // the strings that a schema accepts
        bool are_all = false; // it accepts nothing else
        CallPlan::Texts texts;
        uint64_t max_length = UINT64_MAX;
    };
    void add(const Json *given, unsigned depth);
    CallPlan::Parameter parameter_of(const std::string &key, const Json &schema);
    SharedGrammar grammar_of(const Json &schema);
    const Json *find(const Json &object, const std::string &key);
    const Json *target_of(const std::string &reference);
    const Json *resolve(const Json *schema);
    const Strings &strings_of(const Json &schema);
    static Strings read_strings(const Json &schema);

    SchemaCompiler &grammars_;
    const CallSyntax &syntax_;
    const SchemaCompiler::Place place_;
    const Json &root_;
    std::vector<CallPlan::Parameter> out_;
    std::unordered_map<std::string_view, size_t> index_; // places in out_ by keys
    std::unordered_set<const Json *> added_;             // schemas
    std::vector<const std::string *> required_;          // keys
    // Results by references, by schemas, by objects and by texts of schemas.
    std::unordered_map<const std::string *, const Json *> targets_;
    std::unordered_map<const Json *, Strings> strings_;
    std::unordered_map<const Json *, std::unordered_map<std::string_view, const Json *>> members_;
    std::unordered_map<std::string, SharedGrammar> referring_;
};

} // namespace ggufx::cli
