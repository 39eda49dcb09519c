"""Reports of UBSan in a run that continues after a report (UBSAN_OPTIONS=log_path=FOLDER/x): every report is a
fault, except intended unsigned wrapping. Allowed are `i-- > 0` at the end of a loop that counts down, hashes and
random numbers, and headers of kernels and lanes. The list below allows other lines by a part of their text, each
with its reason. A changed line is a fault again.

usage: integers.py SOURCE_ROOT LOG_FOLDER
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

COUNTS_DOWN = re.compile(r"\b\w+-- (== 0|> \w+)")
# Constants of FNV, of splitmix and xorshift, the golden ratio.
HASH = re.compile(r"(\*|\+=?) (0x100000001b3|1099511628211|0xbf58476d1ce4e5b9|0x94d049bb133111eb|0x2545f4914f6cdd1d|"
                  r"0x9e3779b97f4a7c15|kGolden|6364136223846793005u)")
OPPOSITE = "the size of a negative number, or what is missing to a multiple"
MEANT = (
    ("src/abi/writer_keys.cpp", "0 - static_cast<uint64_t>(value)", OPPOSITE),
    ("src/chat/format.cpp", "uint64_t{0} - static_cast<uint64_t>(value)", OPPOSITE),
    ("src/chat/native.cpp", "0 - static_cast<uint64_t>(step)", OPPOSITE),
    ("src/chat/functions.cpp", "0 - static_cast<uint64_t>(step)", OPPOSITE),
    ("src/chat/functions.cpp", "static_cast<uint64_t>(start) - static_cast<uint64_t>(stop)", "asked apart, which is larger"),
    ("src/gguf/numbers.cpp", "0 - n.bits", OPPOSITE),
    ("src/gguf/writer_emit.cpp", "(0 - n) & (plan_.alignment() - 1)", OPPOSITE),
    ("src/job/quantize.cpp", "(0 - at) & (plan.alignment() - 1)", OPPOSITE),
    ("src/base/unicode.cpp", "code - kSyllables < kSyllableCount", "what is below the first is above the last"),
    ("src/base/unicode.cpp", "code + static_cast<uint32_t>(range->delta)", "a difference that may be negative"),
    ("src/cli/common/read_loop.cpp", "digest += sum[i]", "a sum of all that was read"),
    ("src/cli/serve/http.cpp", "find_last_of(", "behind none is the whole text"),
    ("src/device/self_test.cpp", "random.next() % 5 - 2", "a number or two before"),
    ("src/device/self_test.cpp", "sum += static_cast<uint32_t>(x * y)", "products may be negative"),
    ("src/device/words.cpp", "*sum += sums[i]", "a sum of words"),
    ("src/chat/machine.hpp", "static_cast<uint32_t>(in.jump)", "a jump back"),
    ("src/base/math.hpp", "f32_bits(p) + exponent", "an exponent that may be negative, in the bits of a float"),
)


def line_of(root, path, number):
    lines = (root / path).read_text(encoding="utf-8").splitlines() if (root / path).is_file() else []
    return lines[number - 1].strip() if number <= len(lines) else ""


def main():
    root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    places, others = {}, set()
    for log in sorted(folder.iterdir()):
        for text in log.read_text(encoding="utf-8", errors="replace").splitlines():
            found = re.match(r"(\S+?):(\d+):\d+: runtime error: (.*)", text)
            if found:
                path = re.sub(r"^(.*/)?(?=(src|tests|include|examples)/)", "", found[1])
                places.setdefault((path, int(found[2])), found[3])
            elif "ERROR: " in text:
                others.add(text)
    faults, used = sorted(others), set()
    for (path, number), what in sorted(places.items()):
        line = line_of(root, path, number)
        reason = next((entry for entry in MEANT if entry[0] == path and entry[1] in line), None)
        meant = reason or COUNTS_DOWN.search(line) or HASH.search(line) or path.startswith(("src/kernels/", "src/plugins/lanes/"))
        if not (what.startswith("unsigned integer overflow") and meant):
            faults.append("%s:%d: %s\n    %s" % (path, number, what, line))
        used.add(reason)
    for entry in MEANT:
        if entry not in used:
            print("not seen to wrap: %s: %s" % entry[:2])
    print("\n".join(faults))
    print("%d places reported, %d of them faults" % (len(places), len(faults)))
    if not places:
        sys.exit("nothing was reported: is this a build with these checks?")
    sys.exit(1 if faults else 0)


main()
