#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast data files are read (bench/parts/time_read.c: MB/s of one core, median
# of five) and scaled beside svm-scale, where that is installed (user seconds of
# the two programs by turns, medians of REPEAT runs, default 5). Arguments: data
# files; default: some sets of $KLR_DATA.
set -euo pipefail
cd "$(dirname "$0")/../.."

repeat=${REPEAT:-5}
if [ $# -eq 0 ]; then
    : "${KLR_DATA:?is not set: it names the folder of the data sets}"
    set -- "$KLR_DATA"/{ijcnn1,usps,a9a,magic,letter,coil2000}.svm
fi
make -s build/klr.a klr-scale
cc -std=c11 -D_GNU_SOURCE -O2 -I. bench/parts/time_read.c build/klr.a -lm \
    -o build/read
build/read "$@"

command -v svm-scale >/dev/null || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT=%U

median() {
    sort -n "$1" | awk '{ v[NR] = $1 }
        END { printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for file in "$@"; do
    rm -f "$scratch"/*
    for ((i = 0; i < repeat; i++)); do
        for program in ./klr-scale svm-scale; do
            { time "$program" "$file" >/dev/null 2>&1; } \
                2>>"$scratch/${program##*/}"
        done
    done
    awk -v a="$(median "$scratch/klr-scale")" -v name="$file" \
        -v b="$(median "$scratch/svm-scale")" 'BEGIN {
            printf "klr-scale %s s, svm-scale %s s, ratio %.3f  %s\n",
                a, b, a / b, name }'
done
