#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "support/status.h"

namespace tcc {

// The classes of instructions that an emulator counts, in the order of its counters
// (tools/qemu/count_plugin.c).
enum class InstructionClass : uint8_t {
  kAll,
  kVector,  // SIMD and floating point, but for loads and stores
  kLoads,   // of any register
  kStores,
  kBranches,
  kMultiplies,    // that multiply and add, one element or many
  kMultiplyAdds,  // the products that these add
};
inline constexpr size_t kInstructionClasses = 7;  // of InstructionClass

// Returns "all", "vector", ...
std::string_view NameOf(InstructionClass counted);

struct InstructionCounts {
  int64_t of[kInstructionClasses] = {};

  int64_t operator[](InstructionClass counted) const { return of[static_cast<size_t>(counted)]; }
  InstructionCounts& operator+=(const InstructionCounts& more);
  InstructionCounts operator-(const InstructionCounts& earlier) const;
};

// The counters of the emulator that this process runs in, by the page of memory that both map.
class EmulatorCounters {
 public:
  // Maps the file that $TCC_COUNTS names; null if it names none. Unavailable if it cannot be
  // mapped.
  static StatusOr<std::unique_ptr<EmulatorCounters>> Open();
  EmulatorCounters(const EmulatorCounters&) = delete;
  EmulatorCounters& operator=(const EmulatorCounters&) = delete;
  ~EmulatorCounters();

  // Returns what was executed since the program began. Exact while other threads rest.
  InstructionCounts Now() const;

 private:
  explicit EmulatorCounters(const volatile uint64_t* counters) : counters_(counters) {}

  const volatile uint64_t* counters_;
};

}  // namespace tcc
