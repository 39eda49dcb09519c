// A long job in shards: each run writes its part beside a common name, the last step adds them up.
// Where the parts are, and which are missing, the file system knows; nothing talks to anything.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/command_line.hpp"
#include "floor/json.hpp"

#include <span>

namespace ggufx::cli {

// "2/8": one share of a number of things. n = 0: the whole.
struct Share {
    uint32_t number = 0, n = 0; // 1 .. n

    bool whole() const { return n == 0; }
    std::string name() const; // "2/8"
    // Of n_items things in their order those of this share: first .. end - 1.
    uint64_t first(uint64_t n_items) const;
    uint64_t end(uint64_t n_items) const;
};
// Throws Failure (usage): `option` stands before what is wrong.
Share parse_share(const std::string &text, const char *option);

struct ShardOptions {
    std::string shard, parts; // as given
    bool merge = false;
    Share share;

    bool is_set() const { return !shard.empty() || !parts.empty() || merge; }
};
void add_shard_options(Command &sub, ShardOptions &options);
void complete_options(ShardOptions &options); // throws Failure (usage)

// The parts NAME.1-of-8 ... of one job: what all runs of it have in common, as JSON.
class Parts {
public:
    Parts(const Globals &globals, const ShardOptions &options, const char *verb, Json job)
        : globals_(globals), options_(options), verb_(verb), job_(std::move(job)) {}

    // Whether the part of this share is there, of the same job: then nothing is left to do, and
    // that is said. Another job's is refused without --force.
    bool is_done() const;
    void write(Json result) const; // of this share; says so
    // The results of all parts in their order; nothing where some are missing: then finished and
    // missing ones are listed.
    std::optional<std::vector<Json>> read() const;
    std::string path(const Share &share) const { return path_of(options_.parts, share); }
    uint32_t count() const; // of shares, by the files that are there

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

// Members of a part, which another version, or an editor, may have written: Failure (invalid file).
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

// Tells texts apart, for parts: FNV-1a.
uint64_t fingerprint(std::string_view bytes);
uint64_t fingerprint(std::span<const int32_t> ids);

} // namespace ggufx::cli
