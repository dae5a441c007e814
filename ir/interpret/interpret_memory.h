#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/tensor.h"

namespace tcc::interpret {

// The threads that touched a cell since the last barrier; earlier epochs do not count.
struct CellUse {
  uint64_t write_epoch = 0;
  uint64_t read_epoch = 0;
  int64_t writer = -1;
  int64_t reader = -1;  // kManyReaders: more than one
};
inline constexpr int64_t kManyReaders = -2;

// The offsets of the cells of an access: lane l is at base + lanes[l].
struct Offsets {
  enum Kind { kUniform, kContiguous, kScattered } kind = kUniform;
  int64_t base = 0;
  const int64_t* lanes = nullptr;
  // A masked-out lane may lie outside the buffer.
  bool masked_only = false;
  int64_t At(int lane) const { return base + lanes[lane]; }
};

// A live buffer: doubles for floats and int64 for other types, row-major over its window; or, for a
// parameter that is only read, the tensor's own bytes.
//
// An unwritten float cell holds kPoison, a NaN that no arithmetic makes; `written_` covers other
// types, whose cells hold a large number till then.
class Cells {
 public:
  void Declare(const std::string& name, DType dtype, std::span<const int64_t> origin,
               std::span<const int64_t> size, int circular);
  void Poison();                        // marks all cells unwritten
  void ReadFrom(const Tensor& tensor);  // uses its bytes in place
  void CopyFrom(const Tensor& tensor);  // as the initial contents
  // Writes the cells back to the tensor, rounded to nearest or, with a seed, stochastically.
  void RoundInto(Tensor& tensor, std::optional<uint64_t> rounding_seed) const;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(size_.size()); }
  int64_t origin(int dim) const { return origin_[dim]; }
  int64_t size(int dim) const { return size_[dim]; }
  int64_t stride(int dim) const { return stride_[dim]; }
  int64_t count() const { return count_; }
  int circular() const { return circular_; }

  // Loads the lanes in `lanes`, or the first n if it is empty. Returns false if a cell was never
  // written, with its lane in *bad.
  bool Load(const Offsets& at, int n, std::span<const int> lanes, double* out, int* bad) const;
  bool Load(const Offsets& at, int n, std::span<const int> lanes, int64_t* out, int* bad) const;
  void Store(const Offsets& at, int n, std::span<const int> lanes, const double* in, bool uniform);
  void Store(const Offsets& at, int n, std::span<const int> lanes, const int64_t* in, bool uniform);
  void Forget(int64_t offset);  // marks the cell unwritten
  void Clear(int64_t offset);   // writes 0
  void CopyCell(int64_t to, const Cells& from, int64_t offset);
  bool IsWritten(int64_t offset) const;

  // Turns race detection off for a buffer whose threads act as one.
  void IgnoreUses() { ignores_uses_ = true; }
  // Notes a use and returns false on a race.
  bool NoteUse(int64_t offset, bool write, int64_t thread, uint64_t epoch);
  // Swaps the noted uses: a buffer's lifetimes share memory, so uses in an earlier lifetime count.
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
