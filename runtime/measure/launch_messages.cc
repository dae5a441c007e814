#include "runtime/measure/launch_messages.h"

#include "runtime/artefact/bytes.h"

namespace tcc {
namespace {

// The least bytes that one item of a list takes.
constexpr size_t kRegionBytes = 8, kBufferBytes = 20, kArgumentBytes = 8;

LaunchRegion ReadRegion(ByteReader& reader) {
  LaunchRegion region;
  region.misalignment = reader.U32();
  if (region.misalignment >= kLaunchAlignment) {
    reader.Fail(InvalidInput("launch message: a region's misalignment is {}; expected less than {}",
                             region.misalignment, kLaunchAlignment));
  }
  region.bytes = reader.Bytes();
  return region;
}

LaunchBuffer ReadBuffer(ByteReader& reader, const std::vector<LaunchRegion>& regions) {
  LaunchBuffer buffer;
  buffer.region = reader.U32();
  buffer.offset = reader.U64();
  buffer.bytes = reader.U64();
  if (buffer.region == LaunchBuffer::kWeights) return buffer;
  const uint64_t size = buffer.region < regions.size() ? regions[buffer.region].bytes.size() : 0;
  if (buffer.region >= regions.size() || buffer.offset > size ||
      buffer.bytes > size - buffer.offset) {
    reader.Fail(InvalidInput("launch message: {} bytes at {} do not lie within region {}",
                             buffer.bytes, buffer.offset, buffer.region));
  }
  return buffer;
}

}  // namespace

std::vector<uint8_t> Encode(const LaunchMessage& message) {
  ByteWriter writer;
  writer.U32(message.kernel);
  writer.Count(message.regions.size());
  for (const LaunchRegion& region : message.regions) {
    writer.U32(region.misalignment);
    writer.Bytes(region.bytes);
  }
  writer.Count(message.buffers.size());
  for (const LaunchBuffer& buffer : message.buffers) {
    writer.U32(buffer.region);
    writer.U64(buffer.offset);
    writer.U64(buffer.bytes);
  }
  writer.Count(message.shape_args.size());
  for (int64_t argument : message.shape_args) writer.I64(argument);
  return writer.Take();
}

std::vector<uint8_t> Encode(const LaunchedMessage& message) {
  ByteWriter writer;
  writer.Count(message.regions.size());
  for (const std::vector<uint8_t>& bytes : message.regions) writer.Bytes(bytes);
  writer.U8(message.counts ? 1 : 0);
  if (message.counts) {
    for (int64_t count : message.counts->of) writer.I64(count);
  }
  return writer.Take();
}

StatusOr<LaunchMessage> DecodeLaunch(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "launch message");
  LaunchMessage message;
  message.kernel = reader.U32();
  const size_t regions = reader.Count(kRegionBytes);
  for (size_t r = 0; r < regions; ++r) message.regions.push_back(ReadRegion(reader));
  const size_t buffers = reader.Count(kBufferBytes);
  for (size_t b = 0; b < buffers; ++b) {
    message.buffers.push_back(ReadBuffer(reader, message.regions));
  }
  const size_t arguments = reader.Count(kArgumentBytes);
  for (size_t a = 0; a < arguments; ++a) message.shape_args.push_back(reader.I64());
  TCC_RETURN_IF_ERROR(reader.Finish());
  return message;
}

StatusOr<LaunchedMessage> DecodeLaunched(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "launched message");
  LaunchedMessage message;
  const size_t regions = reader.Count(sizeof(uint32_t));
  for (size_t r = 0; r < regions; ++r) message.regions.push_back(reader.Bytes());
  if (uint8_t counted = reader.U8(); counted == 1) {
    message.counts.emplace();
    for (int64_t& count : message.counts->of) count = reader.I64();
  } else if (counted > 1) {
    reader.Fail(
        InvalidInput("launched message: whether it has counts is {}; expected 0 or 1", counted));
  }
  TCC_RETURN_IF_ERROR(reader.Finish());
  return message;
}

}  // namespace tcc
