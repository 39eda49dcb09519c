// SPDX-License-Identifier: MIT
#include "common/records.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

std::string doubled(const std::string &text, char quote) {
    std::string out(1, quote);
    for (const char c : text) out.append(c == quote ? 2 : 1, c);
    out += quote;
    return out;
}

std::string csv_field(const Json &value) {
    const std::string text = field_text(value);
    return text.find_first_of(",\"\r\n") == std::string::npos ? text : doubled(text, '"');
}

std::string sql_value(const Json &value) {
    if (value.is_null()) return "NULL";
    return value.number() ? field_text(value) : doubled(field_text(value), '\'');
}

const char *sql_type(const Json &value) {
    if (!value.number()) return "TEXT";
    return field_text(value).find_first_of(".e") == std::string::npos ? "INTEGER" : "REAL";
}

// Joins fn(i) of all members, with `comma` between them.
template <class Fn> std::string joined(const Json &record, const char *comma, const Fn &fn) {
    std::string out;
    for (size_t i = 0; i < record.size(); i++) {
        if (i) out += comma;
        out += fn(i);
    }
    return out;
}

} // namespace

std::string field_text(const Json &value) {
    return value.text() ? *value.text() : value.dump();
}

void print_csv(Output &out, const Json &record, bool first) {
    if (first) out.write(joined(record, ",", [&](size_t i) { return record.keys()[i]; }) + "\r\n");
    out.write(joined(record, ",", [&](size_t i) { return csv_field(record.elements()[i]); }) +
              "\r\n");
}

void print_sql(Output &out, const Json &record, const std::string &table, bool first) {
    if (first)
        out.write(fmt::format(
            "CREATE TABLE IF NOT EXISTS {} ({});\n", table, joined(record, ", ", [&](size_t i) {
                return fmt::format("{} {}", record.keys()[i], sql_type(record.elements()[i]));
            })));
    out.write(fmt::format(
        "INSERT INTO {} ({}) VALUES ({});\n", table,
        joined(record, ", ", [&](size_t i) { return record.keys()[i]; }),
        joined(record, ", ", [&](size_t i) { return sql_value(record.elements()[i]); })));
}

} // namespace ggufx::cli
