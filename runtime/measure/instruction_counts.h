#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "support/core_rates.h"
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

// Returns the least cycles in which a core begins the instructions.
double CyclesOf(const InstructionCounts& counts, const CoreRates& core);

// The counters of the emulator that this process runs in, by the page of memory that both map.
class EmulatorCounters {
 public:
  // Returns the counters of this process, whose page is in the file that $TCC_COUNTS names; nullptr
  // if it names none. The first call maps the file and removes it. Unavailable if it cannot be
  // mapped.
  static StatusOr<const EmulatorCounters*> OfProcess();
  EmulatorCounters(const EmulatorCounters&) = delete;
  EmulatorCounters& operator=(const EmulatorCounters&) = delete;
  ~EmulatorCounters();

  // Returns what was executed since the program began. Exact while other threads rest.
  InstructionCounts Now() const;

 private:
  explicit EmulatorCounters(const volatile uint64_t* counters) : counters_(counters) {}
  static StatusOr<std::unique_ptr<EmulatorCounters>> Open();

  const volatile uint64_t* counters_;
};

}  // namespace tcc
