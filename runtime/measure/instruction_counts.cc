#include "runtime/measure/instruction_counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/file.h"

namespace tcc {
namespace {

// The bytes of the mapping: a page.
constexpr size_t kPage = 4096;

constexpr std::string_view kNames[kInstructionClasses] = {
    "all", "vector", "loads", "stores", "branches", "multiplies", "multiply_adds"};

}  // namespace

std::string_view NameOf(InstructionClass counted) {
  return kNames[static_cast<size_t>(counted)];
}

InstructionCounts& InstructionCounts::operator+=(const InstructionCounts& more) {
  for (size_t c = 0; c < kInstructionClasses; ++c) of[c] += more.of[c];
  return *this;
}

InstructionCounts InstructionCounts::operator-(const InstructionCounts& earlier) const {
  InstructionCounts between = *this;
  for (size_t c = 0; c < kInstructionClasses; ++c) between.of[c] -= earlier.of[c];
  return between;
}

double CyclesOf(const InstructionCounts& counts, const CoreRates& core) {
  auto at = [&](InstructionClass counted, double rate) {
    return static_cast<double>(counts[counted]) / rate;
  };
  return std::max(
      {at(InstructionClass::kVector, core.vector), at(InstructionClass::kLoads, core.loads),
       at(InstructionClass::kStores, core.stores), at(InstructionClass::kAll, core.all)});
}

StatusOr<std::unique_ptr<EmulatorCounters>> EmulatorCounters::Open() {
  const char* path = std::getenv("TCC_COUNTS");
  if (path == nullptr || *path == '\0') return nullptr;
  FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  void* page =
      file.get() < 0 ? MAP_FAILED : ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED) {
    return Missing("TCC_COUNTS: cannot map '{}': {}", path, std::strerror(errno));
  }
  ::unlink(path);
  return std::unique_ptr<EmulatorCounters>(
      new EmulatorCounters(static_cast<const volatile uint64_t*>(page)));
}

StatusOr<const EmulatorCounters*> EmulatorCounters::OfProcess() {
  static const StatusOr<std::unique_ptr<EmulatorCounters>> opened = Open();
  if (!opened.ok()) return opened.status();
  return opened->get();
}

EmulatorCounters::~EmulatorCounters() {
  ::munmap(const_cast<uint64_t*>(counters_), kPage);
}

InstructionCounts EmulatorCounters::Now() const {
  InstructionCounts counts;
  for (size_t c = 0; c < kInstructionClasses; ++c) {
    counts.of[c] = static_cast<int64_t>(counters_[c]);
  }
  return counts;
}

}  // namespace tcc
