// Long jobs in shards: each run writes its part file next to a common name, the last step merges
// them. The files alone show which parts exist; runs do not communicate.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_line.hpp"
#include "common/json.hpp"

#include <span>

namespace ggufx::cli {

// "2/8": one shard of a sequence of items. n = 0: all items.
struct Share {
    uint32_t number = 0, n = 0; // 1 .. n

    bool whole() const { return n == 0; }
    std::string name() const; // "2/8"
    // Items of this shard: first .. end - 1 of n_items.
    uint64_t first(uint64_t n_items) const;
    uint64_t end(uint64_t n_items) const;
};
// Throws Failure (usage) with a message that begins with `option`.
Share parse_share(const std::string &text, const char *option);

struct ShardOptions {
    std::string shard, parts; // as given
    bool merge = false;
    Share share;

    bool is_set() const { return !shard.empty() || !parts.empty() || merge; }
};
void add_shard_options(Command &sub, ShardOptions &options);
void complete_options(ShardOptions &options); // throws Failure (usage)

// The part files of a job, NAME.1-of-8 and so on. `job` has the parameters that all its runs share.
class Parts {
public:
    Parts(const Globals &globals, const ShardOptions &options, const char *verb, Json job)
        : globals_(globals), options_(options), verb_(verb), job_(std::move(job)) {}

    // Returns whether the part of this shard exists, and reports it as finished. Throws if it
    // belongs to another job. Always false with --force.
    bool is_done() const;
    void write(Json result) const; // writes this shard's part, and reports it
    // Returns the results of all parts in order. If parts are missing, lists finished and missing
    // ones and returns nothing.
    std::optional<std::vector<Json>> read() const;
    std::string path(const Share &share) const { return path_of(options_.parts, share); }
    uint32_t count() const; // number of shards, by the files that exist

    static std::string path_of(const std::string &name, const Share &share);

private:
    Json read_part(const Share &share) const;
    void list(uint32_t n, const std::vector<bool> &there) const;
    void tell(const char *what) const;

    const Globals &globals_;
    const ShardOptions &options_;
    const char *verb_;
    const Json job_;
};

// Reads members of a part that another version or an editor may have written. Throws Failure
// (invalid file).
struct PartReader {
    const Json &value;
    std::string place;

    PartReader at(std::string_view key) const;
    uint64_t whole(std::string_view key) const;
    double number(std::string_view key) const;
    bool truth(std::string_view key) const;
    const std::string &text(std::string_view key) const;
    std::vector<double> numbers(std::string_view key) const;
    std::vector<uint64_t> wholes(std::string_view key) const;
    std::vector<PartReader> list(std::string_view key) const;
    [[noreturn]] void refuse(std::string_view key, const char *what) const;
};

// Returns the FNV-1a hash of a text, by which parts detect different inputs.
uint64_t fingerprint(std::string_view bytes);
uint64_t fingerprint(std::span<const int32_t> ids);

} // namespace ggufx::cli
