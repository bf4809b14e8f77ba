#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A set of $KLR_DATA as the benchmarks take it: FOLDER/SET to train on and
# FOLDER/SET.t to predict, the same file where there is no test set.
#
#   bench/prepare.sh SET FOLDER
#
# a9a and ijcnn1 as they are, usps as odd against even labels, all others scaled
# to [0,1].
set -euo pipefail
cd "$(dirname "$0")/.."

: "${KLR_DATA:?is not set: it names the folder of the data sets}"
set=$1 folder=$2
case $set in
usps)
    for part in usps usps.t; do
        awk '{ $1 = $1 % 2 ? 1 : -1; print }' "$KLR_DATA/$part.svm" \
            >"$folder/$part"
    done ;;
a9a | ijcnn1)
    cp "$KLR_DATA/$set.svm" "$folder/$set"
    cp "$KLR_DATA/$set.t.svm" "$folder/$set.t" ;;
*)
    "${KLR_BIN:-.}/klr-scale" -l 0 -u 1 "$KLR_DATA/$set.svm" >"$folder/$set"
    ln -sf "$set" "$folder/$set.t" ;;
esac
