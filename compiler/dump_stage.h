#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"

namespace tcc {

// A stage of a compilation that can be seen as text.
enum class Stage : uint8_t { kGraph, kFused, kTensor, kScheduled, kLowered, kSource, kPtx, kAsm };

struct StageRow {
  Stage stage;
  std::string_view name;
  std::string_view shows;
};
std::span<const StageRow> Stages();
// Fails with FailedPrecondition and the list of names.
StatusOr<Stage> FindStage(std::string_view name);

struct DumpOptions {
  Target target;
  Stage stage = Stage::kGraph;
  std::string task;  // only this one (of a stage that has tasks); "" for all
  int threads = 1;
  // Reads back what was printed and compares: text must come out the same, functions alpha-equal
  // and well formed; LLVM must parse its IR and assemble its assembly, NVRTC make machine code of
  // CUDA C and of what PTX was made of. A difference is Internal.
  bool verify = false;
  ProgressHook progress = {};
  NumericMode numeric = NumericMode::kStrict;
  Schedules schedules = {};     // for kernels that are not to get the default one
  std::string schedule_folder;  // where the kernels' schedules are written; "": nowhere
};

// The text of the stage. Expects an imported graph. Fails with FailedPrecondition where there is no
// such task or the target has no such stage.
StatusOr<std::string> DumpStage(Graph graph, const DumpOptions& options);

}  // namespace tcc
