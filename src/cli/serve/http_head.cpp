// SPDX-License-Identifier: MIT
#include "serve/http_head.hpp"

#include "serve/api_error.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <strings.h>

namespace ggufx::cli {

namespace {

constexpr std::string_view kBlanks = " \t";

// tchar of RFC 9110.
bool is_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    const auto is_of_token = [&](unsigned char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               marks.find(static_cast<char>(c)) != std::string_view::npos;
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), is_of_token);
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A program may take a carriage return for the end of the line.
bool is_value(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// Parameters of a media type, such as charset, are ignored.
bool is_json(std::string_view media_type) {
    return is_same_field(trimmed(media_type.substr(0, media_type.find(';'))), "application/json");
}

[[noreturn]] void refuse(int status, const std::string &message, const char *code) {
    throw ApiError(status, message, "", code);
}

} // namespace

bool is_same_field(std::string_view a, std::string_view b) {
    return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_field_list(std::string_view text) {
    for (size_t at = 0, end; at <= text.size(); at = end + 1) {
        end = std::min(text.find(',', at), text.size());
        if (!is_token(trimmed(text.substr(at, end - at)))) return false;
    }
    return true;
}

HttpHead::HttpHead(MHD_Connection *connection, const char *method, const char *version)
    : connection_(connection), method_(method), version_(version) {
    each([this](std::string_view name, std::string_view) {
        n_hosts_ += is_same_field(name, "Host");
        n_lengths_ += is_same_field(name, "Content-Length");
        n_transfer_ += is_same_field(name, "Transfer-Encoding");
    });
}

std::string_view HttpHead::value(std::string_view name) const {
    std::string_view out;
    bool is_found = false;
    each([&](std::string_view other, std::string_view text) {
        if (is_found || !is_same_field(name, other)) return;
        out = text;
        is_found = true;
    });
    return out;
}

// Libmicrohttpd 0.9 ends a head at a field without a name, and takes a continued line for a part of
// the name before. It replaces delimiters of the head by zeros and keeps the rest, so that the
// fields must follow each other.
bool HttpHead::is_complete() const {
    const auto *const info =
        MHD_get_connection_info(connection_, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    bool is_good = true;
    const bool is_old = std::string_view(MHD_get_version()).starts_with("0.9.");
    const char *at = version_.data() + version_.size(); // end of the line before
    each([&](std::string_view name, std::string_view text) {
        is_good = is_good && is_token(name) && is_value(text);
        if (!is_good || !is_old) return;
        const char *const begin = name.data(), *const colon = begin + name.size();
        is_good = (begin == at + 1 || (begin == at + 2 && at[1] == '\0')) && colon < text.data() &&
                  std::all_of(colon + 1, text.data(), [](char c) { return c == ' ' || c == '\t'; });
        at = text.data() + text.size();
    });
    if (!is_good || !is_old) return is_good;
    constexpr ptrdiff_t most = 4; // CR LF of the last field, and of the empty line
    const char *const end = info ? method_ + info->header_size : at;
    return end - at >= 2 && end - at <= most;
}

void HttpHead::require_clear() const {
    if (!is_complete())
        refuse(400, "the head of the request has a line that is not NAME: VALUE", "invalid_head");
    const bool is_1_0 = version_ == "HTTP/1.0";
    if (n_hosts_ > 1 || (n_hosts_ == 0 && !is_1_0))
        refuse(400, fmt::format("the request has {} Host fields, not one", n_hosts_),
               "invalid_head");
    if (n_lengths_ > 1)
        refuse(400, fmt::format("the request has {} Content-Length fields, not one", n_lengths_),
               "invalid_head");
    if (n_transfer_ == 0) return;
    if (n_lengths_ > 0 || is_1_0)
        refuse(400,
               n_lengths_ > 0 ? "the request has both Content-Length and Transfer-Encoding"
                              : "the request has a Transfer-Encoding, which needs HTTP/1.1",
               "invalid_head");
    if (n_transfer_ > 1 || !is_same_field(value("Transfer-Encoding"), "chunked"))
        refuse(501, "the request has a Transfer-Encoding besides chunked, which is not supported",
               "unsupported_encoding");
}

bool HttpHead::has_body() const {
    const std::string_view length = value("Content-Length");
    return is_chunked() || length.find_first_not_of('0') != std::string_view::npos;
}

uint64_t HttpHead::n_body_bytes() const {
    const std::string_view length = value("Content-Length");
    uint64_t n_bytes = 0;
    const auto [end, error] =
        std::from_chars(length.data(), length.data() + length.size(), n_bytes);
    return error == std::errc::result_out_of_range ? UINT64_MAX : n_bytes;
}

void HttpHead::require_json(uint64_t most) const {
    bool is_plain = true, is_of_json = true;
    each([&](std::string_view name, std::string_view text) {
        if (is_same_field(name, "Content-Encoding"))
            is_plain = is_plain && (text.empty() || is_same_field(trimmed(text), "identity"));
        if (is_same_field(name, "Content-Type"))
            is_of_json = is_of_json && (text.empty() || is_json(text));
    });
    if (!is_plain) refuse(415, "the body must have no Content-Encoding", "unsupported_encoding");
    if (!is_of_json) refuse(415, "the body must be application/json", "unsupported_type");
    if (n_body_bytes() > most) refuse(413, "the body is too large", "too_large");
}

} // namespace ggufx::cli
