#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/file_kind.h"
#include "support/integer_division.h"
#include "support/sha256.h"

// The frame of an artefact's file, shared by its writer and its reader.
namespace tcc {

inline constexpr uint64_t kSectionAlignment = 64;

// The sections in the order in which they lie in the file; the numbers are the format's.
enum class SectionKind : uint32_t {
  kKernels = 1,
  kPlan = 2,
  kMetadata = 3,
  kWeights = 4,
  kNotes = 5
};
inline constexpr SectionKind kSections[] = {SectionKind::kKernels, SectionKind::kPlan,
                                            SectionKind::kMetadata, SectionKind::kWeights,
                                            SectionKind::kNotes};
inline constexpr std::string_view kSectionNames[] = {"kernels", "plan", "metadata", "weights",
                                                     "notes"};

struct SectionRow {
  uint32_t kind = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  Sha256Digest hash{};
};

constexpr uint64_t AlignUp(uint64_t position) {
  return RoundUp(position, kSectionAlignment);
}

}  // namespace tcc
