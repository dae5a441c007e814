#include "runtime/measure/guarded_block.h"

#include <algorithm>

#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr size_t kAlignment = 256;  // bytes, as the driver's allocations have it
constexpr size_t kZone = 4096;      // bytes: more than the rows that a tail may write too much
constexpr uint8_t kPattern = 0xa5;
// Bytes of an operand that is compared whole: a transfer of 1 MiB takes less than 0.1 ms.
constexpr size_t kMaxWhole = size_t{1} << 20;

bool IsPattern(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == kPattern; });
}

}  // namespace

StatusOr<GuardedBlock> GuardedBlock::Make(MeasuringQueue& queue, std::span<const int64_t> sizes,
                                          std::string_view what) {
  GuardedBlock block;
  block.queue_ = &queue;
  size_t begin = kZone;
  for (int64_t bytes : sizes) {
    const size_t end = begin + static_cast<size_t>(bytes);
    const size_t next = RoundUp(end + kZone, kAlignment);
    block.ranges_.push_back({.begin = begin, .end = end, .before = begin - kZone, .after = next});
    begin = next;
  }
  TCC_ASSIGN_OR_RETURN(block.memory_, queue.Allocate(static_cast<int64_t>(begin), what));
  block.image_.assign(begin, kPattern);
  for (size_t i = 0; i < block.size(); ++i) std::ranges::fill(block.image(i), uint8_t{0});
  return block;
}

std::span<uint8_t> GuardedBlock::image(size_t i) {
  return std::span(image_).subspan(ranges_[i].begin, ranges_[i].end - ranges_[i].begin);
}

Status GuardedBlock::Upload(size_t i) const {
  const auto& [begin, end, before, after] = ranges_[i];
  return queue_->Upload(memory_.get() + before, std::span(image_).subspan(before, after - before));
}

Status GuardedBlock::UploadAll() const {
  return queue_->Upload(memory_.get(), image_);
}

Status GuardedBlock::Read(size_t begin, size_t end) {
  read_.resize(image_.size());
  return queue_->Download(std::span(read_).subspan(begin, end - begin), memory_.get() + begin);
}

Status GuardedBlock::Download(size_t i) {
  downloaded_ = i;
  return Read(ranges_[i].before, ranges_[i].after);
}

std::span<const uint8_t> GuardedBlock::downloaded() const {
  const Range& range = ranges_[downloaded_];
  return std::span(read_).subspan(range.begin, range.end - range.begin);
}

std::string_view GuardedBlock::DamagedSide() const {
  const auto& [begin, end, before, after] = ranges_[downloaded_];
  std::span bytes(read_);
  if (!IsPattern(bytes.subspan(before, begin - before))) return "before";
  return IsPattern(bytes.subspan(end, after - end)) ? "" : "after";
}

StatusOr<GuardedBlock::Change> GuardedBlock::ChangeOf(size_t i) {
  const auto& [begin, end, before, after] = ranges_[i];
  auto is_equal = [&](size_t from, size_t to) {
    return std::equal(read_.begin() + static_cast<ptrdiff_t>(from),
                      read_.begin() + static_cast<ptrdiff_t>(to),
                      image_.begin() + static_cast<ptrdiff_t>(from));
  };
  const bool whole = end - begin <= kMaxWhole;
  const size_t head = whole ? end : begin + kZone, tail = whole ? begin : end - kZone;
  TCC_RETURN_IF_ERROR(Read(before, whole ? after : head));
  if (!whole) TCC_RETURN_IF_ERROR(Read(tail, after));
  if (!is_equal(begin, head) || !is_equal(tail, end)) return Change::kOperand;
  return is_equal(before, begin) && is_equal(end, after) ? Change::kNone : Change::kZone;
}

StatusOr<GuardedBlock::Change> GuardedBlock::Restore(size_t i) {
  TCC_ASSIGN_OR_RETURN(Change change, ChangeOf(i));
  if (change != Change::kNone) TCC_RETURN_IF_ERROR(Upload(i));
  return change;
}

}  // namespace tcc
