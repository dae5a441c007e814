#pragma once

#include <memory>

#include "lower/backend.h"
#include "runtime/artefact/gpu_program.h"
#include "support/target.h"

namespace tcc {

// Makes the code generator of a target, with the user's cache. Error: Unimplemented for targets
// that have none.
StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target,
                                               GpuCode gpu_code = GpuCode::kCubin);

}  // namespace tcc
