#!/usr/bin/env bash
# usage: scripts/fuzz_readers.sh [SECONDS [TCC_FUZZ]]
# The readers of models, tensors, arrays and artefacts under libFuzzer with AddressSanitizer and
# UndefinedBehaviorSanitizer, SECONDS each (default 60), two at a time, from the seeds of TCC_FUZZ
# (default build/release/bin/tcc-fuzz). Needs clang 19. Prints the input that broke a reader, if any,
# and ends with 'N passed, N failed'.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
tcc_fuzz=${2:-build/release/bin/tcc-fuzz}
build=build/libfuzzer
readers=(model tensor npy artefact)

cmake --preset libfuzzer >"$build.configure.log" 2>&1 || { cat "$build.configure.log"; exit 1; }
ninja -C "$build" -j "${TCC_JOBS:-2}" fuzz_readers >"$build.build.log" 2>&1 || {
  tail -50 "$build.build.log"
  exit 1
}
rm -rf "$build/seeds"
"$tcc_fuzz" input --points 0 --emit "$build/seeds" >/dev/null || exit 1

run() {
  mkdir -p "$build/found/$1"
  "$build/bin/fuzz_$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="$build/found/$1-" "$build/found/$1" "$build/seeds/$1" \
    >"$build/$1.log" 2>&1
}

passed=0
failed=0
for ((i = 0; i < ${#readers[@]}; i += 2)); do
  pids=()
  for reader in "${readers[@]:i:2}"; do
    run "$reader" &
    pids+=($!)
  done
  for j in "${!pids[@]}"; do
    reader=${readers[i + j]}
    if wait "${pids[j]}"; then
      passed=$((passed + 1))
      echo "PASS $reader: $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$build/$reader.log")"
    else
      failed=$((failed + 1))
      echo "FAIL $reader"
      tail -40 "$build/$reader.log"
    fi
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
