#include "cli/report/artefact_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/bench/cpu_activity.h"
#include "cli/readable_units.h"
#include "cli/report/page.h"
#include "compiler/check/random_inputs.h"
#include "compiler/devices/reference_device.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

// The runs of which the fastest counts.
constexpr int kTimedRuns = 20;

using Section = std::string (*)(const ArtefactView& view);

// In the order of the page.
constexpr Section kSections[] = {SummarySection, KernelSection, RooflineSection,
                                 ArenaSection,   GraphSection,  KernelScheduleSection};

std::vector<std::string> FamiliesOf(const Notes* notes) {
  std::vector<std::string> families;
  if (notes == nullptr) return families;
  for (const KernelNotes& kernel : notes->kernels) {
    if (std::ranges::find(families, kernel.sketch) == families.end()) {
      families.push_back(kernel.sketch);
    }
  }
  return families;
}

std::string MachineOf(const Module& module) {
  if (!module.kernels().gpu.empty()) return module.kernels().gpu;
  std::string cpu = CpuModelName();
  return fmt::format("{} of {}", Counted(static_cast<size_t>(module.pool()->threads()), "thread"),
                     cpu.empty() ? "a CPU" : cpu);
}

}  // namespace

StatusOr<KernelTimes> TimeKernels(const Artefact& artefact, int threads) {
  LoadOptions load;
  load.threads = threads;
  load.devices = AllDevices();
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(artefact, load));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, RandomInputs(module.metadata(), 0));
  Executor executor(module);
  auto run = [&] { return executor.Run(inputs).status(); };
  TCC_RETURN_IF_ERROR(run());
  const CpuActivity before = ActivityNow();
  TCC_ASSIGN_OR_RETURN(Profile profile, ProfileRuns(executor, run, kTimedRuns));
  return KernelTimes{.machine = MachineOf(module),
                     .warning = BusyWarning(PercentOfOthers(before, ActivityNow())),
                     .peaks = profile.peaks,
                     .kernels = FastestTimes(profile, artefact.metadata.kernels.size())};
}

std::string FamilyStyle(const ArtefactView& view, size_t kernel) {
  auto family = std::ranges::find(view.families, view.notes->kernels[kernel].sketch);
  return ColourStyle(static_cast<size_t>(family - view.families.begin()));
}

std::string ArtefactPage(const Artefact& artefact, const std::optional<Notes>& notes,
                         const std::optional<KernelTimes>& times) {
  ArtefactView view{.artefact = artefact,
                    .notes = notes ? &*notes : nullptr,
                    .times = times ? &*times : nullptr,
                    .families = FamiliesOf(notes ? &*notes : nullptr)};
  std::string content;
  for (Section section : kSections) content += section(view);
  return HtmlPage("Compiled model " + artefact.metadata.model, view.families.size(), content);
}

}  // namespace tcc
