#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Texts as an svmlight file: words by a Zipf law, rows of unit length, classes
by a random taste with noise. Usage: texts.py ROWS WORDS WORDS_A_ROW SEED"""
import bisect
import itertools
import math
import random
import sys


def texts(rows, words, length, seed):
    chance = random.Random(seed)
    total = list(itertools.accumulate(1 / rank for rank in
                                      range(1, words + 1)))
    word = list(range(1, words + 1))
    chance.shuffle(word)
    taste = [chance.gauss(0, 1) for _ in range(words + 1)]
    for _ in range(rows):
        count = {}
        for _ in range(length):
            rank = bisect.bisect(total, chance.random() * total[-1])
            count[word[rank]] = count.get(word[rank], 0) + 1
        norm = math.sqrt(sum(c * c for c in count.values()))
        score = sum(taste[w] * c for w, c in count.items()) / norm
        label = "+1" if score + chance.gauss(0, 0.5) > 0 else "-1"
        print(label, *("%d:%.6g" % (w, count[w] / norm)
                       for w in sorted(count)))


if __name__ == "__main__":
    texts(*map(int, sys.argv[1:5]))
