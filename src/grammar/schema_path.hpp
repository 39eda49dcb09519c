// An alternative that is not finished: schemas to process, choices to make.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/schema_alternatives.hpp"
#include "grammar/syntax.hpp"

namespace ggufx::grammar {

constexpr uint32_t kNobody = UINT32_MAX; // `above` of schemas that no other one applied
constexpr uint32_t kDeepKinds = kArray | kObject;

struct SchemaAlternatives::Path {
    explicit Path(const Host *host)
        : alternative(host), open(HostAllocator<Open>(host)), tasks(HostAllocator<Task>(host)),
          denied(HostAllocator<Subschema>(host)) {}
    Alternative alternative;
    Vector<Open> open;
    Vector<Task> tasks;
    Subschemas denied;
    size_t next_task = 0;
    bool dead = false;

    size_t size() const {
        return alternative.held.size() + alternative.links.size() + alternative.facts.size() +
               open.size() + tasks.size() + denied.size();
    }
    void add(const Subschema &part, uint32_t above) { open.push_back({part, above}); }
    void add_fact(FactKind kind, uint32_t n, std::string_view text, const Subschema &part) {
        alternative.facts.push_back({kind, n, kMany, text, part, nullptr, nullptr});
    }
};

} // namespace ggufx::grammar
