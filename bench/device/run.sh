#!/usr/bin/env bash
# usage: run.sh [--seconds N] [--grace N] [--only tests|suites] [--suites A,B,...] [--out DIR]
#               [--programs DIR] [--quick] [--text]
#        run.sh --list-suites TARGET
#
# Everything that is to be known of a GPU, in one go: doctor, tests, a profile, sanitizer,
# calibration, suites.
# The suites take about N seconds in all (default 240), what is before them some minutes at most;
# --only does one part, where commands may not take long. A suite begins no operator once its share
# of the time is spent, and is ended --grace seconds (default 300) after that. NAME:MODE is a suite
# in a numeric mode (tcc-bench --numeric), matmul:tf32. By default matrix products are measured in the
# modes that the device has tensor cores for, beside the strict suites, but not in 3xtf32 on sm_86 and
# sm_89, where it takes longer than strict: --list-suites prints them.
# DIR of --out (default: results/DEVICE beside this file) gets
#
#   run.json     date, device, driver, clocks before and after each suite, every step with its exit
#                code and time, results of tcc-twins, the calibration, all rows of the suites
#   report.md    the suites as tables
#   log.txt      what every step printed
#   trace.json   a run of a network as CUPTI saw it, for Perfetto
#
# They are written after every suite, and when the run is ended (SIGTERM); where it is killed, the
# rows of the suite at hand are in NAME.rows.json.
#
# The programs (tcc, tcc-bench, tests) are those of --programs, else of bin/ beside this file (as
# pack.sh lays it out), else of build/release/portable. --quick only sees that all of it works;
# --text is for the emulated driver (TCC_CUDA_DRIVER), which compute-sanitizer and CUPTI cannot
# watch. COMPUTE_SANITIZER names another one than that of the path, the toolkit or Python's wheel.
# Ends with 0 if all steps went well.
#
# The card's settings are left as they are: nvidia-smi is only asked.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"

seconds=240 grace=300 only='' out='' programs='' quick='' text=''
suites=''
is_known() { [[ $1 =~ ^sm_(75|80|86|89|90a)$ ]]; }
# Three products of tf32 take longer than a strict one on sm_86 and sm_89.
default_suites() {
  local modes mode
  case $1 in
    sm_75) modes=fp16 ;;
    sm_86|sm_89) modes='fp16 bf16 tf32' ;;
    *) modes='fp16 bf16 tf32 3xtf32' ;;
  esac
  printf 'resnet50,matmul'
  for mode in $modes; do printf ',matmul:%s' "$mode"; done
  echo ,rows,attention,mobilenet_v2,roller,networks
}
while [ $# -gt 0 ]; do
  case $1 in
    --seconds|--grace|--only|--out|--programs|--suites|--list-suites) [ $# -ge 2 ] || usage "$1 needs a value" ;;&
    --seconds) seconds=$2; shift ;;
    --grace) grace=$2; shift ;;
    --only) only=$2; shift ;;
    --out) out=$2; shift ;;
    --programs) programs=$2; shift ;;
    --suites) suites=$2; shift ;;
    --list-suites)
      is_known "$2" || usage "'$2' is no target; expected sm_75, sm_80, sm_86, sm_89 or sm_90a"
      default_suites "$2"; exit 0 ;;
    --quick) quick=--quick ;;
    --text) text=--text ;;
    *) usage "there is no option '$1'" ;;
  esac
  shift
done
[[ $only =~ ^(|tests|suites)$ ]] || usage "--only is '$only'; expected tests or suites"
is_seconds "$seconds"
is_seconds "$grace"
find_programs
open_work
results=$work/results report=$work/report.md
: >"$results"; : >"$report"
find_device
suites=${suites:-$(default_suites "$target")}
out=${out:-$here/results/$(tr -c 'a-zA-Z0-9\n' '_' <<<"$model")}
mkdir -p "$out" || exit 1
echo "$model, $target, driver ${driver:-unknown}; results in $out"

# A network under CUPTI: times of its kernels, and counters where the user may read them.
profile() {
  local network=$1
  if [ -n "$text" ]; then
    skipped profile 'tcc compile makes no CUDA text, and CUPTI watches real drivers only'
    return
  fi
  step "compile $network" 100 "$tcc" compile "$work/$network.onnx" --target "$target" \
    --progress plain -o "$work/$network.tcc" &&
    step profile 100 "$tcc" bench "$work/$network.tcc" --iterations 10 --profile --counters \
      --trace "$out/trace.json" --json
}

# Tests that run on a device: kernels whose results are known, before all else; random functions in
# all types against the interpreter; networks; one operator of each kind.
tests() {
  run_twins "$work/twins.json"
  points=500
  [ -n "$quick" ] && points=5
  step "tcc-fuzz cuda" 200 "$programs/tcc-fuzz" cuda --device $text --points $points
  for network in $("$tcc" zoo list | awk -v quick="$quick" '{print $1} quick {exit}'); do
    "$tcc" zoo export "$network" --small -o "$work/$network.onnx" >>"$log" 2>&1
    step "check $network" 100 "$tcc" check "$work/$network.onnx" --target "$target" \
      ${text:+--emulate}
  done
  [ -n "$quick" ] || network=resnet50
  profile "$network"
  step "smoke" 200 "$bench" kernels --suite smoke --target "$target" $text \
    ${quick:+--quick --rounds 1}

  # Out-of-bounds accesses, races, missing barriers, unwritten memory.
  sanitizer=${COMPUTE_SANITIZER:-}
  [ -n "$sanitizer" ] || [ -n "$text" ] ||
    sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer \
    "${TCC_VENV:-/nowhere}"/lib/python3*/site-packages/nvidia/*/{bin,compute-sanitizer}/compute-sanitizer \
    2>/dev/null | head -n 1)
  if [ -n "$sanitizer" ]; then
    for tool in memcheck racecheck synccheck initcheck; do
      step "compute-sanitizer $tool" 120 "$sanitizer" --tool $tool --error-exitcode 9 \
        "$bench" kernels --suite smoke --target "$target" $text --quick --rounds 1 --peer none
    done
  else
    skipped compute-sanitizer 'not found, or not for this driver'
  fi
}
# All that is known by now, to the folder.
write_results() {
  {
    printf '{"date": %s,\n"device": %s,\n"target": %s,\n"driver": %s,\n"system": %s,\n' \
      "$(quoted "$(date -u +%FT%TZ)")" "$(quoted "$model")" "$(quoted "$target")" \
      "$(quoted "${driver:-unknown}")" "$(quoted "$(uname -srm)")"
    printf '"clocks": %s,\n"doctor": %s,\n"devices": %s,\n"twins": %s,\n"calibration": %s,\n' \
      "$(clocks)" "$(cat "$work/doctor.json")" "$(cat "$work/devices.json")" \
      "$(cat "$work/twins.json" 2>/dev/null || echo null)" \
      "$(cat "$work/calibration.json" 2>/dev/null || echo null)"
    printf '"steps": [%s],\n"suites": {%s}}\n' "$(cat "$steps")" "$(cat "$results")"
  } >"$work/run.json"
  { printf '# %s, %s, driver %s, %s\n\n' "$model" "$target" "${driver:-unknown}" "$(date -u +%F)"
    cat "$alarm" "$report"; } >"$work/whole_report.md"
  cp "$log" "$out/log.txt" && cp "$work/whole_report.md" "$out/report.md" &&
    cp "$work/run.json" "$out/run.json"
}

# suite NAME[:MODE] SECONDS: its operators, as far as they get.
suite() {
  local name=$1 share=$2 before mode='' rows=$out/${1/:/.}.rows.json table=$out/${1/:/.}.rows.md
  [[ $name != *:* ]] || mode=${name#*:}
  rm -f "$rows"* "$table"*
  before=$(clocks)
  step "suite $name" $((share + grace)) "$bench" kernels --suite "${name%%:*}" --target "$target" \
    $text ${mode:+--numeric "$mode"} ${quick:+--quick --rounds 1} --seconds "$share" --json "$rows" --markdown "$table"
  { [ ! -s "$results" ] || echo ','
    printf '%s: {"clocks_before": %s, "clocks_after": %s, "rows": ' "$(quoted "$name")" "$before" "$(clocks)"
    cat "$rows" 2>/dev/null || echo '[]'
    echo '}'; } >>"$results"
  { echo "## $name"; echo; cat "$table" 2>/dev/null; echo; } >>"$report"
  write_results && rm -f "$rows"* "$table"*
}

[ "$only" = suites ] || tests
step calibrate 200 "$bench" calibrate --target "$target" $text $quick --json "$work/calibration.json"
write_results

# Each suite gets an equal share of what is left.
IFS=, read -ra names <<<"$suites"
[ "$only" != tests ] || names=()
end=$((SECONDS + seconds))
for i in "${!names[@]}"; do
  [ -z "$stopped" ] || break
  share=$(((end - SECONDS) / (${#names[@]} - i)))
  suite "${names[$i]}" $((share >= 1 ? share : 1))
done
[ -z "$stopped" ] || echo "ended from outside"
[ $failed -eq 0 ] && echo "all steps went well" || echo "some steps failed; see $out/log.txt"
exit $failed
