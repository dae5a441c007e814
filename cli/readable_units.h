#pragma once

#include <cstdint>
#include <string>

// Numbers as people read them: three digits and a unit.
namespace tcc {

// Returns "0 FLOP", "512 FLOP", "8.18 GFLOP"; thousands of 1,000.
std::string ReadableFlops(double flops);

// Returns "1 byte", "512 bytes", "97.5 MiB"; thousands of 1,024.
std::string ReadableBytes(uint64_t bytes);

// Returns at least three digits of a number: "0.0393", "13.2", "1064"; "-" for 0 and less.
std::string ReadableNumber(double value);

// Returns microseconds without their unit, for columns: "0.0393", "13.2", "4520"; "-" for 0.
std::string ReadableMicroseconds(double seconds);

// Returns milliseconds without their unit, with as many decimals, or more down to nanoseconds where
// there would be less than three digits: "0.00518", "7.402", "-12.250" with three.
std::string ReadableMilliseconds(double seconds, int decimals);

// Returns "1 trial", "12 trials". The plural of `thing` takes an s.
std::string Counted(size_t count, const char* thing);

}  // namespace tcc
