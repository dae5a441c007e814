#!/usr/bin/env bash
# usage: campaign.sh [--seconds N] [--out DIR] [--programs DIR] [--batches DIR] [--quick] [--text]
#
# As many measurements of candidates as a GPU gives in N seconds (default 540), from a folder that
# pack.sh --campaign made: candidates of --batches (default: batches/ beside this file), random ones
# of all networks, a search of three networks, these beside PyTorch, operators beside libraries.
# Each step has its share of what is left; one that fails or hangs is told, and the next one goes
# on. Only where nothing runs the campaign ends. Steps that
# compile need NVRTC: without it, or with one that does not know the target, their time goes to the
# batches.
#
# DIR of --out (default: results/DEVICE beside this file) gets
#
#   results.tar.xz   campaign.db and its export, results of batches, runs, tables, log.txt,
#                    run.json; below 16 MiB: the largest files are left out where it would be more
#   report.md        every step, counts of measurements, tables
#
# Both are made anew after each step, and when the campaign is ended (SIGTERM). Until it ends, the
# files themselves are in DIR/files: where it is killed, what the step at hand wrote.
#
# --quick is one small network and few trials: only to see that all of it works; --text is for the
# emulated driver (TCC_CUDA_DRIVER). Ends with 0 if all steps went well. The card's settings are
# left as they are: nvidia-smi is only asked.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"

seconds=540 out='' programs='' batches=$here/batches quick='' text=''
while [ $# -gt 0 ]; do
  case $1 in
    --seconds|--out|--programs|--batches) [ $# -ge 2 ] || usage "$1 needs a value" ;;&
    --seconds) seconds=$2; shift ;;
    --out) out=$2; shift ;;
    --programs) programs=$2; shift ;;
    --batches) batches=$2; shift ;;
    --quick) quick=--quick ;;
    --text) text=--text ;;
    *) usage "there is no option '$1'" ;;
  esac
  shift
done
is_seconds "$seconds"
# What is kept back for the last archive, and the most that it may have.
closing=12 archive_bytes=16777216
end=$((SECONDS + seconds - closing))
find_programs
open_work
find_device
out=${out:-$here/results/$(tr -c 'a-zA-Z0-9\n' '_' <<<"$model")}
files=$out/files database=$files/campaign.db
# After one that was killed its files stay, and are gone on from.
runs=$files/runs
[ ! -e "$runs" ] || runs=$files/runs.$(date +%s)
mkdir -p "$runs" "$work/models" || exit 1
echo "$model, $target, driver ${driver:-unknown}; results in $out"

networks=$("$tcc" zoo list | awk '{print $1}') tuned='resnet50 mobilenet_v2 bert_base'
suites='resnet50 matmul'
[ -z "$quick" ] || networks=dqn tuned=dqn suites=smoke

nvrtc=''
grep -q "compiles for .*\b$target\b" "$work/doctor.json" && nvrtc=1

# Steps after the first, and the seconds that each would like; they get shares of what is left.
plan() {
  if [ -n "$nvrtc" ]; then
    echo calibrate:10 batches:60 sample:150 tune:155 torch:60 peers:60
  else
    echo calibrate:10 batches:365 torch:60 peers:60
  fi
}

# part N: an equal share, for the first of N, of what is left until step_end.
part() {
  local left=$(((step_end - SECONDS) / $1))
  echo $((left >= 1 ? left : 1))
}

# each FUNCTION ITEM...: calls it with every item and its share of the step at hand.
each() {
  local function=$1
  shift
  while [ $# -gt 0 ] && [ -z "$stopped" ]; do
    "$function" "$1" "$(part $#)"
    write_results
    shift
  done
}

# The path of a network's model, which is exported when it is first wanted.
model_of() {
  local path=$work/models/$1.onnx
  [ -e "$path" ] || "$tcc" zoo export "$1" ${quick:+--small} -o "$path" >>"$log" 2>&1
  echo "$path"
}

# The smallest first: what they leave of their time goes to the others.
list_batches() { ls -Sr "$batches"/*.tccb 2>/dev/null; }

# measure_batch STEP FILE SECONDS: goes on where an earlier call ended.
measure_batch() {
  step "$1" $(($3 + 5)) "$programs/tcc-worker" --batch "$2" --ordinal "$ordinal" \
    --results "$files/$(basename "$2" .tccb).batch.jsonl" --seconds "$3"
}

# Kernels whose results are known, of which a wrong one is told; then a small network and the first
# candidates: where these do not run, nothing does.
begin_campaign() {
  local first
  run_twins "$files/twins.json"
  first=$(list_batches | head -n 1)
  if [ -n "$nvrtc$text${TCC_CACHE_DIR:-}" ]; then
    "$tcc" zoo export dqn --small -o "$work/dqn.onnx" >>"$log" 2>&1
    step 'check dqn' 60 "$tcc" check "$work/dqn.onnx" --target "$target" ${text:+--emulate} ||
      return 1
  else
    skipped 'check dqn' 'neither NVRTC nor compiled programs'
  fi
  [ -z "$first" ] || measure_batch 'first candidates' "$first" "${text:+1}5"
}

calibrate() {
  step calibrate "$(part 1)" "$bench" calibrate --target "$target" $text $quick \
    --json "$files/calibration.json"
}

measure_and_import() {
  local name
  name=$(basename "$1" .tccb)
  measure_batch "batch $name" "$1" "$2"
  [ ! -s "$files/$name.batch.jsonl" ] ||
    step "import $name" 20 "$tcc" db import "$database" "$files/$name.batch.jsonl" --batch "$1"
}
batches() {
  local paths
  mapfile -t paths < <(list_batches)
  [ ${#paths[@]} -gt 0 ] || skipped batches "none in $batches"
  each measure_and_import "${paths[@]}"
}

# search NAME NETWORK SECONDS OPTIONS...: a search into the database; three tenths of the time are
# for what it does before and after.
search() {
  local name=$1 network=$2 limit=$3 budget="--time-budget $(($3 * 7 / 10 + 1))s"
  [ -z "$quick" ] || budget='--trials 1'
  shift 3
  step "$name $network" "$limit" "$tcc" tune "$(model_of "$network")" --target "$target" \
    --device "cuda:$ordinal" --db "$database" --run "$runs/$name-$network" --progress plain \
    $budget "$@"
}

# Drawn points alone, one network after the other.
sample_network() { search sample "$1" "$2" --searcher random; }
sample() { each sample_network $networks; }

tune_network() {
  local network=$1 step_end=$((SECONDS + $2)) path=$work/$1.tcc
  local model_file
  model_file=$(model_of "$network")
  search tune "$network" $(($2 * 7 / 10 + 1))
  if [ -n "$text" ]; then
    step "check tuned $network" "$(part 1)" "$tcc" check "$model_file" --target "$target" \
      --db "$database" --emulate
    return
  fi
  step "compile $network" "$(part 1)" "$tcc" compile "$model_file" --target "$target" \
    --db "$database" --progress none -o "$path" &&
    step "bench $network" "$(part 1)" "$tcc" bench "$path" --json &&
    step "check tuned $network" "$(part 1)" "$tcc" check "$model_file" "$path" --progress none
}
tune() { each tune_network $tuned; }

torch() {
  local network ours=()
  if [ -n "$text" ]; then
    skipped torch 'PyTorch knows no emulated driver'
  elif ! python3 -c 'import importlib.util as i; exit(not i.find_spec("torch"))' 2>>"$log"; then
    skipped torch 'python3 has no torch'
  else
    for network in $tuned; do ours+=("$network=$work/$network.tcc"); done
    step torch "$(part 1)" python3 "$here/torch_networks.py" --tcc "$tcc" \
      --json "$files/torch.json" --markdown "$files/torch.md" "${ours[@]}"
  fi
}

suite() {
  step "suite $1" "$2" "$bench" kernels --suite "$1" --target "$target" $text \
    ${quick:+--quick --rounds 1} --seconds $(($2 * 7 / 10 + 1)) --json "$files/$1.rows.json" \
    --markdown "$files/$1.md"
}
peers() { each suite $suites; }

# The files into the archive, without the largest ones where it would have too much.
write_archive() {
  local packed=$out/results.tar.xz.part left_out=() largest
  : >"$work/left_out"
  while tar -C "$out" "${left_out[@]}" -cf - files | xz -1 -T0 >"$packed" &&
    [ "$(stat -c %s "$packed")" -gt $archive_bytes ]; do
    largest=$(cd "$out" && find files -type f -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2- |
      sed -n "$((${#left_out[@]} + 1))p")
    echo "left out of the archive: $largest" >>"$work/left_out"
    left_out+=("--exclude=$largest")
  done
  mv "$packed" "$out/results.tar.xz"
}

# All that is known by now, into both files.
write_results() {
  local table
  cp "$log" "$files/log.txt"
  {
    printf '{"date": %s,\n"device": %s,\n"target": %s,\n"driver": %s,\n' \
      "$(quoted "$(date -u +%FT%TZ)")" "$(quoted "$model")" "$(quoted "$target")" \
      "$(quoted "${driver:-unknown}")"
    printf '"clocks": %s,\n"doctor": %s,\n"devices": %s,\n"steps": [%s]}\n' "$(clocks)" \
      "$(cat "$work/doctor.json")" "$(cat "$work/devices.json")" "$(cat "$steps")"
  } >"$files/run.json"
  write_archive
  {
    printf '# %s, %s, driver %s, %s\n\n' "$model" "$target" "${driver:-unknown}" "$(date -u +%F)"
    cat "$alarm"
    echo '```'
    cat "$said" "$work/left_out"
    [ ! -e "$database" ] || "$tcc" db stats "$database" 2>&1
    echo '```'
    for table in "$files"/*.md; do
      [ ! -s "$table" ] || { printf '\n## %s\n\n' "$(basename "$table" .md)"; cat "$table"; }
    done
  } >"$out/report.md.part"
  mv "$out/report.md.part" "$out/report.md"
}

step_end=$end
[ -n "$nvrtc" ] || skipped 'sample and tune' "no NVRTC that compiles for $target"
write_results
if begin_campaign; then
  write_results
  entries=$(plan) weights=0
  for entry in $entries; do weights=$((weights + ${entry#*:})); done
  for entry in $entries; do
    weight=${entry#*:}
    step_end=$((SECONDS + (end - SECONDS) * weight / weights)) weights=$((weights - weight))
    [ -n "$stopped" ] || "${entry%:*}"
    write_results
  done
  [ ! -e "$database" ] ||
    step export "$closing" "$tcc" db export "$database" -o "$files/campaign.jsonl"
else
  echo 'nothing runs here: the campaign ends' | tee -a "$said"
fi
[ -z "$stopped" ] || echo 'ended from outside' | tee -a "$said"
write_results && rm -r "$files"
[ $failed -eq 0 ] && echo 'all steps went well' || echo "some steps failed; see $out/report.md"
exit $failed
