#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "runtime/artefact/plan.h"
#include "support/file.h"
#include "support/sha256.h"
#include "support/status.h"
#include "support/tensor.h"

// A compiled model as one file.
//
//   magic 89 'T' 'C' 'C' 0D 0A 1A 0A, version, file size, target, device, environment hash,
//   section table {kind, offset, size, SHA-256}, SHA-256 of all before it,
//   then the sections in the order of their kinds, each at a multiple of 64 bytes, zeros between.
//
// The file has no time stamp and no path. Every byte is covered by a hash or has to be zero: the
// same content gives the same file, and a flipped byte is refused. The hashes guard against damage,
// not against malice: kernels are code, and an artefact has to be trusted like a program.
namespace tcc {

// The version of the format, which covers the plan's encoding and the kernel ABI (kernel_abi.h),
// too.
inline constexpr uint32_t kArtefactVersion = 6;

struct Artefact {
  std::string target;          // as on the command line: "native", "x86-64-v3", "sm_86"
  std::string device;          // which runs the kernels: one of RuntimeDevices or "reference"
  Sha256Digest environment{};  // hash of tcc's version and the target's name
  SharedBytes kernels;         // cpu: one ELF shared object; vdla: vdla_image.h; cuda and opencl:
                               // gpu_program.h; reference: text
  SharedBytes weights;         // addressed by the plan's kWeight buffers
  Plan plan;
  Metadata metadata;
  // The compiler's record of how it made the artefact (compiler/notes.h), empty if it was told to
  // leave it out. The runtime checks the section's hash and reads no more of it.
  SharedBytes notes;
};

// Checks that metadata and plan are well formed and fit each other and the weights (plan.h).
Status VerifyArtefact(const Artefact& artefact);

// Returns the file's content. Expects VerifyArtefact to agree.
std::vector<uint8_t> ArtefactBytes(const Artefact& artefact);
// Writes ArtefactBytes to a file, which appears whole or not at all. Refuses an artefact that
// VerifyArtefact refuses.
Status WriteArtefact(const Artefact& artefact, const std::string& path);

// Reads an artefact. Maps the file; kernels, weights and notes are views of the mapping and keep it
// alive.
// Refuses foreign or damaged files, other versions, and a plan or metadata that does not verify.
StatusOr<Artefact> ReadArtefact(const std::string& path);
// Returns whether the file begins like an artefact.
bool IsArtefact(const std::string& path);
// Parses an artefact in memory. Copies the bytes if they do not lie at a multiple of 64.
StatusOr<Artefact> ParseArtefact(SharedBytes file);

// The bytes of tensors one after another at multiples of 64, equal ones once. Blanks follow, all
// zeros, which may be filled until the bytes are handed on.
struct PackedWeights {
  SharedBytes bytes;
  std::vector<int64_t> offsets;  // of the tensors, then of the blanks, in their order
  std::vector<std::span<uint8_t>> blanks;
};
PackedWeights PackWeights(std::span<const Tensor> tensors,
                          std::span<const int64_t> blank_bytes = {});

}  // namespace tcc
