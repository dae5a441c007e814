#include "cli/readable_units.h"

#include <fmt/core.h>

#include <cmath>
#include <iterator>

namespace tcc {
namespace {

// Returns three digits of a number below 1,024.
std::string Digits(double value) {
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

// Returns the number with as many decimals, or up to `most` where it would have less than three
// digits.
std::string WithDigits(double value, int decimals, int most) {
  for (double v = std::abs(value); v > 0 && v < 0.1 && decimals < most; v *= 10) ++decimals;
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
  return WithDigits(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3, 15);
}

std::string ReadableMilliseconds(double seconds, int decimals) {
  constexpr int kNanoseconds = 6;
  return WithDigits(seconds * 1e3, decimals, kNanoseconds);
}

std::string ReadableMicroseconds(double seconds) {
  return ReadableNumber(seconds * 1e6);
}

std::string Counted(size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace tcc
