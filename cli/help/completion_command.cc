#include <fmt/core.h>

#include <memory>

#include "cli/command.h"

namespace tcc {
namespace {

// Both scripts ask the program itself by kCompleteWords, so that they fit any version of it.
// bash splits words at '=' and replaces what follows the last one: they are joined here, and
// answers are cut.
constexpr const char* kBash = R"sh(# Completion of tcc for bash: source <(tcc completion bash)
_tcc() {
  local i word kind value suffixes= files= folders= cut= IFS=$'\n'
  local -a words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $COMP_WORDBREAKS == *=* ]] &&
      [[ $word == =* || ${COMP_WORDS[i - 1]} == *= ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  word=${words[${#words[@]} - 1]}
  if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then cut=${word%=*}=; fi
  COMPREPLY=()
  while IFS=$'\t' read -r kind value _; do
    case $kind in
      word) COMPREPLY+=("${value#"$cut"}") ;;
      files) files=1 suffixes+="${value:+|*.$value}" ;;
      folders) folders=1 ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  [[ $files || $folders ]] || return 0
  compopt -o filenames 2>/dev/null
  word=${word##*=}
  while read -r value; do
    if [[ -d $value ]] || [[ $files && (! $suffixes || $value == @(${suffixes#|})) ]]; then
      COMPREPLY+=("$value")
    fi
  done < <(compgen -f -- "${word/#\~/$HOME}")
}
complete -F _tcc tcc
)sh";

constexpr const char* kZsh = R"sh(#compdef tcc
# Completion of tcc for zsh: source <(tcc completion zsh), or this file as _tcc in $fpath
_tcc() {
  local kind value description files folders
  local -a shown suffixes
  while IFS=$'\t' read -r kind value description; do
    case $kind in
      word) shown+=("${value//:/\\:}${description:+:$description}") ;;
      files) files=1; [[ -n $value ]] && suffixes+=("*.$value") ;;
      folders) folders=1 ;;
    esac
  done < <(${(Q)~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (($#shown)) && _describe tcc shown
  [[ -n $files$folders ]] || return 0
  compset -P '*='
  if [[ -z $files ]]; then
    _files -/
  elif (($#suffixes)); then
    _files -g "${(j: :)suffixes}"
  else
    _files
  fi
}
if [[ $zsh_eval_context == *loadautofunc* ]]; then _tcc "$@"; else compdef _tcc tcc; fi
)sh";

}  // namespace

Action DeclareCompletion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  line.AddOption("shell", *shell, "Shell that evaluates the script: source <(tcc completion bash)")
      .Required()
      .TypeName("bash|zsh")
      .OneOf({"bash", "zsh"});
  return [shell] {
    fmt::print("{}", *shell == "zsh" ? kZsh : kBash);
    return OkStatus();
  };
}

}  // namespace tcc
