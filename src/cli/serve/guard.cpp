// SPDX-License-Identifier: MIT
#include "serve/guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <strings.h>

namespace ggufx::cli {

namespace {

constexpr size_t kLeastKey = 16; // minimum key length in characters, against brute force

// Constant-time comparison: the time depends on the lengths alone.
bool equal(std::string_view a, std::string_view b) {
    unsigned char differs = a.size() != b.size();
    for (size_t i = 0; i < a.size() && !b.empty(); i++)
        differs |= static_cast<unsigned char>(a[i] ^ b[i % b.size()]);
    return differs == 0;
}

bool is_same_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string trimmed(const std::string &line) {
    const size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

// Returns the credentials of `Authorization: Bearer KEY`, nothing of another scheme.
std::string_view bearer_key(std::string_view authorization) {
    constexpr std::string_view scheme = "Bearer", blanks = " \t";
    const size_t end = authorization.find_first_of(blanks);
    const size_t first = authorization.find_first_not_of(blanks, end);
    if (end == std::string_view::npos || first == std::string_view::npos ||
        !is_same_name(authorization.substr(0, end), scheme))
        return {};
    return authorization.substr(first, authorization.find_last_not_of(blanks) - first + 1);
}

} // namespace

std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const size_t end = host.find(']');
        return end == std::string_view::npos ? host : host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

bool is_own_name(std::string_view host) {
    const std::string text(host);
    unsigned char address[16];
    return is_same_name(host, "localhost") || inet_pton(AF_INET, text.c_str(), address) == 1 ||
           inet_pton(AF_INET6, text.c_str(), address) == 1;
}

Guard::Guard(const GuardOptions &options) : options_(options) {
    read_keys();
}

void Guard::read_keys() {
    if (options_.key_file.empty()) return;
    std::string text = read_utf8(options_.key_file);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3); // byte order mark
    std::vector<std::string> keys;
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        const std::string key = trimmed(text.substr(at, end - at));
        if (key.empty() || key[0] == '#') continue;
        if (key.size() < kLeastKey)
            throw Failure(kUsage, "--api-key-file: a key has fewer than 16 characters");
        keys.push_back(key);
    }
    if (keys.empty()) throw Failure(kUsage, "--api-key-file: the file has no key");
    const std::lock_guard lock(mutex_);
    keys_ = std::move(keys);
}

uint64_t Guard::owner_of(std::string_view key) const {
    const uint64_t hash = sip_hash(options_.secret, key);
    return hash == 0 ? 1 : hash; // 0: no key
}

bool Guard::knows_host(std::string_view host) const {
    const std::string_view name = without_port(host);
    return is_own_name(name) ||
           std::any_of(options_.hosts.begin(), options_.hosts.end(),
                       [&](const std::string &known) { return is_same_name(known, name); });
}

std::string Guard::allowed_origin(const Asker &asker) const {
    const auto &known = options_.origins;
    const bool is_known = std::find(known.begin(), known.end(), asker.origin) != known.end();
    return is_known ? asker.origin : "";
}

// DNS rebinding: a foreign page whose name resolves to this machine sends its own name in Host.
uint64_t Guard::check(const Asker &asker, bool needs_key) const {
    const bool has_keys = !options_.key_file.empty();
    if (!has_keys && !options_.is_local_socket && !asker.host.empty() && !knows_host(asker.host))
        throw ApiError(403, "the host name is not allowed (see --allow-host of the server)", "",
                       "unknown_host");
    if (!asker.origin.empty() && allowed_origin(asker).empty() &&
        !is_same_name(asker.origin, "http://" + asker.host) &&
        !is_same_name(asker.origin, "https://" + asker.host))
        throw ApiError(403, "the origin is not allowed (see --cors of the server)", "",
                       "unknown_origin");
    if (!has_keys || !needs_key) return 0;
    const std::string_view key = bearer_key(asker.authorization);
    bool known = false;
    const std::lock_guard lock(mutex_);
    for (const std::string &one : keys_) known = equal(key, one) || known;
    if (!known)
        throw ApiError(401,
                       key.empty() ? "an API key is required: Authorization: Bearer KEY"
                                   : "the API key is not valid",
                       "", "invalid_api_key");
    return owner_of(key);
}

} // namespace ggufx::cli
