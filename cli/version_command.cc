#include <fmt/core.h>

#include "api/version.h"
#include "cli/command.h"
#include "ir/target.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

Action DeclareVersion(CLI::App&) {
  return [] {
    fmt::print("tcc {}\nartefact version {}\ntargets", kVersion, kArtefactVersion);
    for (const Target& target : AllTargets()) fmt::print(" {}", target.name);
    fmt::print("\n");
    return OkStatus();
  };
}

}  // namespace tcc
