#include "cli/readable_units.h"

#include <fmt/core.h>

#include <iterator>

namespace tcc {
namespace {

// Returns three digits of a number below 1,024.
std::string Digits(double value) {
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

// Returns the number in the largest of the units of which it has at least one. Each unit is `step`
// times the one before.
template <size_t kUnits>
std::string InUnits(double value, double step, const char* const (&units)[kUnits]) {
  size_t unit = 0;
  // A value that would be rounded up to the next unit becomes one of that unit.
  while (unit + 1 < kUnits && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return Digits(value) + " " + units[unit];
}

constexpr const char* kFlops[] = {"kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
constexpr const char* kBytes[] = {"KiB", "MiB", "GiB", "TiB"};

}  // namespace

std::string ReadableFlops(double flops) {
  if (flops < 1000) return fmt::format("{:.0f} FLOP", flops);
  return InUnits(flops / 1000, 1000, kFlops);
}

std::string ReadableBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  return InUnits(static_cast<double>(bytes) / 1024, 1024, kBytes);
}

std::string ReadableNumber(double value) {
  if (value <= 0) return "-";
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

std::string ReadableMicroseconds(double seconds) {
  return ReadableNumber(seconds * 1e6);
}

std::string Counted(size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace tcc
