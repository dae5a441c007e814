#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/diff/compare_times.h"
#include "cli/diff/match_kernels.h"
#include "compiler/notes.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// A compiled model under its file's name.
struct NamedArtefact {
  std::string file;
  Artefact artefact;
  std::vector<KernelNotes> kernels;  // from its notes, in the order of the metadata; empty without
};

// The differences of two compiled models.
struct DiffReport {
  const NamedArtefact& a;
  const NamedArtefact& b;
  std::vector<KernelMatch> matches;
  bool schedules = false;  // whether the text has the steps that differ
  int rounds = 0;          // of the times
  std::optional<TimeComparison> times;
};

// Prints the facts of both and the kernels that differ; with times, all kernels by the time that B
// loses with them. The last line says how the two compare as wholes.
void PrintDiffText(const DiffReport& report);

// Prints an object of schema tcc.diff/1.
void PrintDiffJson(const DiffReport& report);

}  // namespace tcc
