// JSON of base/json.hpp as the tool reads it: numbers, errors, limits, strings for terminals. python_json.py
// compares it with Python's.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"

#include "base/utf8.hpp"
#include "check.hpp"

#include <algorithm>
#include <ctime>
#include <iostream>

using namespace ggufx;
using namespace ggufx::cli;

namespace {

bool is_read(const std::string &text) {
    try {
        parse_json(text, "text");
        return true;
    } catch (const Failure &) { return false; }
}

void test_numbers() {
    static constexpr struct {
        const char *text, *written;
    } numbers[] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"1e0", "1.0"},
        {"1E+2", "100.0"},
        {"0.1", "0.1"},
        {"1e-4", "0.0001"},
        {"1e-5", "1e-05"},
        {"1e-6", "1e-06"},
        {"1e14", "100000000000000.0"},
        {"1e15", "1e+15"},
        {"1e16", "1e+16"},
        {"123456789012345.6", "123456789012345.6"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", "-9.223372036854776e+18"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"1e-999", "0.0"},
        {"2.2250738585072014e-308", "2.2250738585072014e-308"},
        {"100000.0", "100000.0"},
        {"3.0e5", "300000.0"},
        {"-12.50", "-12.5"},
    };
    for (const auto &number : numbers) CHECK(Json::parse(number.text).dump() == number.written);
    for (const char *const large :
         {"1e999", "-1e999", "0.1e310", "100e307", "1e99999999999999999999"})
        CHECK(!is_read(large));
    for (const char *const small : {"1e-999", "0.1e-400", "0e999", "1e-99999999999999999999"})
        CHECK(Json::parse(small).dump() == "0.0");
    CHECK(!is_read("1" + std::string(400, '0') + "e-50") && !is_read("1" + std::string(400, '0')));
    CHECK(Json::parse("0." + std::string(400, '0') + "1e50").dump() == "0.0");
}

std::string error_of(const std::string &text) {
    try {
        parse_json(text, "the body");
    } catch (const Failure &failure) { return failure.what(); }
    return "";
}

void test_errors() {
    CHECK(error_of("{\"m\":[{},{\"role\":tru}]}") ==
          "the body: a character that begins no value at byte 17, in m[1].role");
    CHECK(error_of("[1, 2") == "the body: its end instead of a value at byte 5, in [2]");
    CHECK(error_of("{\"a\":1,\"a\":2}") == "the body: two members \"a\"");
    CHECK(error_of(std::string(65, '[')) == "the body: nested deeper than 64 at byte 64");
    CHECK(is_read(std::string(64, '[') + std::string(64, ']')));
    CHECK(error_of("[\"\xff\"]") == "the body: a byte that is not valid UTF-8 at byte 2");
    CHECK(error_of("[\"\\ud800\"]") == "the body: half of a surrogate pair at byte 2, in [0]");
    JsonReading replace;
    replace.replaces_surrogates = true;
    CHECK(Json::parse("[\"\\ud800\\udc00\\ud800\\u0041\\udc00\"]", replace).dump() ==
          "[\"\xf0\x90\x80\x80\xef\xbf\xbd\x41\xef\xbf\xbd\"]");
}

// Lists of numbers take 4 bytes a number where the reading names them, and are ordinary lists otherwise.
void test_number_lists() {
    static constexpr std::string_view names[] = {"a"};
    JsonReading reading;
    reading.number_lists = names;
    const auto read = [&](const std::string &text) { return parse_json(text, "", reading); };
    CHECK(read("{\"a\":[1,4294967295]}").find("a")->numbers() != nullptr);
    for (const char *const text :
         {"{\"a\":[1,2,3]}", "{\"a\":[[1],[2,3],[]]}", "{\"a\":[1,-2]}", "{\"a\":[1,2,4294967296]}",
          "{\"a\":[1,\"x\",3]}", "{\"a\":[1,[2]]}", "{\"a\":[null,1]}", "{\"b\":[1,2]}",
          "{\"a\":{\"c\":[1,2]}}", "{\"a\":[[[1]]]}", "[1,2]", "{\"a\":[1,{\"a\":[2]}]}"}) {
        CHECK(read(text).dump() == text);
        CHECK(read(text).size() == Json::parse(text).size());
    }
    CHECK(read("{\"b\":[1,2]}").find("b")->elements().size() == 2);
    CHECK(read("{\"a\":[1,2.0]}").find("a")->elements().size() == 2);
    reading.most_bytes = 16000;
    std::string many = "1";
    for (int i = 0; i < 1000; i++) many += ",1";
    CHECK(read("{\"a\":[" + many + "]}").find("a")->size() == 1001);
    try {
        read("{\"b\":[" + many + "]}");
        CHECK(false);
    } catch (const Failure &failure) {
        CHECK(failure.exit_code == kNoMemory);
        CHECK(std::string(failure.what())
                  .starts_with(": its values take more than 16000 bytes of memory, in b["));
    }
}

// Bytes that are no UTF-8 and characters that move a terminal's cursor never reach the output.
void test_written_strings() {
    CHECK(Json("\xff\xfe|\xe2\x82|\x80").dump() ==
          "\"\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\"");
    CHECK(Json("\x7f\xc2\x9b\xe2\x80\xae").dump() == "\"\\u007f\\u009b\\u202e\"");
    for (uint32_t code = 0; code < 0x110000; code += 1 + code / 64) {
        if (code >= 0xd800 && code < 0xe000) continue;
        char bytes[4];
        std::string text = "x";
        text.append(bytes, put_utf8(bytes, code));
        const std::string out = Json(text).dump();
        CHECK(is_utf8(out) && escape(out) == out);
        CHECK(*Json::parse(out).text() == text);
    }
}

// Processor seconds of the fastest of three calls.
template <class Work> double seconds_of(const Work &work) {
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        const std::clock_t start = std::clock();
        work();
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
}

void test_updates() {
    Json value = Json::parse("{\"a\":1,\"b\":2}");
    value.update(Json::parse("{\"c\":3,\"b\":4,\"d\":5}"));
    CHECK(value.dump() == "{\"a\":1,\"b\":4,\"c\":3,\"d\":5}");
    std::string text = "{\"x\":0";
    for (int i = 0; i < 40000; i++) text += ",\"a" + std::to_string(i) + "\":1";
    text += "}";
    Json many;
    const double parsed = seconds_of([&] { many = Json::parse(text); });
    // Two hundred times as long if each member is compared with all.
    CHECK(seconds_of([&] {
              Json out = Json::parse("{\"a1\":2}");
              out.update(many);
              CHECK(out.size() == 40001);
          }) < 10 * parsed);
}

// Reads a text of each line of hex digits. Writes the value on one line and indented, or the error.
void answer_lines() {
    for (std::string line, text; std::getline(std::cin, line); text.clear()) {
        for (size_t i = 0; i < line.size(); i += 2)
            text += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
        try {
            const Json value = Json::parse(text);
            std::cout << hex(value.dump()) << ' ' << hex(value.dump(2)) << '\n';
        } catch (const JsonError &error) { std::cout << '!' << hex(error.what()) << '\n'; }
    }
}

} // namespace

// Without arguments, the tests; with one, answers for python_json.py.
int main(int argc, char **) {
    if (argc > 1) return answer_lines(), 0;
    test_numbers();
    test_errors();
    test_number_lists();
    test_written_strings();
    test_updates();
    std::printf("%d checks\n", g_checks);
}
