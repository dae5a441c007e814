#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/progress.h"
#include "compiler/compile_options.h"
#include "compiler/sized_model.h"
#include "runtime/artefact/artefact.h"
#include "support/status.h"

namespace tcc {

// Options of a command that compiles a model for its own use, without writing a file.
struct CompileNowOptions {
  std::string target;  // "": native
  std::string schedule, database, device;
  std::string numeric;
};

// Adds --target, --db, --device, --schedule, --numeric.
void AddCompileNowOptions(CommandLine& line, CompileNowOptions& options);

// Fails with FailedPrecondition, naming the option, where one is given: for a compiled model.
Status ExpectNone(const CompileNowOptions& options);

// Returns the row of --target.
StatusOr<Target> TargetOf(const CompileNowOptions& options);

// Returns the code that this machine's driver takes: text if it is an emulated one.
GpuCode CodeForDriver(const Target& target);

// Returns the compiler's options, which report to `progress`; it must outlive them. Reads the
// schedules.
StatusOr<CompileOptions> ToCompileOptions(const CompileNowOptions& options, int threads,
                                          GpuCode gpu_code, Progress& progress);

StatusOr<Artefact> CompileNow(SizedModel model, const CompileNowOptions& options, int threads,
                              GpuCode gpu_code, Progress& progress);

}  // namespace tcc
