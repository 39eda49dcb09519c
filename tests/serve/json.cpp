// The tool's JSON reader and writer, compared with nlohmann-json on random values, on numbers and
// on texts that are not JSON.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "check.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <ctime>
#include <random>

using namespace ggufx::cli;
using Oracle = nlohmann::ordered_json;

namespace {

std::mt19937_64 g_random(54);

uint64_t below(uint64_t n) {
    return g_random() % n;
}

std::string random_text() {
    static const char *const pieces[] = {"a",
                                         "key",
                                         " ",
                                         "\"",
                                         "\\",
                                         "/",
                                         "\n",
                                         "\x1f",
                                         "é",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "\xed\x9f\xbf",
                                         "\xef\xbf\xbf",
                                         "<b>"};
    std::string out;
    for (uint64_t n = below(6); n > 0; n--) out += pieces[below(std::size(pieces))];
    return out;
}

double random_double() {
    for (;;) {
        const double value = std::bit_cast<double>(g_random());
        if (std::isfinite(value)) return value;
    }
}

Oracle random_value(unsigned depth, bool has_doubles) {
    switch (below(depth > 0 ? 9 : 7)) {
    case 0:
        return nullptr;
    case 1:
        return below(2) == 1;
    case 2:
        return g_random() >> below(64);
    case 3:
        return static_cast<int64_t>(g_random()) >> below(63);
    case 4:
        return has_doubles ? Oracle(random_double()) : Oracle(4);
    case 5:
        if (!has_doubles) return 5;
        return static_cast<double>(static_cast<int64_t>(g_random()) >> below(63)) / 1000.0;
    case 6:
        return random_text();
    case 7: {
        Oracle out = Oracle::array();
        for (uint64_t n = below(4); n > 0; n--) out.push_back(random_value(depth - 1, has_doubles));
        return out;
    }
    default: {
        Oracle out = Oracle::object();
        for (uint64_t n = below(4); n > 0; n--)
            out[random_text() + std::to_string(n)] = random_value(depth - 1, has_doubles);
        return out;
    }
    }
}

bool is_read(const std::string &text) {
    try {
        Json::parse(text, "text");
        return true;
    } catch (const Failure &) { return false; }
}

// The two libraries choose different shortest texts for a few doubles, of the same value.
void test_random_values() {
    for (int i = 0; i < 20000; i++) {
        const bool has_doubles = i % 2 == 1;
        const Oracle value = random_value(5, has_doubles);
        for (const int indent : {-1, 2}) {
            const std::string text = value.dump(indent);
            const std::string ours = Json::parse(text, "text").dump(indent);
            CHECK(has_doubles ? Oracle::parse(ours) == value : ours == text);
            CHECK(Json::parse(value.dump(indent, ' ', true), "text").dump(indent) == ours);
            CHECK(Json::parse(ours, "text").dump(indent) == ours);
        }
    }
}

void test_numbers() {
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "-0.0",
                                          "1e0",
                                          "1E+2",
                                          "0.1",
                                          "1e-4",
                                          "1e-5",
                                          "1e-6",
                                          "1e14",
                                          "1e15",
                                          "1e16",
                                          "123456789012345.6",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "-9223372036854775808",
                                          "-9223372036854775809",
                                          "5e-324",
                                          "1.7976931348623157e308",
                                          "1e-999",
                                          "2.2250738585072014e-308",
                                          "100000.0",
                                          "3.0e5",
                                          "-12.50"};
    for (const char *const text : numbers) {
        const std::string ours = Json::parse(text, "text").dump();
        CHECK(ours == Oracle::parse(text).dump());
    }
    for (const char *const large :
         {"1e999", "-1e999", "0.1e310", "100e307", "1e99999999999999999999"})
        CHECK(!is_read(large));
    for (const char *const small : {"1e-999", "0.1e-400", "0e999", "1e-99999999999999999999"})
        CHECK(Json::parse(small, "").dump() == "0.0");
    CHECK(!is_read("1" + std::string(400, '0') + "e-50") && !is_read("1" + std::string(400, '0')));
    CHECK(Json::parse("0." + std::string(400, '0') + "1e50", "").dump() == "0.0");
}

std::string error_of(const std::string &text) {
    try {
        Json::parse(text, "the body");
    } catch (const Failure &failure) { return failure.what(); }
    return "";
}

// Every cut and every changed byte of a text is accepted by both readers or by none.
void test_broken_texts() {
    const std::string text =
        "{\"a\" : [1, -2.5e+3, true, false, null, \"x\\u00e9\\n\\ud83d\\ude00\"],"
        "\t\"b\":{\"c\":{}, \"d\":[]}, \"\xc3\xa9\": 0}\r\n";
    CHECK(is_read(text));
    for (size_t n = 0; n < text.size(); n++)
        CHECK(is_read(text.substr(0, n)) == Oracle::accept(text.substr(0, n)));
    for (size_t i = 0; i < text.size(); i++) {
        for (unsigned c = 1; c < 256; c++) { // the other library takes NUL for the end
            std::string other = text;
            other[i] = static_cast<char>(c);
            if (is_read(other) == Oracle::accept(other)) continue;
            // only equal names are refused by our reader alone
            CHECK(error_of(other).starts_with("the body: two members "));
        }
    }
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
    CHECK(Json::parse("[\"\\ud800\\udc00\\ud800\\u0041\\udc00\"]", "", replace).dump() ==
          "[\"\xf0\x90\x80\x80\xef\xbf\xbd\x41\xef\xbf\xbd\"]");
}

// Lists of numbers take 4 bytes a number where the reading names them, and are ordinary lists otherwise.
void test_number_lists() {
    static constexpr std::string_view names[] = {"a"};
    JsonReading reading;
    reading.number_lists = names;
    const auto read = [&](const std::string &text) { return Json::parse(text, "", reading); };
    CHECK(read("{\"a\":[1,4294967295]}").find("a")->numbers() != nullptr);
    for (const char *const text :
         {"{\"a\":[1,2,3]}", "{\"a\":[[1],[2,3],[]]}", "{\"a\":[1,-2]}", "{\"a\":[1,2,4294967296]}",
          "{\"a\":[1,\"x\",3]}", "{\"a\":[1,[2]]}", "{\"a\":[null,1]}", "{\"b\":[1,2]}",
          "{\"a\":{\"c\":[1,2]}}", "{\"a\":[[[1]]]}", "[1,2]", "{\"a\":[1,{\"a\":[2]}]}"}) {
        CHECK(read(text).dump() == text);
        CHECK(read(text).size() == Json::parse(text, "").size());
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
        std::string text = "x";
        append_utf8(text, code);
        const std::string out = Json(text).dump();
        CHECK(is_utf8(out) && escape(out) == out);
        CHECK(Oracle::parse(out).get<std::string>() == text);
        CHECK(*Json::parse(out, "").text() == text);
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
    Json value = Json::parse("{\"a\":1,\"b\":2}", "");
    value.update(Json::parse("{\"c\":3,\"b\":4,\"d\":5}", ""));
    CHECK(value.dump() == "{\"a\":1,\"b\":4,\"c\":3,\"d\":5}");
    std::string text = "{\"x\":0";
    for (int i = 0; i < 40000; i++) text += ",\"a" + std::to_string(i) + "\":1";
    text += "}";
    Json many;
    const double parsed = seconds_of([&] { many = Json::parse(text, ""); });
    // Two hundred times as long if each member is compared with all.
    CHECK(seconds_of([&] {
              Json out = Json::parse("{\"a1\":2}", "");
              out.update(many);
              CHECK(out.size() == 40001);
          }) < 10 * parsed);
}

} // namespace

int main() {
    test_random_values();
    test_numbers();
    test_broken_texts();
    test_errors();
    test_number_lists();
    test_written_strings();
    test_updates();
    std::printf("%d checks\n", g_checks);
}
