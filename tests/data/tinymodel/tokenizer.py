#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Byte-pair vocabulary in the 'llama' (SentencePiece) form, trained on the generated corpus.

Ids: 0 <unk>, 1 <s>, 2 </s>, 3..258 the bytes <0x00>..<0xFF>, then merged pieces by rank, then single characters.
U+2581 represents a space and only occurs at the start of a piece. A piece's score is minus its rank, so the
greedy best-score merging of SentencePiece repeats the training merges.

usage: tokenizer.py train  --corpus train.txt --vocab tokenizer.json [--size 1024]
       tokenizer.py encode --vocab tokenizer.json --in stories.txt --out stories.bin [--join 4]
"""
import argparse
import array
import collections
import json
import re

SPACE = '\u2581'
END_MARK = '<|end|>'
N_SPECIAL = 259
BOS, EOS = 1, 2
UNIT = re.compile('\n|%s?[^%s\n]*' % (SPACE, SPACE))


def units(text):
    """Splits into newlines and words that start at a space: no piece crosses their boundaries."""
    return [u for u in UNIT.findall(SPACE + text.replace(' ', SPACE)) if u]


def documents(path):
    with open(path, encoding='utf-8') as file:
        for document in file.read().split('\n' + END_MARK + '\n'):
            if document.strip():
                yield document


def joined(stories, every):
    """Joins every n-th story to the next with a blank line, as in plain text files."""
    held = ''
    for i, story in enumerate(stories, 1):
        if every and i % every == 0:
            held += story + '\n\n'
        else:
            yield held + story
            held = ''
    if held:
        yield held.rstrip('\n')


def merge_word(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def train(corpus, size):
    counts = collections.Counter()
    for document in documents(corpus):
        counts.update(units(document))
    counts.pop('\n', None)  # a newline stays the byte token <0x0A>
    chars = sorted({c for unit in counts for c in unit})
    words = {tuple(unit): n for unit, n in counts.items()}
    pieces, seen = [], set()
    while N_SPECIAL + len(pieces) + len(chars) < size:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        pair, _ = max(pairs.items(), key=lambda item: (item[1], item[0]))
        if pair[0] + pair[1] not in seen:
            seen.add(pair[0] + pair[1])
            pieces.append(pair[0] + pair[1])
        merged = collections.Counter()
        for word, n in words.items():
            merged[merge_word(word, pair)] += n
        words = merged
    return pieces + chars


class Tokenizer:
    def __init__(self, pieces):
        self.pieces = pieces
        self.ids = {piece: N_SPECIAL + i for i, piece in enumerate(pieces)}
        self.cache = {}

    @classmethod
    def load(cls, path):
        with open(path, encoding='utf-8') as file:
            return cls(json.load(file)['pieces'])

    def table(self):
        """Returns all (text, score, type) rows; types as in GGUF: 1 normal, 2 unknown, 3 control, 6 byte."""
        rows = [('<unk>', 0.0, 2), ('<s>', 0.0, 3), ('</s>', 0.0, 3)]
        rows += [('<0x%02X>' % b, 0.0, 6) for b in range(256)]
        return rows + [(piece, -float(rank), 1) for rank, piece in enumerate(self.pieces)]

    def encode_unit(self, unit):
        """Merges the neighbours with the best score until no union is a piece."""
        word = list(unit)
        while len(word) > 1:
            best, where = None, -1
            for i in range(len(word) - 1):
                rank = self.ids.get(word[i] + word[i + 1])
                if rank is not None and (best is None or rank < best):
                    best, where = rank, i
            if best is None:
                break
            word[where:where + 2] = [word[where] + word[where + 1]]
        out = []
        for symbol in word:
            if symbol in self.ids:
                out.append(self.ids[symbol])
            else:
                out.extend(3 + b for b in symbol.encode('utf-8'))
        return out

    def encode(self, text, bos=True):
        out = [BOS] if bos else []
        for unit in units(text):
            if unit not in self.cache:
                self.cache[unit] = self.encode_unit(unit)
            out.extend(self.cache[unit])
        return out

    def decode(self, ids):
        data = b''
        for i in ids:
            if i >= N_SPECIAL:
                data += self.pieces[i - N_SPECIAL].replace(SPACE, ' ').encode('utf-8')
            elif i >= 3:
                data += bytes([i - 3])
        text = data.decode('utf-8', 'replace')
        return text[1:] if text.startswith(' ') else text


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(dest='command', required=True)
    t = sub.add_parser('train')
    t.add_argument('--corpus', required=True)
    t.add_argument('--vocab', required=True)
    t.add_argument('--size', type=int, default=1024)
    e = sub.add_parser('encode')
    e.add_argument('--vocab', required=True)
    e.add_argument('--in', dest='source', required=True)
    e.add_argument('--join', type=int, default=0, help='end every n-th story with a blank line, not </s>')
    e.add_argument('--out', required=True, help='little-endian u16 ids: <s> story </s> <s> story ...')
    args = ap.parse_args()
    if args.command == 'train':
        pieces = train(args.corpus, args.size)
        with open(args.vocab, 'w', encoding='utf-8') as file:
            json.dump({'pieces': pieces}, file, ensure_ascii=True, indent=0)
        print('%d tokens' % (N_SPECIAL + len(pieces)))
    else:
        tokenizer = Tokenizer.load(args.vocab)
        stream = array.array('H')
        n_chars = 0
        for document in joined(documents(args.source), args.join):
            ids = tokenizer.encode(document)
            n_chars += len(document)
            stream.extend(ids + [EOS])
        with open(args.out, 'wb') as file:
            stream.tofile(file)
        print('%d tokens, %.2f characters per token' % (len(stream), n_chars / len(stream)))


if __name__ == '__main__':
    main()
