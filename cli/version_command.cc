#include <fmt/core.h>

#include "cli/command.h"
#include "runtime/artefact/artefact.h"
#include "support/target.h"
#include "support/version.h"

namespace tcc {

std::string VersionText() {
  std::string text =
      fmt::format("tcc {}\nartefact version {}\ntargets", kVersion, kArtefactVersion);
  for (const Target& target : AllTargets()) text += " " + target.name;
  return text;
}

Action DeclareVersion(CommandLine&) {
  return [] {
    fmt::print("{}\n", VersionText());
    return OkStatus();
  };
}

}  // namespace tcc
