#!/usr/bin/env bash
# usage: host_compiler.sh OPTION... FOLDER/NAME.cc -o FOLDER/NAME.so OPTION...
#
# The host compiler of the emulator (TCC_HOST_CXX) while tests run: g++, which is asked once for each
# text with its header and options. The object is kept in the folder $TCC_TEST_OBJECTS for all tests of
# a run and for later runs; the folder may be deleted at any time. A refused text is compiled each time.
set -euo pipefail

text='' object='' previous=''
for word in "$@"; do
  [[ $word != *.cc ]] || text=$word
  [ "$previous" != -o ] || object=$word
  previous=$word
done
folder=${text%/*}
header=$folder/tcc_emulator.h
kept=${TCC_TEST_OBJECTS:-}
if [ -z "$kept" ] || [ -z "$object" ] || [ ! -f "$header" ]; then exec g++ "$@"; fi

# Everything that decides what the compiler makes; -march=native asks the processor.
key=$({ echo "${*//"$folder"/}"
        stat -L -c '%n %s %Y' "$(type -P g++)"
        grep -m 1 '^flags' /proc/cpuinfo
        cat "$text" "$header"; } | sha256sum)
key=$kept/${key%% *}.so
# Copied, not linked: a process that opens one file twice gets one object.
if cp "$key" "$object" 2>/dev/null; then exit 0; fi

g++ "$@"
# A file appears whole or not at all.
mkdir -p "$kept" && cp "$object" "$key.$$" && mv "$key.$$" "$key" || true
