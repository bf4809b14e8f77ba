#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Whole processes side by side, one thread each, the same kernel cache: klr and
# svm beside LIBSVM's svm-train, without and with probabilities, prediction
# beside svm-predict; then klr by the Newton method beside klr by SMO. By turns,
# medians of REPEAT runs (default 5), of commands beyond a minute one run; no
# training of ours runs longer than LIMIT seconds (default 600). Two Markdown
# tables on stdout, with the ratios that the project aims at beside those found.
#
#   KLR_DATA=FOLDER bench/run.sh [SET]...
#
# SET: banana, magic, spambase, usps, a9a, ijcnn1, ringnorm; default all.
set -euo pipefail
cd "$(dirname "$0")/.."

repeat=${REPEAT:-5}
limit=${LIMIT:-600}
bin=${KLR_BIN:-.}
: "${KLR_DATA:?is not set: it names the folder of the data sets}"
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

# ---- Measuring ----

# Run a command unless it is known to be long: its seconds are added to
# time.NAME, its output is said.NAME.
timed() {
    local said=$scratch/said.$1 times=$scratch/time.$1
    shift
    [ ! -s "$times" ] || awk '$1 > 60 { exit 1 }' "$times" || return 0
    local begin=$EPOCHREALTIME
    "$@" >"$said" 2>"$scratch/error" || fail "$*: $(cat "$scratch/error")"
    local end=$EPOCHREALTIME
    awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.4f\n", b - a }' >>"$times"
}

median() { # name
    sort -n "$scratch/time.$1" | awk '{ v[NR] = $1 }
        END { printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# The number that --json gave for a key; the iterations of svm-train's lines.
from_json() { # key, name
    sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$scratch/said.$2"
}
iterations() { # name
    awk -F '= ' '/#iter/ { sum += $2 } END { print sum }' "$scratch/said.$1"
}
stopped() { # name: a remark where the limit ended it
    grep -q '"status": "converged"' "$scratch/said.$1" || echo ", stopped"
}

# ---- Beside LIBSVM ----

row() { # set, task, name of ours, of theirs, aim, counts
    awk -v a="$(median "$3")" -v b="$(median "$4")" -v aim="$5" \
        -v head="| $1 | $2 |" -v tail="| $6 | $7 | $8 |" 'BEGIN {
        printf "%s %s | %s | %.3f | %s %s\n", head, a, b, a / b, aim, tail }'
}

aims() { # set: klr, klr beside -b 1, svm, prediction; - where there is none
    case $1 in
    banana) echo 0.5 0.1 - - ;;
    magic) echo 0.5 0.1 0.3 0.2 ;;
    spambase) echo 0.5 0.1 0.3 - ;;
    usps) echo 0.25 0.1 0.15 0.2 ;;
    a9a) echo 0.25 0.1 0.4 - ;;
    ijcnn1) echo 1 0.25 - - ;;
    esac
}

compare() { # set, options of training
    local set=$1 train=$scratch/$1 s=$scratch klr both svm predict
    shift
    local ours=("$bin/klr-train" -q --json -m 4000 --time-limit "$limit" "$@")
    rm -f "$s"/time.*
    for _ in $(seq "$repeat"); do
        timed peer svm-train -m 4000 "$@" "$train" "$s/peer"
        timed klr "${ours[@]}" -s klr "$train" "$s/klr"
        timed both svm-train -m 4000 -b 1 "$@" "$train" "$s/both"
        timed svm "${ours[@]}" -s svm "$train" "$s/svm"
        timed peer.predict svm-predict "$train.t" "$s/peer" "$s/out"
        timed svm.predict "$bin/klr-predict" "$train.t" "$s/peer" "$s/out"
        timed klr.predict "$bin/klr-predict" "$train.t" "$s/klr" "$s/out"
    done
    read -r klr both svm predict <<<"$(aims "$set")"
    row "$set" "klr$(stopped klr)" klr peer "$klr" \
        "$(printf '%.1f passes' "$(from_json passes klr)")" \
        "$(iterations peer)" "$(from_json kernel_evals klr)"
    row "$set" "klr, svm-train -b 1" klr both "$both" "" "$(iterations both)" ""
    row "$set" "svm$(stopped svm)" svm peer "$svm" \
        "$(from_json iterations svm)" "$(iterations peer)" \
        "$(from_json kernel_evals svm)"
    row "$set" "predict, svm-train's model" svm.predict peer.predict \
        "$predict" "" "" ""
    row "$set" "predict, klr model" klr.predict peer.predict - "" "" ""
}

# ---- Newton beside SMO ----

# Both to a relative duality gap of 1e-6.
against_smo() { # set, gamma
    local train=$scratch/$1 cost
    for cost in 0.1 1 10; do
        local ours=("$bin/klr-train" -q --json -m 4000 -s klr -g "$2"
            -c "$cost" --gap 1e-6 --time-limit "$limit")
        rm -f "$scratch"/time.*
        for _ in $(seq "$repeat"); do
            timed newton "${ours[@]}" -a newton "$train" "$scratch/model"
            timed smo "${ours[@]}" -a smo "$train" "$scratch/model"
        done
        awk -v a="$(median newton)" -v b="$(median smo)" \
            -v passes="$(from_json passes newton)" \
            -v head="| $1 | $cost |" \
            -v steps="$(from_json iterations smo)$(stopped smo)" \
            -v gap="$(from_json gap newton)" -v last="$(from_json gap smo)" \
            'BEGIN { printf "%s %s | %.1f | %.1e | %s | %s | %.1e | %.0f |\n",
                head, a, passes, gap, b, steps, last, b / a }'
    done
}

# ---- The tables ----

settings() { # set: gamma and C
    case $1 in
    banana | magic | ringnorm) echo 0.5 1 ;;
    spambase) echo 0.5 8 ;;
    usps) echo 0.0078125 8 ;;
    a9a) echo 0.0625 1 ;;
    ijcnn1) echo 1 8 ;;
    *) fail "no such set: $1" ;;
    esac
}

[ $# -gt 0 ] || set -- banana magic spambase usps a9a ijcnn1 ringnorm
for set; do
    settings "$set" >/dev/null
    bench/prepare.sh "$set" "$scratch"
done
processors=$(nproc --all)
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $processors processors, KLR_CPU=${KLR_CPU:-best};" \
    "$repeat runs, of commands beyond a minute one."
echo
echo "| set | task | ours, s | LIBSVM, s | ratio | aim | steps | LIBSVM's |" \
    "kernel evaluations |"
echo "|---|---|---|---|---|---|---|---|---|"
for set; do
    [ "$set" = ringnorm ] && continue
    read -r gamma cost <<<"$(settings "$set")"
    compare "$set" -g "$gamma" -c "$cost"
done
echo
echo "| set | C | Newton, s | passes | gap | SMO, s | steps | gap |" \
    "times faster (aim 20) |"
echo "|---|---|---|---|---|---|---|---|---|"
for set; do
    case $set in
    ringnorm | banana | magic) against_smo "$set" 0.5 ;;
    esac
done
