#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/measure/instruction_counts.h"
#include "support/status.h"

// Messages by which a worker launches kernels one by one (measure_protocol.h). The payload of Load
// is an artefact's bytes; the artefact loaded before is dropped.
namespace tcc {

// A piece of the parent's memory that buffers of a launch lie in. Buffers overlap in the worker as
// they do in the parent.
struct LaunchRegion {
  uint32_t misalignment = 0;  // the remainder of its address by kLaunchAlignment
  std::vector<uint8_t> bytes;
};
inline constexpr uint32_t kLaunchAlignment = 64;  // bytes

struct LaunchBuffer {
  static constexpr uint32_t kWeights = 0xffffffff;
  uint32_t region = 0;  // its number; kWeights: the weights of the loaded artefact
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct LaunchMessage {
  uint32_t kernel = 0;
  std::vector<LaunchRegion> regions;
  std::vector<LaunchBuffer> buffers;  // in the order of the kernel's arguments
  std::vector<int64_t> shape_args;
};

// The bytes of each region after the launch, and what was executed if the worker is emulated by
// something that counts.
struct LaunchedMessage {
  std::vector<std::vector<uint8_t>> regions;
  std::optional<InstructionCounts> counts = {};
};

std::vector<uint8_t> Encode(const LaunchMessage& message);
std::vector<uint8_t> Encode(const LaunchedMessage& message);
// Decode messages. Errors: bytes missing or left over, a value out of range, a buffer that does not
// lie within its region.
StatusOr<LaunchMessage> DecodeLaunch(std::span<const uint8_t> payload);
StatusOr<LaunchedMessage> DecodeLaunched(std::span<const uint8_t> payload);

}  // namespace tcc
