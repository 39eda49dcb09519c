// Parts of src/base that the public headers show only indirectly: processor features,
// floating-point environment, error texts, checksums, sums. Thread pool: pool_test.cpp.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/crc64.hpp"
#include "base/exact_sum.hpp"
#include "base/fpenv.hpp"
#include "base/status.hpp"
#include "check.hpp"

#include <initializer_list>
#include <math.h>
#include <string.h>
#include <vector>

#if defined(GGUFX_TEST_CPUINFO)
#include <cpuinfo.h>
#endif

using namespace ggufx;

namespace {

void features_are_stable_and_consistent() {
    const uint64_t found = cpu::features();
    CHECK(found == cpu::features());
    CHECK((found & ~cpu::features_builtin()) == 0);
    if (found & (cpu::avx512 | cpu::avxvnni)) CHECK(found & cpu::avx2);
    CHECK(cpu::usable_processors() >= 1);
#if defined(GGUFX_TEST_CPUINFO) && defined(__x86_64__)
    if (cpuinfo_initialize()) {
        const uint64_t own = cpu::features_builtin();
        CHECK(((own & cpu::avx2) != 0) ==
              (cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3() && cpuinfo_has_x86_f16c()));
        CHECK(((own & cpu::avx512) != 0) ==
              (cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() &&
               cpuinfo_has_x86_avx512vl() && cpuinfo_has_x86_avx512dq() &&
               cpuinfo_has_x86_avx512vnni()));
        if (own & cpu::avx512)
            CHECK(((own & cpu::avx512vbmi) != 0) == cpuinfo_has_x86_avx512vbmi());
    }
#endif
}

void the_floating_point_mode_is_restored() {
#if defined(__SSE__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040 | 0x2000); // FTZ, DAZ, round down
    const unsigned host_mode = _mm_getcsr();
    {
        const CanonicalFp canonical;
        CHECK(_mm_getcsr() == 0x1f80);
        volatile float tiny = 1e-39f;
        CHECK(tiny * 2.0f != 0.0f);
    }
    CHECK((_mm_getcsr() & 0xffc0) == (host_mode & 0xffc0));
    _mm_setcsr(before);
#endif
}

void messages_are_cut_at_a_character() {
    Failure f;
    char text[600];
    memset(text, 'x', sizeof text);
    text[599] = 0;
    for (size_t i = 440; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 2);
    for (size_t shift = 0; shift < 3; shift++) {
        set_failure(&f, Status::io, {}, "%s", text + shift);
        const size_t n = strlen(f.message);
        CHECK(n >= 440 && n < sizeof f.message);
        CHECK((f.message[n - 1] & 0xc0) != 0xc0); // no lone lead byte
    }
    CHECK(strcmp(Quoted("a\x01\xff\xc3\xa9", 5).c_str(), "a\\x01\\xff\xc3\xa9") == 0);
    const Quoted cut(text, sizeof text - 1);
    CHECK(strlen(cut.c_str()) < 100 && strstr(cut.c_str(), "..."));
    CHECK(strcmp(Quoted("", 0).c_str(), "") == 0);
    CHECK(set_failure(nullptr, Status::limit, {}, "ignored") == Status::limit);
    for (size_t size = 1; size < 20; size++) { // even sizes would split a character
        char out[20];
        memset(out, 'x', sizeof out);
        const size_t n = print_text(out, size, "%s", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
        CHECK(n == (size > 8 ? 8 : (size - 1) / 2 * 2) && strlen(out) == n);
        CHECK(memcmp(out, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", n) == 0);
    }
}

// CRC-64 bit by bit, from the polynomial.
uint64_t crc64_by_bits(const unsigned char *data, size_t n) {
    uint64_t crc = ~uint64_t{0};
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42u : 0);
    }
    return ~crc;
}

void checksums_are_those_of_the_polynomial() {
    CHECK(crc64(0, "123456789", 9) == 0x995dc9bbdf1939fau); // check value of CRC-64/XZ
    CHECK(crc64(0, nullptr, 0) == 0);
    unsigned char data[300];
    for (unsigned i = 0; i < sizeof data; i++) data[i] = static_cast<unsigned char>(i * i * 7 + i);
    for (size_t n = 0; n < 80; n++) {
        for (size_t from = 0; from < 9; from++)
            CHECK(crc64(0, data + from, n) == crc64_by_bits(data + from, n));
        CHECK(crc64(crc64(0, data, n), data + n, sizeof data - n) ==
              crc64_by_bits(data, sizeof data));
    }
    std::vector<unsigned char> many(40000); // long inputs are processed in lanes
    for (size_t i = 0; i < many.size(); i++)
        many[i] = static_cast<unsigned char>(i * i * 7 + (i >> 8) * 31);
    const uint64_t whole = crc64_by_bits(many.data(), many.size());
    CHECK(crc64(0, many.data(), many.size()) == whole);
    constexpr size_t kLengths[] = {1, 4095, 12287, 12288, 12289, 24575, 24576, 27713, 39999};
    for (const size_t n : kLengths) {
        CHECK(crc64(0, many.data() + 1, n) == crc64_by_bits(many.data() + 1, n));
        CHECK(crc64(crc64(0, many.data(), n), many.data() + n, many.size() - n) == whole);
    }
}

// Exact sum, bit by bit; bit 0 is 2^-127.
struct SumOfBits {
    uint8_t bits[256] = {};
    void add(double x) { // the lowest bit of x is at least 2^-127
        int exponent = 0;
        auto mantissa = static_cast<uint64_t>(frexp(x, &exponent) * 0x1p53);
        for (int place = exponent - 53 + 127; mantissa; place++, mantissa >>= 1) {
            if (!(mantissa & 1)) continue;
            int at = place;
            for (; bits[at]; at++) bits[at] = 0;
            bits[at] = 1;
        }
    }
    bool is(const ExactSum &sum) const {
        for (int i = 0; i < 256; i++)
            if ((sum.limb(i / 64) >> i % 64 & 1) != bits[i]) return false;
        return true;
    }
};

void sums_are_exact_in_any_cut() {
    const CanonicalFp canonical;
    uint64_t seed = 9;
    const auto next = [&] {
        return seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 11;
    };
    for (int round = 0; round < 200; round++) {
        ExactSum whole, parts[3];
        SumOfBits bits;
        for (int i = 0; i < 60; i++) {
            const uint64_t spread = round % 2 ? 170 : 8;
            const double x =
                ldexp(static_cast<double>(next()), static_cast<int>(next() % spread) - 127);
            whole.add(x);
            parts[next() % 3].add(x);
            bits.add(x);
        }
        CHECK(bits.is(whole));
        ExactSum sum = parts[2];
        sum.add(parts[0]);
        sum.add(parts[1]);
        for (int i = 0; i < ExactSum::kLimbs; i++) CHECK(sum.limb(i) == whole.limb(i));
    }
}

float sum_of(std::initializer_list<double> list) {
    ExactSum sum;
    for (const double x : list) sum.add(x);
    return sum.value();
}

void exact_sums_are_rounded_once() {
    const CanonicalFp canonical;
    CHECK(sum_of({}) == 0.0f && sum_of({0.0, 0x1p-200}) == 0.0f);
    CHECK(sum_of({1.5, 0.25}) == 1.75f);
    CHECK(sum_of({0x1p24, 1.0}) == 0x1p24f && sum_of({0x1p24, 1.0, 0x1p-127}) == 0x1p24f + 2);
    CHECK(sum_of({0x1p24 + 2, 1.0}) == 0x1p24f + 4 && sum_of({0x1p24, 3.0}) == 0x1p24f + 4);
    CHECK(sum_of({0x1.ffffffp9}) == 1024.0f);
    CHECK(sum_of({0x1p100, 0x1p76}) == 0x1p100f && sum_of({0x1p100, 0x1p76, 1.0}) > 0x1p100f);
    CHECK(sum_of({0x1p-127}) == 0x1p-127f && sum_of({0x1p-126, 0x1p-127}) == 0x1.8p-126f);
    CHECK(sum_of({0x1p-128}) == 0.0f && sum_of({0x1.8p-127}) == 0x1p-126f); // ties to even
    CHECK(sum_of({0x1.8p-128}) == 0x1p-127f && sum_of({0x1.4p-126}) == 0x1p-126f);
    CHECK(sum_of({0x1.fffffep127}) == 0x1.fffffep127f);
    for (const double x : {0x1.ffffffp127, 0x1p128, 0x1p129, 0x1p1000, HUGE_VAL, nan("")})
        CHECK(sum_of({x}) == HUGE_VALF && sum_of({x, 1.0, x, x}) == HUGE_VALF);
    CHECK(sum_of({0x1p127, 0x1p127, 0x1p127, 0x1p127, 0x1p127}) == HUGE_VALF);
    ExactSum many, infinite;
    infinite.add(HUGE_VAL);
    many.add(infinite);
    many.add(1.0);
    CHECK(many.value() == HUGE_VALF);
}

} // namespace

int main() {
    features_are_stable_and_consistent();
    the_floating_point_mode_is_restored();
    messages_are_cut_at_a_character();
    checksums_are_those_of_the_polynomial();
    sums_are_exact_in_any_cut();
    exact_sums_are_rounded_once();
    printf("%d failures\n", failures);
    return failures != 0;
}
