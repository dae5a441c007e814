#!/usr/bin/env bash
# Programs, device and steps of a run on a machine with a GPU. run.sh and campaign.sh source this
# with `here`, their folder, and set `programs` to the value of --programs. `log` gets what every
# step prints, `steps` what became of it as JSON, `said` the lines for people; `failed` is 1 once a
# step failed, `stopped` once the run was ended from outside.
failed=0 child='' stopped=''

# Refuses an option, and prints the head of the script.
usage() {
  echo "${0##*/}: $1" >&2
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

is_seconds() { [[ $1 =~ ^[0-9]+$ ]] || usage "'$1' is no number of seconds"; }

# Sets programs, tcc and bench: of --programs, else of bin/ beside the script, else of this tree.
find_programs() {
  if [ -z "$programs" ]; then
    programs=$here/bin
    [ -x "$programs/tcc" ] || programs=$here/../../build/release/portable
  fi
  tcc=$programs/tcc bench=$programs/tcc-bench
  if [ ! -x "$tcc" ] || [ ! -x "$bench" ]; then
    echo "${0##*/}: no tcc and tcc-bench in $programs;" \
      "build tcc_portable and tcc-bench_portable or name --programs" >&2
    exit 5
  fi

  # Compiled programs of the pack; and libraries of the Python that is there, as wheels have them.
  if [ -z "${TCC_CACHE_DIR:-}" ] && [ -d "$here/cache" ]; then export TCC_CACHE_DIR=$here/cache; fi
  if [ -z "${TCC_VENV:-}" ] && command -v python3 >/dev/null; then
    TCC_VENV=$(python3 -c 'import sys; print(sys.prefix)') && export TCC_VENV
  fi
}

# Makes the folder of a run, which goes with it.
open_work() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  log=$work/log.txt steps=$work/steps said=$work/said alarm=$work/alarm
  : >"$log"; : >"$steps"; : >"$said"; : >"$alarm"
  trap stop TERM INT HUP
}

# Who ends this run ends the step at hand; what comes after it is left out.
stop() {
  stopped=1 failed=1
  [ -z "$child" ] || kill "$child"
}

# A JSON string.
quoted() { printf '"%s"' "$(tr '\n\t' '  ' <<<"$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/ *$//')"; }

# step NAME SECONDS COMMAND...: runs it so long at most, into the log; its exit code, its time and
# whether that was too short become part of the results.
step() {
  local name=$1 limit=$2 begin taken code ended=false
  shift 2
  [ -z "$stopped" ] || return 1
  echo "== $name: $*" >>"$log"
  begin=$(date +%s.%N)
  timeout --kill-after 10 "$limit" "$@" >>"$log" 2>&1 &
  child=$!
  # A signal ends the first wait, not the step.
  wait $child; code=$?
  while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
  child=''
  taken=$(awk "BEGIN {print $(date +%s.%N) - $begin}")
  # What does not heed timeout's first signal is killed by its second.
  if [ $code -eq 124 ] || { [ $code -eq 137 ] && awk "BEGIN {exit !($taken >= $limit)}"; }; then
    ended=true
    echo "$name: ended after $limit s" >>"$log"
  fi
  printf '%s{"name": %s, "exit": %d, "seconds": %.1f, "timed_out": %s, "last_line": %s}' \
    "$([ -s "$steps" ] && echo ', ')" "$(quoted "$name")" "$code" "$taken" "$ended" \
    "$(quoted "$(tail -n 1 "$log" | cut -c 1-200)")" >>"$steps"
  printf '%-28s exit %d, %5.1f s%s\n' "$name" "$code" "$taken" "$([ $ended = false ] || echo ', timed out')" |
    tee -a "$said"
  [ $code -eq 0 ] || failed=1
  return $code
}

# run_twins FILE: kernels whose exact results are known (tcc-twins), with their results as JSON. Where
# they are not all right, `alarm` gets what is to stand at the head of a report; later steps are done
# all the same.
run_twins() {
  local begin
  begin=$(wc -l <"$log")
  step tcc-twins "${text:+2}60" "$programs/tcc-twins" $text --json "$1" && return
  {
    echo '**tcc-twins failed: kernels that rely on what is wrong here cannot be trusted.**'
    echo
    tail -n +$((begin + 2)) "$log" | grep -Ev ' ok$|not applicable: ' | sed 's/^/    /'
    echo
  } | tee "$alarm"
}

skipped() {
  echo "$1: skipped, $2" | tee -a "$log" "$said"
  printf '%s{"name": %s, "skipped": true}' "$([ -s "$steps" ] && echo ', ')" "$(quoted "$1")" >>"$steps"
}

# What nvidia-smi says of the device; nothing without it. It counts all devices, by their place on
# the bus: CUDA numbers those that CUDA_VISIBLE_DEVICES names, and where they differ in speed the
# numbers are the same only with CUDA_DEVICE_ORDER=PCI_BUS_ID.
query() {
  local id=$ordinal visible
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    IFS=', ' read -ra visible <<<"$CUDA_VISIBLE_DEVICES"
    id=${visible[$ordinal]:-none}
  fi
  nvidia-smi --id="$id" --query-gpu="$1" --format=csv,noheader 2>/dev/null
}

# Clocks, power and temperature as they are now; null without nvidia-smi.
clocks() {
  local fields=clocks.sm,clocks.mem,power.draw,temperature.gpu,pstate line
  line=$(query $fields) || line=''
  [ -n "$line" ] && quoted "$fields: $line" || echo null
}

field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | head -n 1; }

# Sets ordinal, model, target and driver of the first CUDA device, or that of TCC_CUDA_DEVICE.
find_device() {
  timeout 60 "$tcc" doctor --json >"$work/doctor.json" 2>>"$log" || echo "doctor: exit $?" >>"$log"
  timeout 60 "$tcc" devices --json >"$work/devices.json" 2>>"$log"
  if ! grep -q '"cuda"' "$work/devices.json"; then
    echo "${0##*/}: no GPU: $(timeout 60 "$tcc" doctor 2>/dev/null | grep 'NVIDIA driver')" >&2
    exit 5
  fi
  ordinal=${TCC_CUDA_DEVICE:-0}
  device_json=$(sed -n "/\"ordinal\": $ordinal,/,/}/p" "$work/devices.json")
  model=$(field model <<<"$device_json") target=$(field target <<<"$device_json")
  if [ "$target" = none ] || [ -z "$target" ]; then
    echo "${0##*/}: no target has code for $model" >&2
    exit 5
  fi
  driver=$(query driver_version) || driver=''
}
