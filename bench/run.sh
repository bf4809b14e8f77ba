#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Side by side with LIBSVM: whole-process times of training and prediction, one
# thread each, the two programs by turns, medians of REPEAT runs (default 5),
# and ratios. A Markdown table on stdout. Data from $KLR_DATA; REPEAT=1 for a
# first look; names of sets as arguments choose some of magic, usps, a9a.
set -euo pipefail
cd "$(dirname "$0")/.."

repeat=${REPEAT:-5}
bin=${KLR_BIN:-.}
: "${KLR_DATA:?is not set: it names the folder with magic.svm, usps.svm, a9a.svm}"
for peer in svm-train svm-predict; do
    command -v "$peer" >/dev/null || { echo "$peer is not installed" >&2; exit 1; }
done
export KLR_THREADS=1 OMP_NUM_THREADS=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Seconds of a command; its output is in $scratch/said.
seconds() {
    local begin=$EPOCHREALTIME
    "$@" >"$scratch/said" 2>"$scratch/error" || { cat "$scratch/error" >&2; exit 1; }
    local end=$EPOCHREALTIME
    awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.4f\n", b - a }'
}

median() {
    sort -n "$1" | awk '{ v[NR] = $1 }
        END { printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# The number that --json gives for a key, or that svm-train's lines add up to.
from_json() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$2"; }
iterations() { sed -n 's/.*#iter = \([0-9]*\).*/\1/p' "$1" | awk '{ s += $1 } END { print s }'; }

row() { # set, what, ours, theirs, iterations, theirs, evaluations
    awk -v a="$3" -v b="$4" -v head="| $1 | $2 |" -v tail="| $5 | $6 | $7 |" \
        'BEGIN { printf "%s %s | %s | %.2f %s\n", head, a, b, a / b, tail }'
}

# set, training file, test file, kernel options
compare() {
    local name=$1 train=$2 test=$3 s=$scratch
    shift 3
    rm -f "$s"/time.*
    for _ in $(seq "$repeat"); do
        seconds svm-train -m 4000 "$@" "$train" "$s/theirs" >>"$s/time.train.theirs"
        cp "$s/said" "$s/said.theirs"
        seconds "$bin/klr-train" -q --json -s svm -m 4000 "$@" "$train" "$s/ours" \
            >>"$s/time.train.ours"
        cp "$s/said" "$s/said.ours"
        seconds "$bin/klr-train" -q --json -s klr -m 4000 "$@" "$train" "$s/klr" \
            >>"$s/time.train.klr"
        cp "$s/said" "$s/said.klr"
        seconds svm-predict "$test" "$s/theirs" "$s/out" >>"$s/time.predict.theirs"
        seconds "$bin/klr-predict" "$test" "$s/theirs" "$s/out" \
            >>"$s/time.predict.ours"
        seconds "$bin/klr-predict" "$test" "$s/klr" "$s/out" >>"$s/time.predict.klr"
    done
    local theirs; theirs=$(median "$s/time.train.theirs")
    for model in ours klr; do
        row "$name" "train -s ${model/ours/svm}" "$(median "$s/time.train.$model")" \
            "$theirs" "$(from_json iterations "$s/said.$model")" \
            "$(iterations "$s/said.theirs")" "$(from_json kernel_evals "$s/said.$model")"
    done
    theirs=$(median "$s/time.predict.theirs")
    row "$name" "predict svm-train's model" "$(median "$s/time.predict.ours")" "$theirs" - - -
    row "$name" "predict klr model" "$(median "$s/time.predict.klr")" "$theirs" - - -
}

prepare() { # set: files $scratch/NAME and $scratch/NAME.t
    case $1 in
    magic)
        "$bin/klr-scale" -l 0 -u 1 "$KLR_DATA/magic.svm" >"$scratch/magic"
        ln -sf magic "$scratch/magic.t" ;;
    usps) # odd against even labels
        for part in usps usps.t; do
            awk '{ $1 = $1 % 2 ? 1 : -1; print }' "$KLR_DATA/$part.svm" \
                >"$scratch/$part"
        done ;;
    a9a)
        cp "$KLR_DATA/a9a.svm" "$scratch/a9a"
        cp "$KLR_DATA/a9a.t.svm" "$scratch/a9a.t" ;;
    *) echo "no such set: $1" >&2; exit 1 ;;
    esac
}

echo "$(nproc) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1);" \
    "medians of $repeat runs, seconds of whole processes, one thread"
echo
echo "| set | task | klr | LIBSVM | ratio | iterations | LIBSVM's | kernel evaluations |"
echo "|---|---|---|---|---|---|---|---|"
[ $# -gt 0 ] || set -- magic usps a9a
for set; do
    prepare "$set"
    case $set in
    magic) options=(-g 0.5 -c 1) ;;
    usps) options=(-g 0.0078125 -c 8) ;;
    a9a) options=(-g 0.0625 -c 1) ;;
    esac
    compare "$set" "$scratch/$set" "$scratch/$set.t" "${options[@]}"
done
