#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/tensor.h"

namespace tcc::interpret {

// Which threads touched a cell since the last barrier; epochs before the current one do not count.
struct CellUse {
  uint64_t write_epoch = 0;
  uint64_t read_epoch = 0;
  int64_t writer = -1;
  int64_t reader = -1;  // kManyReaders: more than one
};
inline constexpr int64_t kManyReaders = -2;

// Where the cells of an access lie, lane l at base + lanes[l].
struct Offsets {
  enum Kind { kUniform, kContiguous, kScattered } kind = kUniform;
  int64_t base = 0;
  const int64_t* lanes = nullptr;
  // Some lane that the mask leaves out may lie outside the buffer.
  bool masked_only = false;
  int64_t At(int lane) const { return base + lanes[lane]; }
};

// One living buffer: doubles for floats and int64 for the rest, row-major over its window; or, for
// a parameter that is only read, the tensor's own bytes.
//
// A float cell never written holds kPoison, a NaN that no arithmetic makes; the others have a map.
class Cells {
 public:
  void Declare(const std::string& name, DType dtype, std::span<const int64_t> origin,
               std::span<const int64_t> size, int circular);
  void Poison();                        // all cells unwritten
  void ReadFrom(const Tensor& tensor);  // in place
  void CopyFrom(const Tensor& tensor);  // as initial contents
  // Back again: to nearest, or stochastically.
  void RoundInto(Tensor& tensor, std::optional<uint64_t> rounding_seed) const;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(size_.size()); }
  int64_t origin(int dim) const { return origin_[dim]; }
  int64_t size(int dim) const { return size_[dim]; }
  int64_t stride(int dim) const { return stride_[dim]; }
  int64_t count() const { return count_; }
  int circular() const { return circular_; }

  // `lanes` lists the active ones, empty for the first n. False where one was never written; *bad
  // is the lane.
  bool Load(const Offsets& at, int n, std::span<const int> lanes, double* out, int* bad) const;
  bool Load(const Offsets& at, int n, std::span<const int> lanes, int64_t* out, int* bad) const;
  void Store(const Offsets& at, int n, std::span<const int> lanes, const double* in, bool uniform);
  void Store(const Offsets& at, int n, std::span<const int> lanes, const int64_t* in, bool uniform);
  void Forget(int64_t offset);  // the cell is unwritten again
  void CopyCell(int64_t to, const Cells& from, int64_t offset);
  bool IsWritten(int64_t offset) const;

  // Its threads act as one: no use is a race.
  void IgnoreUses() { ignores_uses_ = true; }
  // False on a race.
  bool NoteUse(int64_t offset, bool write, int64_t thread, uint64_t epoch);
  // Exchanges what was noted: shared memory stays the same from one lifetime of a buffer to the
  // next, so what threads did to the earlier one counts.
  void SwapUses(std::vector<CellUse>& uses) { uses_.swap(uses); }

 private:
  std::string name_;
  DType dtype_;
  std::vector<int64_t> origin_, size_, stride_;
  int circular_ = -1;
  int64_t count_ = 0;
  const uint8_t* native_ = nullptr;
  std::vector<double> reals_;
  std::vector<int64_t> integers_;
  std::vector<uint8_t> written_;  // of integers_
  std::vector<CellUse> uses_;
  bool ignores_uses_ = false;
};

}  // namespace tcc::interpret
