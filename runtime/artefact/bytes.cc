#include "runtime/artefact/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace tcc {

static_assert(std::endian::native == std::endian::little);

void ByteWriter::Raw(std::span<const uint8_t> bytes) {
  size_t end = bytes_.size();
  bytes_.resize(end + bytes.size());
  std::ranges::copy(bytes, bytes_.begin() + static_cast<ptrdiff_t>(end));
}

void ByteWriter::Fixed(const void* value, size_t size) {
  Raw({static_cast<const uint8_t*>(value), size});
}

void ByteWriter::Text(std::string_view text) {
  Count(text.size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
}

void ByteWriter::Bytes(std::span<const uint8_t> bytes) {
  Count(bytes.size());
  Raw(bytes);
}

void ByteWriter::Count(size_t count) {
  TCC_CHECK(count <= std::numeric_limits<uint32_t>::max()) << count;
  U32(static_cast<uint32_t>(count));
}

std::span<const uint8_t> ByteReader::Raw(size_t size) {
  if (!ok()) return {};
  if (size > bytes_.size() - position_) {
    Fail(InvalidInput("{} ends at byte {}; {} more bytes were expected at byte {}", what_,
                      bytes_.size(), size, position_));
    return {};
  }
  std::span<const uint8_t> raw = bytes_.subspan(position_, size);
  position_ += size;
  return raw;
}

template <typename T>
T ByteReader::Fixed() {
  T value{};
  std::span<const uint8_t> raw = Raw(sizeof(T));
  if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof(T));
  return value;
}

uint8_t ByteReader::U8() {
  return Fixed<uint8_t>();
}
uint32_t ByteReader::U32() {
  return Fixed<uint32_t>();
}
uint64_t ByteReader::U64() {
  return Fixed<uint64_t>();
}
int64_t ByteReader::I64() {
  return Fixed<int64_t>();
}

std::string ByteReader::Text() {
  std::span<const uint8_t> raw = Raw(Count(1));
  return std::string(raw.begin(), raw.end());
}

std::vector<uint8_t> ByteReader::Bytes() {
  std::span<const uint8_t> raw = Raw(Count(1));
  return {raw.begin(), raw.end()};
}

size_t ByteReader::Count(size_t item_bytes) {
  size_t count = U32();
  if (!ok()) return 0;
  if (count > (bytes_.size() - position_) / item_bytes) {
    Fail(InvalidInput("{} has a list of {} items at byte {}; only {} bytes follow", what_, count,
                      position_ - sizeof(uint32_t), bytes_.size() - position_));
    return 0;
  }
  return count;
}

void ByteReader::Fail(const Status& status) {
  if (ok()) status_ = status;
}

Status ByteReader::Finish() const {
  if (!ok()) return status_;
  if (position_ == bytes_.size()) return OkStatus();
  return InvalidInput("{} has {} bytes left over after byte {}", what_, bytes_.size() - position_,
                      position_);
}

}  // namespace tcc
