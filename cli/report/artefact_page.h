#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/profile.h"
#include "compiler/notes.h"

namespace tcc {

// The times of kernels on this machine.
struct KernelTimes {
  std::string machine;  // "2 threads of Intel(R) Xeon(R) ..."
  std::string warning;  // that other processes were busy; "" if they were not
  DevicePeaks peaks;
  std::vector<KernelTime> kernels;  // in a run, by their places in the metadata
};

// Runs the artefact on random inputs and times its kernels.
StatusOr<KernelTimes> TimeKernels(const Artefact& artefact, int threads);

// Returns a page of HTML that shows an artefact: facts, kernels, their roofline, arena, graph and
// schedules, as far as it has notes and was timed.
std::string ArtefactPage(const Artefact& artefact, const std::optional<Notes>& notes,
                         const std::optional<KernelTimes>& times);

// A part of the page, in artefact_sections.cc or artefact_plots.cc; "" if there is nothing to show.
struct ArtefactView {
  const Artefact& artefact;
  const Notes* notes = nullptr;
  const KernelTimes* times = nullptr;
  std::vector<std::string> families;  // the sketches of the kernels, by colour
};
std::string SummarySection(const ArtefactView& view);
std::string GraphSection(const ArtefactView& view);
std::string KernelSection(const ArtefactView& view);
std::string RooflineSection(const ArtefactView& view);
std::string ArenaSection(const ArtefactView& view);
std::string KernelScheduleSection(const ArtefactView& view);

// Returns the colour of a kernel's family.
std::string FamilyStyle(const ArtefactView& view, size_t kernel);

}  // namespace tcc
