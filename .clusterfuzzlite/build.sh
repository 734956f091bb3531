#!/bin/bash -eu
# Builds all targets of fuzz/Cargo.toml into $OUT, with their dictionaries, from the folder of the repository. ClusterFuzzLite and
# OSS-Fuzz run it in their image; elsewhere:
#
#   OUT=/tmp/fuzzers RUSTUP_TOOLCHAIN=nightly .clusterfuzzlite/build.sh

cargo fuzz build --fuzz-dir fuzz -O --debug-assertions
for target in $(cargo fuzz list --fuzz-dir fuzz); do
  cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  if [ -f "fuzz/dictionaries/$target.dict" ]; then cp "fuzz/dictionaries/$target.dict" "$OUT/"; fi
done
