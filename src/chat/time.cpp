// strftime in English for a local time given by the caller: this code reads no clock.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

namespace ggufx::chat {

namespace {

struct Civil {
    int64_t year;
    unsigned month, day; // from 1
    unsigned hour, minute, second;
    unsigned weekday; // 0 = Sunday
    unsigned yearday; // from 0
};

// Converts seconds since 1970-01-01 to a date of the Gregorian calendar, by eras of 400 years that
// start in March.
Civil civil_of(int64_t seconds) {
    constexpr int64_t kDay = 86400, kEra = 146097;
    int64_t days = seconds / kDay - (seconds % kDay < 0);
    const auto rest = static_cast<unsigned>(seconds - days * kDay);
    Civil t{};
    t.hour = rest / 3600;
    t.minute = rest / 60 % 60;
    t.second = rest % 60;
    t.weekday = static_cast<unsigned>(((days + 4) % 7 + 7) % 7);
    days += 719468; // from 0000-03-01
    const int64_t era = days / kEra - (days % kEra < 0);
    const auto day = static_cast<unsigned>(days - era * kEra);
    const unsigned year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    const unsigned in_year = day - (365 * year + year / 4 - year / 100);
    const unsigned month = (5 * in_year + 2) / 153; // 0 = March
    t.day = in_year - (153 * month + 2) / 5 + 1;
    t.month = month < 10 ? month + 3 : month - 9;
    t.year = era * 400 + year + (t.month <= 2);
    const bool leap = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
    t.yearday = t.month <= 2 ? in_year - 306 : in_year + 59 + leap;
    return t;
}

const char *const kMonths[] = {"January",   "February", "March",    "April",
                               "May",       "June",     "July",     "August",
                               "September", "October",  "November", "December"};
const char *const kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                             "Thursday", "Friday", "Saturday"};

class Printer {
public:
    Printer(Environment &env, const Civil &time) : t_(time), out_(env.meter) {}

    void number(uint64_t value, unsigned width, char fill = '0') {
        char digits[24];
        const size_t n = print_integer(digits, static_cast<int64_t>(value));
        if (n < width && fill) out_.add_repeated(fill, width - n, false);
        out_.add({digits, n}, false);
    }
    void name(const char *text, size_t letters = SIZE_MAX) {
        out_.add(std::string_view(text).substr(0, letters), false);
    }
    void all(const char *format) {
        for (; *format; format++) {
            if (*format != '%')
                out_.add({format, 1}, false);
            else
                code(*++format, false);
        }
    }
    unsigned hour12() const { return t_.hour % 12 ? t_.hour % 12 : 12; }

    // `bare`: %-d has no leading zero.
    void code(char c, bool bare) {
        const char fill = bare ? '\0' : '0';
        const auto year = static_cast<uint64_t>(t_.year);
        switch (c) {
        case 'Y':
            return number(year, 0);
        case 'C':
            return number(year / 100, 2, fill);
        case 'y':
            return number(year % 100, 2, fill);
        case 'm':
            return number(t_.month, 2, fill);
        case 'd':
            return number(t_.day, 2, fill);
        case 'e':
            return number(t_.day, 2, bare ? '\0' : ' ');
        case 'H':
            return number(t_.hour, 2, fill);
        case 'I':
            return number(hour12(), 2, fill);
        case 'k':
            return number(t_.hour, 2, bare ? '\0' : ' ');
        case 'l':
            return number(hour12(), 2, bare ? '\0' : ' ');
        case 'M':
            return number(t_.minute, 2, fill);
        case 'S':
            return number(t_.second, 2, fill);
        case 'f':
            return number(0, 6);
        case 'j':
            return number(t_.yearday + 1, 3, fill);
        case 'U':
            return number((t_.yearday + 7 - t_.weekday) / 7, 2, fill);
        case 'W':
            return number((t_.yearday + 7 - (t_.weekday + 6) % 7) / 7, 2, fill);
        case 'w':
            return number(t_.weekday, 1);
        case 'u':
            return number(t_.weekday ? t_.weekday : 7, 1);
        case 'p':
            return name(t_.hour < 12 ? "AM" : "PM");
        case 'a':
            return name(kDays[t_.weekday], 3);
        case 'A':
            return name(kDays[t_.weekday]);
        case 'b':
        case 'h':
            return name(kMonths[t_.month - 1], 3);
        case 'B':
            return name(kMonths[t_.month - 1]);
        case 'F':
            return all("%Y-%m-%d");
        case 'D':
        case 'x':
            return all("%m/%d/%y");
        case 'T':
        case 'X':
            return all("%H:%M:%S");
        case 'R':
            return all("%H:%M");
        case 'r':
            return all("%I:%M:%S %p");
        case 'c':
            return all("%a %b %e %H:%M:%S %Y");
        case 'Z':
        case 'z':
            return; // no zone, as in Python's naive datetime
        case 'n':
            return name("\n");
        case 't':
            return name("\t");
        case '%':
            return name("%");
        default:
            fail(Status::unsupported, {}, "strftime_now: unknown code %%%c", c);
        }
    }
    TextBuilder &out() { return out_; }

private:
    const Civil &t_;
    TextBuilder out_;
};

} // namespace

const Text *format_time(Environment &env, const Text &format) {
    const Civil time = civil_of(env.clock);
    Printer printer(env, time);
    const std::string_view s = format.view();
    for (size_t i = 0; i < s.size(); i++) {
        env.meter.charge(1);
        if (s[i] != '%' || i + 1 == s.size()) {
            printer.out().add(format, i, i + 1);
            continue;
        }
        const bool bare = s[i + 1] == '-' && i + 2 < s.size();
        i += bare ? 2 : 1;
        if (static_cast<uint8_t>(s[i]) < 0x20 || static_cast<uint8_t>(s[i]) >= 0x7f)
            fail(Status::unsupported, {}, "strftime_now: a code that is not a letter");
        printer.code(s[i], bare);
    }
    return printer.out().finish();
}

} // namespace ggufx::chat
