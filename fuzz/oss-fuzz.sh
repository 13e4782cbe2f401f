#!/usr/bin/env bash
# Builds all fuzz targets as OSS-Fuzz expects them: the programs in $OUT, and beside each one its seeds, the inputs that
# once violated its property, as NAME_seed_corpus.zip. Needs nightly as the default toolchain, cargo-fuzz and zip.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${OUT:?the folder for the programs}"
cargo fuzz build -O --debug-assertions
for target in $(cargo fuzz list); do
  cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  # `mad_every_call_ends_once` is the property `every_call_ends_once` of ib-mad.
  seeds=ib-${target%%_*}/testdata/regressions/${target#*_}
  [ ! -d "$seeds" ] || zip -q -j "$OUT/${target}_seed_corpus.zip" "$seeds"/*
done
