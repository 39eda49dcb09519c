// JSON that tests read: stored results, arguments of calls.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>

using ggufx::Json;

// Ends the program if there is no such file.
inline Json json_file(const std::string &path) {
    std::ifstream in(path);
    if (!in) {
        fprintf(stderr, "cannot read %s\n", path.c_str());
        exit(1);
    }
    return Json::parse(
        std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
}

inline const std::string &text_at(const Json &object, std::string_view key) {
    const std::string *const text = object.at(key).text();
    return text ? *text : throw ggufx::JsonError(std::string(key) + " is no string", false);
}
inline std::string text_or_empty(const Json &object, std::string_view key) {
    return object.find(key) ? text_at(object, key) : "";
}

template <class Number = int32_t> std::vector<Number> numbers_of(const Json &list) {
    std::vector<Number> out;
    for (const Json &number : list.elements()) out.push_back(static_cast<Number>(number.natural()));
    return out;
}

inline Json json_or_null(const std::string &text) {
    try {
        return Json::parse(text);
    } catch (const ggufx::JsonError &) { return Json(); }
}
