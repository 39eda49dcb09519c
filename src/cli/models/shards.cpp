// SPDX-License-Identifier: MIT
#include "models/shards.hpp"

#include "common/input_file.hpp"

#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace ggufx::cli {

namespace {

constexpr uint32_t kMostShares = 1u << 16;
constexpr uint64_t kMostPart = uint64_t{1} << 30; // bytes

// Parses "2SIGN8" with 1 <= 2 <= 8; returns nothing for other text.
std::optional<Share> share_of(std::string_view text, std::string_view sign) {
    Share out;
    const char *const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, out.number);
    if (first.ec != std::errc()) return std::nullopt;
    const std::string_view rest(first.ptr, static_cast<size_t>(end - first.ptr));
    if (!rest.starts_with(sign)) return std::nullopt;
    const auto second = std::from_chars(first.ptr + sign.size(), end, out.n);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    if (out.number < 1 || out.number > out.n || out.n > kMostShares) return std::nullopt;
    return out;
}

// Returns the first member in which two jobs differ, as a message.
std::string difference(const Json &ours, const Json &theirs) {
    for (const std::string &key : ours.keys()) {
        const std::string a = ours.find(key)->dump();
        const Json *const other = theirs.find(key);
        const std::string b = other ? other->dump() : "absent";
        if (a != b) return fmt::format("its {} is {}, not {}", key, shorten(b, 60), shorten(a, 60));
    }
    return theirs.size() == ours.size() ? "" : "it has more options";
}

} // namespace

std::string Share::name() const {
    return fmt::format("{}/{}", number, n);
}

uint64_t Share::first(uint64_t n_items) const {
    return whole() ? 0 : n_items / n * (number - 1) + n_items % n * (number - 1) / n;
}

uint64_t Share::end(uint64_t n_items) const {
    return whole() || number == n ? n_items : Share{number + 1, n}.first(n_items);
}

Share parse_share(const std::string &text, const char *option) {
    const std::optional<Share> share = share_of(text, "/");
    if (share) return *share;
    throw Failure(kUsage, fmt::format("{}: \"{}\" is not i/n (1/2, 2/2)", option, escape(text)));
}

void add_shard_options(Command &sub, ShardOptions &options) {
    sub.option("--shard", options.shard, "i/n: compute share i of n and write it to NAME.i-of-n")
        .value("SHARE");
    sub.option("--parts", options.parts, "common NAME of the files of all shares").value("NAME");
    sub.flag("--merge", options.merge,
             "merge the files of all shares, bit-identical to one run, or list those missing");
}

void complete_options(ShardOptions &options) {
    if (!options.shard.empty()) options.share = parse_share(options.shard, "--shard");
    if (options.merge && !options.shard.empty())
        throw Failure(kUsage, "--merge and --shard cannot be used together: give one of them");
    const bool needs = options.merge || !options.shard.empty();
    if (needs && options.parts.empty())
        throw Failure(kUsage, "--parts is required: the common name of the parts");
    if (!needs && !options.parts.empty()) throw Failure(kUsage, "--parts needs --shard or --merge");
}

std::string Parts::path_of(const std::string &name, const Share &share) {
    return fmt::format("{}.{}-of-{}", name, share.number, share.n);
}

void Parts::tell(const char *what) const {
    Output out(globals_);
    if (globals_.json) {
        Json line = json_object();
        line.update(Json{{"shard", options_.share.number},
                         {"shards", options_.share.n},
                         {"part", json_bytes(path(options_.share))},
                         {"done", what}});
        print_json(out, line);
    } else if (!globals_.quiet) {
        out.write(fmt::format("{}: {}\n", escape(path(options_.share)), what));
    }
    out.finish();
}

bool Parts::is_done() const {
    if (globals_.force || !exists(path(options_.share))) return false;
    (void)read_part(options_.share);
    tell("finished before");
    return true;
}

void Parts::write(Json result) const {
    Json part = json_object();
    part.update(Json{{"part_of", verb_},
                     {"job", job_},
                     {"shard", options_.share.number},
                     {"shards", options_.share.n},
                     {"result", std::move(result)}});
    Output file(path(options_.share), globals_.force);
    file.write(part.dump() + "\n");
    file.finish();
    tell("finished");
}

// Reads the result of a part; refuses a part of another job.
Json Parts::read_part(const Share &share) const {
    const std::string name = path(share), text = InputFile(name).read_all(kMostPart);
    const Json part = parse_json(text, escape(name));
    const PartReader reader = {part, escape(name)};
    if (reader.text("part_of") != verb_)
        throw Failure(kInvalidFile, fmt::format("{} is a part of {}, not of {}", escape(name),
                                                escape(reader.text("part_of")), verb_));
    if (reader.whole("shard") != share.number || reader.whole("shards") != share.n)
        throw Failure(kInvalidFile, fmt::format("{} holds part {}/{}", escape(name),
                                                reader.whole("shard"), reader.whole("shards")));
    const std::string differs = difference(job_, reader.at("job").value);
    if (!differs.empty())
        throw Failure(kCheckFailed, fmt::format("{} is of another job: {}", escape(name), differs));
    return reader.at("result").value;
}

uint32_t Parts::count() const {
    const std::filesystem::path stem(options_.parts);
    const std::string prefix = stem.filename().string() + ".";
    const std::filesystem::path folder = stem.has_parent_path() ? stem.parent_path() : ".";
    std::set<uint32_t> counts;
    std::error_code error;
    for (auto at = std::filesystem::directory_iterator(folder, error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const auto share = share_of(std::string_view(name).substr(prefix.size()), "-of-");
        if (share) counts.insert(share->n);
    }
    if (error)
        throw Failure(kRuntimeError, fmt::format("{}: {}", folder.string(), error.message()));
    if (counts.empty())
        throw Failure(kRuntimeError, fmt::format("{}.1-of-n: there is no part of this name",
                                                 escape(options_.parts)));
    if (counts.size() > 1)
        throw Failure(
            kRuntimeError,
            fmt::format("{}: there are parts of {} shares and of {}: remove the wrong ones",
                        escape(options_.parts), *counts.begin(), *counts.rbegin()));
    return *counts.begin();
}

void Parts::list(uint32_t n, const std::vector<bool> &there) const {
    std::vector<uint32_t> finished, missing;
    for (uint32_t i = 0; i < n; i++) (there[i] ? finished : missing).push_back(i + 1);
    Output out(globals_);
    if (globals_.json) {
        Json line = json_object();
        line.update(Json{{"shards", n}, {"finished", finished}, {"missing", missing}});
        print_json(out, line);
    } else {
        for (uint32_t i = 0; i < n; i++)
            out.write(
                fmt::format("{}\t{}\n", Share{i + 1, n}.name(), there[i] ? "finished" : "missing"));
        out.write(fmt::format("{} of {} shards are missing\n", missing.size(), n));
    }
    out.finish();
}

std::optional<std::vector<Json>> Parts::read() const {
    const uint32_t n = count();
    std::vector<bool> there(n);
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        there[i] = exists(path({i + 1, n}));
        all = all && there[i];
    }
    std::vector<Json> results; // existing parts are checked even if others are missing
    for (uint32_t i = 0; i < n; i++)
        if (there[i]) results.push_back(read_part({i + 1, n}));
    if (all) return results;
    list(n, there);
    return std::nullopt;
}

void PartReader::refuse(std::string_view key, const char *what) const {
    throw Failure(kInvalidFile, fmt::format("{}: \"{}\" {}", place, key, what));
}

PartReader PartReader::at(std::string_view key) const {
    const Json *const found = value.find(key);
    if (!found) refuse(key, "is absent");
    return {*found, fmt::format("{}.{}", place, key)};
}

uint64_t PartReader::whole(std::string_view key) const {
    const std::optional<uint64_t> n = at(key).value.whole();
    if (!n) refuse(key, "is not a whole number");
    return *n;
}

double PartReader::number(std::string_view key) const {
    const std::optional<double> x = at(key).value.number();
    if (!x) refuse(key, "is not a number");
    return *x;
}

bool PartReader::truth(std::string_view key) const {
    const std::optional<bool> b = at(key).value.truth();
    if (!b) refuse(key, "is neither true nor false");
    return *b;
}

const std::string &PartReader::text(std::string_view key) const {
    const std::string *const text = at(key).value.text();
    if (!text) refuse(key, "is not a string");
    return *text;
}

std::vector<PartReader> PartReader::list(std::string_view key) const {
    const PartReader array = at(key);
    if (!array.value.is_array()) refuse(key, "is not a list");
    std::vector<PartReader> out;
    for (const Json &element : array.value.elements())
        out.push_back({element, fmt::format("{}[{}]", array.place, out.size())});
    return out;
}

std::vector<double> PartReader::numbers(std::string_view key) const {
    std::vector<double> out;
    for (const PartReader &element : list(key)) {
        const std::optional<double> x = element.value.number();
        if (!x) refuse(key, "has an element that is not a number");
        out.push_back(*x);
    }
    return out;
}

std::vector<uint64_t> PartReader::wholes(std::string_view key) const {
    std::vector<uint64_t> out;
    for (const PartReader &element : list(key)) {
        const std::optional<uint64_t> n = element.value.whole();
        if (!n) refuse(key, "has an element that is not a whole number");
        out.push_back(*n);
    }
    return out;
}

uint64_t fingerprint(std::string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

uint64_t fingerprint(std::span<const int32_t> ids) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const int32_t id : ids)
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ (static_cast<uint32_t>(id) >> shift & 0xff)) * 0x100000001b3;
    return hash;
}

} // namespace ggufx::cli
