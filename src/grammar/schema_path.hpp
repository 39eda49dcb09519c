// An alternative that is not finished: schemas to process, choices to make.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/schema_ways.hpp"
#include "grammar/syntax.hpp"

namespace ggufx::grammar {

constexpr uint32_t kNobody = UINT32_MAX; // `above` of schemas that no other one applied
constexpr uint32_t kDeepKinds = kArray | kObject;

struct SchemaWays::Path {
    explicit Path(const Host *host)
        : way(host), open(HostAllocator<Open>(host)), tasks(HostAllocator<Task>(host)),
          denied(HostAllocator<Part>(host)) {}
    Way way;
    Vector<Open> open;
    Vector<Task> tasks;
    Parts denied;
    size_t next_task = 0;
    bool dead = false;

    size_t size() const {
        return way.held.size() + way.links.size() + way.facts.size() + open.size() + tasks.size() +
               denied.size();
    }
    void add(const Part &part, uint32_t above) { open.push_back({part, above}); }
    void add_fact(FactKind kind, uint32_t n, std::string_view text, const Part &part) {
        way.facts.push_back({kind, n, kMany, text, part, nullptr, nullptr});
    }
};

} // namespace ggufx::grammar
