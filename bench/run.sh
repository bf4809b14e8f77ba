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
: "${KLR_DATA:?is not set: it names the folder of magic.svm, usps.svm, a9a.svm}"
fail() {
    echo "$*" >&2
    exit 1
}
for peer in svm-train svm-predict; do
    command -v "$peer" >/dev/null || fail "$peer is not installed"
done
export KLR_THREADS=1 OMP_NUM_THREADS=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Seconds of a command; its output is in $scratch/said.
seconds() {
    local begin=$EPOCHREALTIME
    "$@" >"$scratch/said" 2>"$scratch/error" || fail "$(cat "$scratch/error")"
    local end=$EPOCHREALTIME
    awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.4f\n", b - a }'
}

median() {
    sort -n "$1" | awk '{ v[NR] = $1 }
        END { printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# The number that --json gives for a key, or that svm-train's lines add up to.
from_json() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$2"; }
iterations() { awk -F '= ' '/#iter/ { sum += $2 } END { print sum }' "$1"; }

row() { # set, what, ours, theirs, iterations, theirs, evaluations
    awk -v a="$3" -v b="$4" -v head="| $1 | $2 |" -v tail="| $5 | $6 | $7 |" \
        'BEGIN { printf "%s %s | %s | %.2f %s\n", head, a, b, a / b, tail }'
}

# Run a command; its time is added to time.NAME, its output is said.NAME.
timed() {
    local name=$1
    shift
    seconds "$@" >>"$scratch/time.$name"
    mv "$scratch/said" "$scratch/said.$name"
}

# set, training file, test file, options of training
compare() {
    local set=$1 train=$2 test=$3 s=$scratch
    shift 3
    local ours=("$bin/klr-train" -q --json -m 4000 "$@")
    rm -f "$s"/time.*
    timed klr "${ours[@]}" -s klr --time-limit 600 "$train" "$s/klr"
    for _ in $(seq "$repeat"); do
        timed peer svm-train -m 4000 "$@" "$train" "$s/peer"
        timed svm "${ours[@]}" -s svm "$train" "$s/svm"
        timed peer.predict svm-predict "$test" "$s/peer" "$s/out"
        timed svm.predict "$bin/klr-predict" "$test" "$s/peer" "$s/out"
        timed klr.predict "$bin/klr-predict" "$test" "$s/klr" "$s/out"
    done
    local peer task
    peer=$(median "$s/time.peer")
    for model in svm klr; do
        task="train -s $model"
        grep -q '"status": "converged"' "$s/said.$model" ||
            task+=", stopped by its limit"
        row "$set" "$task" "$(median "$s/time.$model")" "$peer" \
            "$(from_json iterations "$s/said.$model")" \
            "$(iterations "$s/said.peer")" \
            "$(from_json kernel_evals "$s/said.$model")"
    done
    peer=$(median "$s/time.peer.predict")
    row "$set" "predict, svm-train's model" "$(median "$s/time.svm.predict")" \
        "$peer" - - -
    row "$set" "predict, klr model" "$(median "$s/time.klr.predict")" \
        "$peer" - - -
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
    *) fail "no such set: $1" ;;
    esac
}

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $(nproc) processors. Medians of $repeat runs, seconds of" \
    "whole processes, one thread; training of klr: one run, 600 s at most."
echo
echo "| set | task | klr | LIBSVM | ratio | iterations | LIBSVM's" \
    "| kernel evaluations |"
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
