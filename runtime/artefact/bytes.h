#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

// The encoding of everything in an artefact: little-endian integers of fixed width; strings and
// lists follow their 32-bit length.
namespace tcc {

class ByteWriter {
 public:
  void U8(uint8_t value) { bytes_.push_back(value); }
  void U32(uint32_t value) { Fixed(&value, sizeof(value)); }
  void U64(uint64_t value) { Fixed(&value, sizeof(value)); }
  void I64(int64_t value) { Fixed(&value, sizeof(value)); }
  void Raw(std::span<const uint8_t> bytes);
  void Text(std::string_view text);
  // Writes bytes behind their number.
  void Bytes(std::span<const uint8_t> bytes);
  // Writes the length of a list; its items follow.
  void Count(size_t count);

  size_t size() const { return bytes_.size(); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  void Fixed(const void* value, size_t size);

  std::vector<uint8_t> bytes_;
};

// A reader of what ByteWriter wrote, which never reads beyond the end. The first failure sticks:
// every later read gives zero or nothing, so that a caller may read a whole record and check once.
class ByteReader {
 public:
  // `what` names the bytes in messages: "plan section".
  ByteReader(std::span<const uint8_t> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  uint8_t U8();
  uint32_t U32();
  uint64_t U64();
  int64_t I64();
  std::span<const uint8_t> Raw(size_t size);
  std::string Text();
  std::vector<uint8_t> Bytes();
  // Reads a list's length. Fails if that many items of at least `item_bytes` (>= 1) cannot follow.
  size_t Count(size_t item_bytes);

  // Records a failure unless there was one before.
  void Fail(const Status& status);
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  size_t position() const { return position_; }
  // Returns the failure, or an error if bytes are left over.
  Status Finish() const;

 private:
  template <typename T>
  T Fixed();

  std::span<const uint8_t> bytes_;
  std::string what_;
  size_t position_ = 0;
  Status status_;
};

}  // namespace tcc
