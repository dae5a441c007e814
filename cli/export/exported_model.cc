#include "cli/export/exported_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli/kernel_facts.h"
#include "cli/readable_units.h"

namespace tcc {
namespace {

// The most weights that fit a program whose code reaches all of its data with 32-bit distances, and
// some room for the rest of the program.
constexpr uint64_t kMaxLinkedWeights = (uint64_t{1} << 31) - (uint64_t{1} << 26);

Status CheckIsStaticOnCpu(const Artefact& artefact) {
  if (artefact.device != "cpu") {
    return Unsupported(
        "the model is compiled for '{}', whose kernels are no code of a CPU; "
        "expected one that is compiled for a CPU",
        artefact.target);
  }
  const Metadata& metadata = artefact.metadata;
  if (metadata.shape_variables.empty() && artefact.plan.lets.empty()) return OkStatus();
  return Unsupported(
      "the model has free dimensions ({}), and memory in C has fixed sizes; compile it with --dim "
      "NAME=SIZE",
      fmt::join(metadata.ShapeVariableNames(), ", "));
}

// Sums up what the kernels need of the runtime.
Status AddNeeds(ExportedModel& model) {
  for (const KernelInfo& kernel : model.artefact.metadata.kernels) {
    std::optional<int64_t> scratch = StatisticOf(kernel, "scratch_bytes");
    std::optional<int64_t> math = StatisticOf(kernel, "math_functions");
    if (!scratch || !math) {
      return InvalidInput(
          "kernel '{}' does not say what scratch memory it needs: the artefact was "
          "written by an older tcc; compile the model again",
          kernel.name);
    }
    if (*scratch == INT64_MAX) {
      return Unsupported("kernel '{}' needs scratch memory of no fixed size", kernel.name);
    }
    model.scratch_bytes = std::max(model.scratch_bytes, *scratch);
    model.math_functions |= static_cast<uint32_t>(*math);
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExportedModel> MakeExportedModel(std::string name, Artefact artefact) {
  TCC_RETURN_IF_ERROR(CheckIsStaticOnCpu(artefact));
  ExportedModel model;
  model.name = std::move(name);
  model.artefact = std::move(artefact);
  TCC_RETURN_IF_ERROR(AddNeeds(model));
  std::vector<std::string> names;
  for (const KernelInfo& kernel : model.artefact.metadata.kernels) names.push_back(kernel.name);
  // A model that only passes values on has no code.
  if (names.empty()) return model;
  TCC_ASSIGN_OR_RETURN(model.image, ReadKernelImage(model.artefact.kernels.bytes, names));
  return model;
}

Status CheckWeightsFit(const ExportedModel& model) {
  uint64_t bytes = model.artefact.weights.bytes.size();
  if (model.weights_in_file || bytes <= kMaxLinkedWeights) return OkStatus();
  return UsageError(
      "{} of weights do not fit into a program, which takes {}; expected --weights file",
      ReadableBytes(bytes), ReadableBytes(kMaxLinkedWeights));
}

}  // namespace tcc
