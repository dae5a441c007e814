#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/dtype.h"
#include "support/status.h"

// Operands of kernels that are checked and timed: their memory, their values, and the comparison of
// results.
namespace tcc {

// A deleter that gives pages back to the system.
struct Unmap {
  size_t bytes = 0;
  void operator()(uint8_t* pages) const;
};
using Pages = std::unique_ptr<uint8_t, Unmap>;

// The memory of one operand, in a mapping of its own. A pattern before and after the operand shows
// writes that miss it; a guard page behind the pattern stops longer runs of such writes.
class GuardedMemory {
 public:
  // Allocates `bytes` at a multiple of 64 and writes the pattern. Former content is lost. The slot
  // moves the start within its page, or operands of equal size would meet in the same sets of a
  // cache. ResourceExhausted: no memory; the message names `what`.
  Status Reserve(int64_t bytes, size_t slot, const std::string& what);

  std::span<uint8_t> bytes() const { return bytes_; }
  // Returns the side on which the pattern is damaged, "before" or "after"; "" for none.
  std::string_view DamagedSide() const;
  void RepairPattern();

 private:
  std::span<uint8_t> PatternBefore() const;
  std::span<uint8_t> PatternAfter() const;

  Pages pages_;
  size_t usable_ = 0;  // bytes before the page that nobody may touch
  std::span<uint8_t> bytes_;
};

// Copies of an operand, through which timed calls rotate.
class OperandCopies {
 public:
  // Makes `count` copies of `source`, reusing the memory of former ones where it suffices. The slot
  // is as for GuardedMemory. ResourceExhausted: no memory; the message names `what`.
  Status Fill(std::span<const uint8_t> source, int64_t count, size_t slot, const std::string& what);
  int64_t count() const { return count_; }
  uint8_t* at(int64_t copy) const { return first_ + copy * stride_; }

 private:
  Pages pages_;
  size_t capacity_ = 0;
  uint8_t* first_ = nullptr;
  int64_t stride_ = 0;
  int64_t count_ = 0;
};

// Fills an operand with values that depend on the arguments alone: floats uniform in [-1.73, 1.73)
// (deviation 1), integers and bools of {0, 1}. With `extreme` > 0, zeros of both signs, denormals
// and numbers up to that magnitude stand among the floats.
void FillValues(DType dtype, std::span<uint8_t> bytes, uint64_t seed, double extreme = 0);

// Multiplies each float by 1 + delta or 1 - delta, as the seed says. Other types, 8-bit floats
// among them, keep their values.
void PerturbValues(DType dtype, std::span<uint8_t> bytes, uint64_t seed, double delta);

// Returns a hash that differs where any byte does, up to chance.
uint64_t HashOf(std::span<const uint8_t> bytes);

// The rounding that a result may show: of sums of `terms` products in an arithmetic of this
// epsilon; 0: the function computes in no float. CompareResult has the formula.
struct ErrorBound {
  double terms = 1;
  double epsilon = 0;
};

// A result of the reference.
struct ExpectedResult {
  DType dtype;
  std::shared_ptr<const uint8_t> memory;
  std::span<const uint8_t> bytes;
  // The largest magnitude of the finite elements, or the sensitivity where that is larger; absolute
  // errors are allowed in proportion.
  double scale = 0;
};
// Copies a result of the reference. ResourceExhausted: no memory.
StatusOr<ExpectedResult> KeepResult(DType dtype, std::span<const uint8_t> bytes,
                                    const std::string& what);

// Learns the sensitivity of a result from the reference's on perturbed inputs x': the largest
// |reference(x) - reference(x')| / delta of elements that are finite in both. That of a sum is
// about its largest result. A bounded function behind the sum hides how large its terms were and,
// where it is not flat, lets their rounding through; then it is as large as the terms. A function
// that jumps has twice its largest result / delta at most. Integers and 8-bit floats have steps,
// and none.
void NoteSensitivity(ExpectedResult& expected, std::span<const uint8_t> perturbed, double delta);

struct ResultError {
  double error = 0;     // of the worst element in units of its bound; beyond 1 it is wrong
  int64_t element = 0;  // the index of the worst element
};
// Compares a result with the expected one. Floats: |got - expected| against 16 sqrt(terms) epsilon
// scale + 4 epsilon_out |expected|, a backward error: what comes of moving each term by some
// epsilons. NaN equals NaN, infinities have to be the same. 8-bit integers may be 1 off where
// floats are computed with. Everything else has to be equal. An element that differs where it may
// not has an infinite error.
ResultError CompareResult(const ExpectedResult& expected, std::span<const uint8_t> got,
                          const ErrorBound& bound);

// Returns an element of a result as text for messages: "0.25", "-7".
std::string ElementText(DType dtype, std::span<const uint8_t> bytes, int64_t element);

}  // namespace tcc
