"""Messages of the library, its plugins and the tool: errors, warnings and remarks, as a table and checked.

A message says what failed, the value, the limit and what to do, in the words of wording.py. It begins with a lower-case
word, a name or a value, has no private wording, and no sentence of it is long.

usage: messages.py SOURCE_ROOT            checks all messages
       messages.py SOURCE_ROOT --list     prints them: file, line, function, text
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

import public
import wording

# Functions whose literals are messages: fail, fail_at, refuse, refuse_kind, require, reject, Failure, ApiError, ...
CALLS = re.compile(r"(?:fail|refus|requir|reject|violat|warn|blame|complain|fault|bad|missing|report|remark|note|say|tell|fix|finding|limit|invalid)"
                   r"(?:[a-z]*)(?:_[a-z_0-9]+)?_?|(?:\w+_)?(?:error|failure)(?:_\w+)?|set_failure|Failure|Error|ApiError|RanksLost|ValidationError"
                   r"|Refusal|check|expected|not_\w+|too_\w+|unknown|throw_\w+|give_up\w*")
# A literal, a character (not the separator of digits), a comment, a name, or a sign: what is matched first wins.
TOKEN = re.compile(r'R"(\w*)\((?:[^)]|\)(?!\1"))*\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/'
                   r"|[A-Za-z_]\w*|\n|[^\s\w]", re.S)
SUFFIXES = {".cpp", ".hpp", ".cu"}
# Where all prose is shown to people, in whatever call it is.
TOOL = tuple("src/cli/" + folder for folder in ("chat/", "convert/", "edit/", "common/", "inspect/", "models/", "quantize/", "run/", "serve/"))
SENTENCE_WORDS = 30
FEWEST = 1200  # messages that the table has at least
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "0": "\0", "r": "\r"}


def text_of(literal):
    """The text of a C literal."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group()), literal[1:-1])


def literals(source):
    """(line, names of the calls around it, text) of literals; adjacent ones are one. Macros of printf become %."""
    calls, name, line, out, joins = [], "", 1, [], False
    for match in TOKEN.finditer(source):
        token = match.group()
        if token == "\n":
            line += 1
            continue
        if token.startswith(("//", "/*")):
            line += token.count("\n")
            continue
        if token[0] == '"':
            if joins:
                out[-1][2] += text_of(token)
            else:
                out.append([line, [call for call in calls if call], text_of(token)])
            joins = True
        elif re.fullmatch(r"PRI[a-zA-Z]\d+", token):
            if joins:
                out[-1][2] += "u"  # "%" PRIu64
        elif token == "(":
            calls.append(name)
            joins = False
        elif token == ")":
            if calls:
                calls.pop()
            joins = False
        else:
            joins = False
        name = token if re.match(r"[A-Za-z_]", token) and not token.startswith("R\"") else ""
        line += token.count("\n") if token[0] != '"' else 0
    return out


def is_prose(text):
    """Whether a literal is a message: words between spaces."""
    return len(re.findall(r"(?<![\w%])[a-z]{2,}(?![\w(])", text)) >= 2 and " " in text.strip()


def messages(root):
    """(file, line, function, text) of all messages."""
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        for line, calls, text in literals(path.read_text(encoding="utf-8")):
            named = [call for call in calls if CALLS.fullmatch(call)]
            name = path.relative_to(root).as_posix()
            if named and is_prose(text):
                yield name, line, named[-1], text
            elif is_prose(text) and name.startswith(TOOL) and not re.search(r"[<{]-|</|\{\}%", text):
                yield name, line, "", text


# Messages begin with a lower-case word, or with one of these: names of formats, units, programs.
NAME = re.compile(r"[A-Z]+[A-Z0-9_-]|[A-Z]$|[A-Z][a-z]+[A-Z]|U\+|Ctrl-C")
NAMES = {"NumPy", "Environment"}
# Forms -> what to say instead.
FORMS = {
    r"(?:is|are) no (?!longer\b)": "is not a", r"is none of": "is not one of", r"something else than": "name what is there",
    r"(?:is|are) not there": "is missing", r"asked for": "requested",
    r"odd (?:calibration|page|numbers?|step)": "invalid", r"goes? on": "continue", r"inside of": "inside", r"another one": "name it",
    r"of no use": "has no effect", r"is to be": "must be",
}


def faults_of(name, call, text):
    """Faults of a message of a file."""
    plain = re.sub(r"\"[^\"\n]*\"|'[^'\s]*'|`[^`]*`", "QUOTED", text)
    out = []
    for sentence in re.split(r"(?<=[.;?])\s+|\n", plain):
        n_words = len(wording.words(sentence))
        if n_words > SENTENCE_WORDS:
            out.append(f"{n_words} words")
        if not sentence.startswith(" "):  # else a part of a message
            opener = sentence.lstrip("(").split(" ", 1)[0]
            if opener.capitalize() in wording.OPENERS:
                out.append(f'begins with "{opener}"')
    out += [f'"{found.group()}", say: {better}' for word, better in {**wording.WORDS, **FORMS}.items()
            for found in [re.search(rf"\b(?:{word})(?!\w)", plain, re.I)] if found]
    first = re.match(r"[A-Za-z]\S*", plain)
    if first and first.group()[0].isupper() and not NAME.match(first.group()) and first.group().rstrip(":,") not in NAMES \
            and call and not name.startswith("src/chat/"):  # the words of Python and Jinja
        out.append(f'begins with a capital: "{first.group()}"')
    return out


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    table = list(messages(root))
    if sys.argv[2:] == ["--list"]:
        for name, line, call, text in table:
            print(f"{name}:{line}\t{call}\t{text!r}"[:400])
        return
    faults = [f"{name}:{line}: {fault}: {text[:90]!r}" for name, line, call, text in table for fault in faults_of(name, call, text)]
    if len(table) < FEWEST:
        faults.append(f"only {len(table)} messages are found, at least {FEWEST} are expected")
    public.finish("messages", faults, len(table))


if __name__ == "__main__":
    main()
