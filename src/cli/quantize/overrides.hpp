// Per-tensor overrides of the types that a mix gives: --rule PATTERN=TYPE.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ggufx::cli {

struct ModelQuantizeOptions;

class Overrides {
public:
    // Reads --rule, then the lines of --rules. Throws Failure (usage).
    explicit Overrides(const ModelQuantizeOptions &options);

    bool empty() const { return overrides_.empty(); }
    // The type of each tensor of the job by the first override that matches its name,
    // GGUFX_JOB_BY_RECIPE where none does.
    std::vector<uint32_t> choose(const ggufx_job *job);
    // Overrides that match nothing, have no effect or do not fit, on stderr. Of a job that has the
    // chosen types, as below.
    void warn(const ggufx_job *job) const;
    Json to_json(const ggufx_job *job) const;

private:
    struct Override;
    void add(const std::string &rule);

    const ModelQuantizeOptions &options_;
    std::vector<std::shared_ptr<Override>> overrides_;
};

} // namespace ggufx::cli
