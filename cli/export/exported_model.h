#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/export/kernel_image.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// A compiled model on its way to C sources.
struct ExportedModel {
  std::string name;  // a C identifier, which all names and files begin with: "resnet50"
  Artefact artefact;
  KernelImage image = {};        // without bytes if the model has no kernels
  int64_t scratch_bytes = 0;     // the most that the kernels of one thread hold
  uint32_t math_functions = 0;   // bit f: some kernel calls TCC_MATH code f
  bool threads = false;          // whether the caller may run loops on several threads
  bool weights_in_file = false;  // whether the caller provides the weights

  bool HasKernels() const { return !image.bytes.empty(); }
  bool HasWeights() const { return !artefact.weights.bytes.empty(); }
};

// Checks that the model has C sources and reads what they are made of. Unimplemented: it runs on
// another device, or has free dimensions.
StatusOr<ExportedModel> MakeExportedModel(std::string name, Artefact artefact);

// Checks that a program can hold the weights that are to be linked into it.
Status CheckWeightsFit(const ExportedModel& model);

// A file of the export. The views live as long as the model and the texts that they show.
struct ExportedFile {
  std::string name;
  std::string text;
  std::span<const uint8_t> bytes = {};  // the content of a binary file
};

// Returns the files of the export in the order of the documentation (docs/export.md).
std::vector<ExportedFile> ExportedFiles(const ExportedModel& model);

// Returns the content of NAME.c: the plan as a C function.
std::string PlanSource(const ExportedModel& model);
// Returns the part of it that kernels call and are called by, and the statements that make it the
// variable `runtime` of a run.
std::string RuntimeSource(const ExportedModel& model);
std::string RuntimeVariable(const ExportedModel& model);
// Returns the content of main.c: a program that runs the model on zeros.
std::string MainSource(const ExportedModel& model);

// Replaces @name@, @NAME@, other facts of the model and each given "@key@" in a text.
std::string Filled(std::string_view text, const ExportedModel& model,
                   const std::vector<std::pair<std::string, std::string>>& values = {});

// Returns text that may stand in a C comment.
std::string InComment(std::string_view text);

}  // namespace tcc
