#include "runtime/executor/module.h"

#include <fmt/ranges.h>

#include <vector>

#include "runtime/executor/huge_weights.h"
#include "support/printable.h"

namespace tcc {
namespace {

StatusOr<DeviceRow> FindDevice(const std::string& name, std::span<const DeviceRow> devices) {
  std::vector<std::string_view> known;
  for (const DeviceRow& row : devices) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  return Missing(
      "the artefact's kernels run on device '{}', which this runtime does not have; it "
      "has {}",
      name, fmt::join(known, ", "));
}

}  // namespace

StatusOr<Module> Module::Load(const std::string& path, const LoadOptions& options) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(path));
  // Other devices have memory of their own.
  if (artefact.device == "cpu" && !options.map_weights) MoveWeightsToHugePages(artefact);
  StatusOr<Module> module = FromArtefact(std::move(artefact), options);
  if (!module.ok()) return Annotate(module.status(), path);
  return module;
}

StatusOr<Module> Module::FromBytes(SharedBytes file, const LoadOptions& options) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ParseArtefact(std::move(file)));
  return FromArtefact(std::move(artefact), options);
}

StatusOr<Module> Module::FromArtefact(Artefact artefact, const LoadOptions& options) {
  TCC_RETURN_IF_ERROR(VerifyArtefact(artefact));
  TCC_ASSIGN_OR_RETURN(DeviceRow row, FindDevice(artefact.device, options.devices));
  auto state = std::make_shared<State>();
  state->artefact = std::move(artefact);
  state->pool = options.pool;
  if (!state->pool) {
    state->pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = options.threads});
  }
  state->device = row.make({.pool = state->pool, .ordinal = options.ordinal});
  StatusOr<LoadedKernels> kernels = state->device->LoadKernels(state->artefact);
  if (!kernels.ok()) return PrintableStatus(kernels.status());
  state->kernels = *std::move(kernels);
  return Module(std::move(state));
}

}  // namespace tcc
