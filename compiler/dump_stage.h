#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"

namespace tcc {

// A stage of a compilation that can be printed as text.
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
  std::string task;  // the only task to print, in stages that have tasks; "" for all
  int threads = 1;
  // Parses the printed text and compares: the text must round-trip, and functions must be
  // alpha-equal and well formed. LLVM must parse its IR and assemble its assembly, and NVRTC must
  // compile CUDA C and the source of PTX to machine code. A difference is Internal.
  bool verify = false;
  ProgressHook progress = {};
  NumericMode numeric = NumericMode::kStrict;
  bool winograd = true;         // as in CompileOptions
  Schedules schedules = {};     // by kernel, instead of the default one
  std::string schedule_folder;  // folder that the kernels' schedules are written to; "": none
};

// Returns the text of the stage. Expects an imported graph. Fails with FailedPrecondition where
// there is no such task or the target has no such stage.
StatusOr<std::string> DumpStage(Graph graph, const DumpOptions& options);

}  // namespace tcc
