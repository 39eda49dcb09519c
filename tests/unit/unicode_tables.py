"""Unicode tables: the library's properties of every code point against Python's unicodedata, and the committed file
against one generated from Debian's unicode-data (exit 77: it is not installed).

Code points that only one of the two versions has are skipped.

usage: unicode_tables.py UNICODE_DUMP BASE_FOLDER
SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys
import unicodedata

CATEGORIES = ("Cn Cc Cf Co Cs Lu Lt Ll Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
              "Zs Zl Zp").split()
# From Unicode 14 to 15 the first one's category changed, and the others became lower-case letters.
CHANGED = {0x1734: "Mc", 0x10fc: "Lm", 0xa7f2: "Lm", 0xa7f3: "Lm", 0xa7f4: "Lm", 0xab69: "Lm"}
OF_HAN = ("CJK", "HANGZHOU", "IDEOGRAPHIC", "KANGXI", "VIETNAMESE", "OLD CHINESE")
LOWER_OF_MANY = {0x130}  # Python's lower case has two code points
SIGMA = "\u03a3"  # has another lower case at the end of a word: after a cased character


def parts_of(char):
    return [ord(c) for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn"]


def passed_over(char):
    """Case_Ignorable: a Sigma after it still follows the character before it."""
    return ("a" + char + SIGMA).lower()[-1] == "\u03c2" and ("1" + char + SIGMA).lower()[-1] == "\u03c3"


def cased(char):
    """Returns whether str.title continues in lower case after it."""
    return (char + "a").title()[-1] == "a"


# In the order of unicode_dump.
PROPERTIES = (str.isupper, str.islower, cased, passed_over, str.isalpha, str.isprintable,
              str.isdecimal, str.isdigit, str.isnumeric)


def wants_of(char):
    """Returns cases and properties as unicode_dump prints them."""
    cases = [",".join(f"{ord(c):x}" for c in to) for to in (char.upper(), char.lower(), char.title())]
    return cases + ["".join(str(int(test(char))) for test in PROPERTIES)]


def faults_of(line):
    """Returns the differences, and whether there was anything to compare."""
    words = line.split()
    code, char = int(words[0], 16), chr(int(words[0], 16))
    ours, theirs = CATEGORIES[int(words[1])], unicodedata.category(char)
    if ours == "Cs":
        return [], False
    if (ours == "Cn") != (theirs == "Cn"):
        return [], False
    faults = []
    if ours != theirs and CHANGED.get(code) != ours:
        faults.append(f"U+{code:04X}: {ours}, not {theirs}")
    if theirs == "Cn":
        return faults, True
    # Python's isspace includes the ASCII separators, which are not White_Space.
    if (words[2] == "1") != (char.isspace() and not 0x1c <= code <= 0x1f):
        faults.append(f"U+{code:04X}: white space {words[2]}")
    if words[3] == "1" and not any(w in unicodedata.name(char, "") for w in OF_HAN):
        faults.append(f"U+{code:04X}: {unicodedata.name(char)} is not Han")
    lower = char.lower()
    if code not in LOWER_OF_MANY and (len(lower) != 1 or int(words[4], 16) != ord(lower)):
        faults.append(f"U+{code:04X}: lower case U+{words[4]}, not {lower!r}")
    if words[5] != (",".join(f"{part:x}" for part in parts_of(char)) or "-"):
        faults.append(f"U+{code:04X}: decomposed {words[5]}")
    if code not in CHANGED and words[6:] != wants_of(char):
        faults.append(f"U+{code:04X}: {words[6:]}, not {wants_of(char)}")
    return faults, True


def main():
    dump, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    lines = subprocess.run([dump], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    print(f"Unicode {lines[0]} here, {unicodedata.unidata_version} in Python")
    faults, n_checked = [], 0
    for line in lines[1:]:
        found, compared = faults_of(line)
        faults += found
        n_checked += compared
    for fault in faults[:20]:
        print("FAIL:", fault)
    print(f"{n_checked} code points compared, {len(faults)} faults")
    if faults or n_checked < 270000:
        sys.exit(1)
    data = pathlib.Path("/usr/share/unicode/UnicodeData.txt")
    if not data.exists():
        print("skipped: unicode-data is not installed, so the file is not made anew")
        sys.exit(77)
    made = subprocess.run([sys.executable, folder / "make_unicode.py"], stdout=subprocess.PIPE, check=True).stdout
    if made != (folder / "unicode_tables.inc").read_bytes():
        print("FAIL: unicode_tables.inc is not what make_unicode.py makes of", data.parent)
        sys.exit(1)


main()
