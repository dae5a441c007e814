#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/measure/measuring_queue.h"
#include "support/status.h"

namespace tcc {

// Operands on a device, in one allocation, between zones of a pattern that show writes beside them.
// The host keeps an image of what the device is to hold. The queue, which transfers are enqueued
// in, outlives the block.
class GuardedBlock {
 public:
  // Allocates operands of these sizes; their images begin as zeros. ResourceExhausted: no memory.
  static StatusOr<GuardedBlock> Make(MeasuringQueue& queue, std::span<const int64_t> sizes,
                                     std::string_view what);

  size_t size() const { return ranges_.size(); }
  uint8_t* device(size_t i) const { return memory_.get() + ranges_[i].begin; }
  std::span<uint8_t> image(size_t i);

  // Makes the device hold the image of an operand and of the zones beside it.
  Status Upload(size_t i) const;
  Status UploadAll() const;

  // Waits and reads an operand and the zones beside it. They stay readable until the next call.
  Status Download(size_t i);
  // Returns the downloaded operand.
  std::span<const uint8_t> downloaded() const;
  // Returns the side on which a zone of the downloaded operand is damaged, "before" or "after"; ""
  // for none.
  std::string_view DamagedSide() const;

  // The part of an operand and its zones that differs from the image.
  enum class Change : uint8_t { kNone, kZone, kOperand };
  // Returns what differs of an operand and the zones beside it, and makes it equal again. Of an
  // operand of more than 1 MiB both ends alone are compared.
  StatusOr<Change> Restore(size_t i);

 private:
  struct Range {
    size_t begin = 0, end = 0;     // of the operand
    size_t before = 0, after = 0;  // of the operand and the zones beside it
  };
  // Reads bytes of the device into `read_` at the same place as in `image_`, and waits.
  Status Read(size_t begin, size_t end);
  StatusOr<Change> ChangeOf(size_t i);

  MeasuringQueue* queue_ = nullptr;
  std::shared_ptr<uint8_t> memory_;
  std::vector<Range> ranges_;
  std::vector<uint8_t> image_;
  std::vector<uint8_t> read_;
  size_t downloaded_ = 0;
};

}  // namespace tcc
