#pragma once

#include <string>
#include <vector>

#include "compiler/compile_options.h"
#include "runtime/artefact/artefact.h"
#include "support/status.h"

namespace tcc {

// The formats that tcc reads from files that somebody else wrote.
enum class SeedKind : uint8_t { kModel, kTensor, kNpy, kArtefact };
inline constexpr int kSeedKinds = 4;
std::string_view ToString(SeedKind kind);

// A good file, to be spoilt.
struct Seed {
  SeedKind kind;
  std::string name;
  std::string bytes;
};

// The small networks of the zoo, models with external data, arrays of every type, compiled models,
// ONNX's own tests where they are installed, and every .onnx, .pb, .npy and .tcc file below
// `folder` ("" for none) of at most 1 MiB. In a fixed order.
StatusOr<std::vector<Seed>> SeedCorpus(const std::string& folder);

// A model whose inputs have free dimensions, one of which others settle: a plan with lets, checks,
// switches and sizes of kernels.
StatusOr<Artefact> FreeSizes(const CompileOptions& options);

// Writes the seeds to folder/model, folder/tensor, ...
Status WriteSeeds(const std::vector<Seed>& seeds, const std::string& folder);

}  // namespace tcc
