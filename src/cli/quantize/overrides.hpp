// Per-tensor overrides of the types of a mix: --tensor-type PATTERN=TYPE.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ggufx::cli {

struct ModelQuantizeOptions;

class Overrides {
public:
    // Reads --tensor-type, then the lines of --tensor-type-file. Throws Failure (usage).
    explicit Overrides(const ModelQuantizeOptions &options);

    bool empty() const { return overrides_.empty(); }
    // Returns the type of each tensor of the job by the first override that matches its name,
    // GGUFX_QUANTIZER_DEFAULT_TYPE if none does.
    std::vector<uint32_t> choose(const ggufx_quantizer *job);
    // Warns on stderr about overrides that match nothing, have no effect or do not fit. The job
    // must have the chosen types, also for to_json().
    void warn(const ggufx_quantizer *job) const;
    Json to_json(const ggufx_quantizer *job) const;

private:
    struct Override;
    void add(const std::string &rule);

    const ModelQuantizeOptions &options_;
    std::vector<std::shared_ptr<Override>> overrides_;
};

} // namespace ggufx::cli
