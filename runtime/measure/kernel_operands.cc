#include "runtime/measure/kernel_operands.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/artefact/memory_plan.h"
#include "runtime/executor/aligned_memory.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/random.h"
#include "support/storage_types.h"
#include "support/tensor.h"

namespace tcc {
namespace {

constexpr size_t kAlignment = kArenaAlignment;
constexpr size_t kPatternBytes = 64;
constexpr uint8_t kPattern = 0xa5;
// Cache lines between the starts of neighbouring slots: odd, and far enough that a kernel's reads
// of one operand and its writes to another do not meet at the same offset in a page.
constexpr size_t kSlotLines = 5;
constexpr size_t kSlots = 12;

constexpr float kLimit = 1.73F;  // of uniform values whose deviation is 1: sqrt(3)

size_t PageBytes() {
  static const auto kBytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

// Fresh pages; huge ones where they fill some, as a network's weights and arena have them.
StatusOr<Pages> MapPages(size_t bytes, const std::string& what) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("no memory for {}, which takes {} bytes", what, bytes));
  }
  if (bytes >= kMinHugeBytes) ::madvise(memory, bytes, MADV_HUGEPAGE);
  return Pages(static_cast<uint8_t*>(memory), Unmap{bytes});
}

size_t ShiftOf(size_t slot) {
  return slot % kSlots * kSlotLines * kAlignment;
}

bool IsPattern(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == kPattern; });
}

// Element `index` of a flat buffer, which need not be aligned.
template <typename T>
T Load(std::span<const uint8_t> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::span<uint8_t> bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

int64_t ElementsIn(DType dtype, size_t bytes) {
  return static_cast<int64_t>(bytes) * 8 / dtype.bits();
}

Tensor ViewOf(DType dtype, std::span<const uint8_t> bytes) {
  return {dtype, {ElementsIn(dtype, bytes.size())}, nullptr, bytes};
}

bool IsStoredFloat(DType dtype) {
  return dtype.is_float() || dtype.code() == DTypeCode::kFloat8E4M3 ||
         dtype.code() == DTypeCode::kFloat8E5M2;
}

// --- values

float UniformOf(uint64_t draw) {
  return static_cast<float>(draw >> 40) * (2 * kLimit * 0x1p-24F) - kLimit;
}

// Every element from one draw.
template <typename T, typename ValueOf>
void FillEach(std::span<uint8_t> bytes, Random random, ValueOf value_of) {
  auto count = static_cast<int64_t>(bytes.size() / sizeof(T));
  for (int64_t i = 0; i < count; ++i) Store<T>(bytes, i, value_of(random.Next()));
}

// Narrow floats come from a table of that many uniform values: rounding each is slow.
template <typename T>
void FillFromTable(DType dtype, std::span<uint8_t> bytes, Random random) {
  Tensor table = MakeZeroTensor(dtype, {4096});
  for (int64_t i = 0; i < 4096; ++i) {
    SetElement(table, i, UniformOf(static_cast<uint64_t>(i) << 52));
  }
  FillEach<T>(bytes, random, [&](uint64_t draw) {
    return Load<T>(table.bytes, static_cast<int64_t>(draw >> 52));
  });
}

// Integers of [0, 2) and bools, `mask` having each element's lowest bit in 64 bits.
void FillBits(std::span<uint8_t> bytes, Random random, uint64_t mask) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t eight = random.Next() & mask;
    std::memcpy(bytes.data() + i, &eight, std::min(sizeof(eight), bytes.size() - i));
  }
}

uint64_t LowestBits(int bits) {
  uint64_t mask = 0;
  for (int bit = 0; bit < 64; bit += bits) mask |= uint64_t{1} << bit;
  return mask;
}

void StoreFloat(DType dtype, std::span<uint8_t> bytes, int64_t index, double value) {
  auto narrow = static_cast<float>(value);
  if (dtype == kFloat64) return Store<double>(bytes, index, value);
  if (dtype == kFloat32) return Store<float>(bytes, index, narrow);
  if (dtype == DTypeCode::kTFloat32) return Store<float>(bytes, index, RoundToTFloat32(narrow));
  if (dtype == kFloat16) return Store<uint16_t>(bytes, index, FloatToHalf(narrow));
  TCC_CHECK(dtype == DTypeCode::kBFloat16) << ToString(dtype);
  Store<uint16_t>(bytes, index, FloatToBFloat16(narrow));
}

// One element in 16 on average becomes a special one.
void SprinkleExtremes(DType dtype, std::span<uint8_t> bytes, Random random, double large) {
  double denormal = dtype == kFloat64 ? 1e-310 : dtype == kFloat16 ? 1e-6 : 1e-40;
  int64_t count = ElementsIn(dtype, bytes.size());
  for (int64_t i = random.Between(0, 15); i < count; i += random.Between(1, 31)) {
    double unit = 2 * random.Unit() - 1;
    const double values[] = {0.0, -0.0, unit * denormal, unit * large};
    StoreFloat(dtype, bytes, i, values[random.Below(std::size(values))]);
  }
}

// --- comparison

// The numbers that the bytes of an 8-bit float stand for.
std::array<double, 256> ByteValues(DType dtype) {
  std::array<double, 256> values;
  for (size_t i = 0; i < values.size(); ++i) {
    auto byte = static_cast<uint8_t>(i);
    values[i] = ElementAsDouble(ViewOf(dtype, {&byte, 1}), 0);
  }
  return values;
}

// Calls `use` with a function from (bytes, index) to the element as a double.
template <typename Use>
auto WithFloats(DType dtype, Use use) {
  using Bytes = std::span<const uint8_t>;
  if (dtype == kFloat64) return use([](Bytes b, int64_t i) { return Load<double>(b, i); });
  if (dtype == kFloat32 || dtype == DTypeCode::kTFloat32) {
    return use([](Bytes b, int64_t i) -> double { return Load<float>(b, i); });
  }
  if (dtype == kFloat16) {
    return use([](Bytes b, int64_t i) -> double { return HalfToFloat(Load<uint16_t>(b, i)); });
  }
  if (dtype == DTypeCode::kBFloat16) {
    return use([](Bytes b, int64_t i) -> double { return BFloat16ToFloat(Load<uint16_t>(b, i)); });
  }
  std::array<double, 256> values = ByteValues(dtype);
  return use([&](Bytes b, int64_t i) { return values[b[static_cast<size_t>(i)]]; });
}

// Returns the largest |of(i)| that is finite, 0 if none is.
template <typename Of>
double LargestFinite(int64_t count, Of of) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    double magnitude = std::abs(of(i));
    if (magnitude > largest && std::isfinite(magnitude)) largest = magnitude;
  }
  return largest;
}

double LargestOf(DType dtype, std::span<const uint8_t> bytes) {
  if (!IsStoredFloat(dtype)) return 0;
  return WithFloats(dtype, [&](auto load) {
    return LargestFinite(ElementsIn(dtype, bytes.size()),
                         [&](int64_t i) { return load(bytes, i); });
  });
}

// |got - want| in units of `bound`.
double ErrorOf(double want, double got, double bound) {
  if (want == got || (std::isnan(want) && std::isnan(got))) return 0;
  double difference = std::abs(want - got);
  // The same goes for one that is no number, and for infinities that differ.
  if (!(difference <= std::numeric_limits<double>::max()) || bound == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return difference / bound;
}

ResultError CompareFloats(const ExpectedResult& expected, std::span<const uint8_t> got,
                          const ErrorBound& bound) {
  double own = Epsilon(expected.dtype);
  double epsilon = std::max(bound.epsilon, own);
  double absolute = 16 * std::sqrt(std::max(bound.terms, 1.0)) * epsilon * expected.scale;
  return WithFloats(expected.dtype, [&](auto load) {
    ResultError worst;
    for (int64_t i = 0, n = ElementsIn(expected.dtype, got.size()); i < n; ++i) {
      double want = load(expected.bytes, i);
      double error = ErrorOf(want, load(got, i), absolute + 4 * own * std::abs(want));
      if (error > worst.error) worst = {error, i};
    }
    return worst;
  });
}

// Counts a difference of 1 as an error of 1, which is at the bound; any larger one is wrong.
template <typename T>
ResultError CompareSmallIntegers(std::span<const uint8_t> want, std::span<const uint8_t> got) {
  ResultError worst;
  for (int64_t i = 0; i < std::ssize(got); ++i) {
    double error = std::abs(int{Load<T>(want, i)} - int{Load<T>(got, i)});
    if (error > worst.error) worst = {error, i};
  }
  return worst;
}

// For results that are not equal byte by byte.
ResultError FirstDifference(DType dtype, std::span<const uint8_t> want,
                            std::span<const uint8_t> got) {
  int64_t byte = std::ranges::mismatch(want, got).in1 - want.begin();
  return {std::numeric_limits<double>::infinity(), byte * 8 / dtype.bits()};
}

}  // namespace

void Unmap::operator()(uint8_t* pages) const {
  ::munmap(pages, bytes);
}

Status GuardedMemory::Reserve(int64_t bytes, size_t slot, const std::string& what) {
  auto size = static_cast<size_t>(bytes);
  size_t from_end = RoundUp(size, kAlignment) + kPatternBytes + ShiftOf(slot);
  size_t needed = RoundUp(kPatternBytes + from_end, PageBytes());
  if (needed > usable_) {
    bytes_ = {};
    usable_ = 0;
    pages_.reset();
    TCC_ASSIGN_OR_RETURN(pages_, MapPages(needed + PageBytes(), what));
    if (::mprotect(pages_.get() + needed, PageBytes(), PROT_NONE) != 0) {
      return absl::ResourceExhaustedError(fmt::format("no page can be guarded behind {}", what));
    }
    usable_ = needed;
  }
  bytes_ = {pages_.get() + usable_ - from_end, size};
  RepairPattern();
  return OkStatus();
}

std::span<uint8_t> GuardedMemory::PatternBefore() const {
  return {bytes_.data() - kPatternBytes, kPatternBytes};
}

std::span<uint8_t> GuardedMemory::PatternAfter() const {
  uint8_t* end = bytes_.data() + bytes_.size();
  return {end, pages_.get() + usable_};
}

std::string_view GuardedMemory::DamagedSide() const {
  if (!IsPattern(PatternBefore())) return "before";
  if (!IsPattern(PatternAfter())) return "after";
  return "";
}

void GuardedMemory::RepairPattern() {
  std::ranges::fill(PatternBefore(), kPattern);
  std::ranges::fill(PatternAfter(), kPattern);
}

Status OperandCopies::Fill(std::span<const uint8_t> source, int64_t count, size_t slot,
                           const std::string& what) {
  // A line more, or the copies of an operand of whole pages would share the sets of a cache.
  size_t stride = RoundUp(source.size(), kAlignment) + kAlignment;
  size_t needed = ShiftOf(slot) + stride * static_cast<size_t>(count);
  count_ = 0;
  if (needed > capacity_) {
    capacity_ = 0;
    pages_.reset();
    TCC_ASSIGN_OR_RETURN(pages_, MapPages(needed, what));
    capacity_ = needed;
  }
  first_ = pages_.get() + ShiftOf(slot);
  stride_ = static_cast<int64_t>(stride);
  for (int64_t i = 0; i < count; ++i) std::ranges::copy(source, at(i));
  count_ = count;
  return OkStatus();
}

void FillValues(DType dtype, std::span<uint8_t> bytes, uint64_t seed, double extreme) {
  Random random(seed);
  if (dtype == kFloat32) {
    FillEach<float>(bytes, random.Fork(), UniformOf);
  } else if (dtype == kFloat64) {
    FillEach<double>(bytes, random.Fork(), [](uint64_t draw) {
      return static_cast<double>(draw >> 11) * (2 * double{kLimit} * 0x1p-53) - kLimit;
    });
  } else if (!IsStoredFloat(dtype)) {
    FillBits(bytes, random.Fork(), LowestBits(dtype.bits()));
  } else if (dtype == DTypeCode::kTFloat32) {
    FillEach<float>(bytes, random.Fork(),
                    [](uint64_t draw) { return RoundToTFloat32(UniformOf(draw)); });
  } else if (dtype.bits() == 16) {
    FillFromTable<uint16_t>(dtype, bytes, random.Fork());
  } else {
    FillFromTable<uint8_t>(dtype, bytes, random.Fork());
  }
  if (extreme > 0 && dtype.is_float()) SprinkleExtremes(dtype, bytes, random, extreme);
}

void PerturbValues(DType dtype, std::span<uint8_t> bytes, uint64_t seed, double delta) {
  if (!dtype.is_float()) return;
  Random random(~seed);  // not the values' own numbers
  WithFloats(dtype, [&](auto load) {
    for (int64_t i = 0, count = ElementsIn(dtype, bytes.size()); i < count; ++i) {
      double factor = random.OneIn(2) ? 1 + delta : 1 - delta;
      StoreFloat(dtype, bytes, i, load(bytes, i) * factor);
    }
  });
}

uint64_t HashOf(std::span<const uint8_t> bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  // Four chains, or each word would wait for the multiplication before.
  std::array<uint64_t, 4> sums = {1, 2, 3, 4};
  constexpr size_t kStep = sizeof(sums);
  size_t at = 0;
  for (; at + kStep <= bytes.size(); at += kStep) {
    std::array<uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data() + at, kStep);
    for (size_t i = 0; i < words.size(); ++i) {
      sums[i] = (sums[i] ^ words[i]) * kFactor;
      sums[i] ^= sums[i] >> 32;
    }
  }
  uint64_t hash = bytes.size();
  for (; at < bytes.size(); ++at) hash = (hash ^ bytes[at]) * kFactor;
  for (uint64_t sum : sums) hash = (hash ^ sum ^ (hash >> 32)) * kFactor;
  return hash;
}

StatusOr<ExpectedResult> KeepResult(DType dtype, std::span<const uint8_t> bytes,
                                    const std::string& what) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> memory, AllocateMemory(std::ssize(bytes), what));
  std::ranges::copy(bytes, memory.get());
  std::span<const uint8_t> kept(memory.get(), bytes.size());
  return ExpectedResult{dtype, std::move(memory), kept, LargestOf(dtype, kept)};
}

void NoteSensitivity(ExpectedResult& expected, std::span<const uint8_t> perturbed, double delta) {
  DType dtype = expected.dtype;
  if (!dtype.is_float()) return;
  TCC_CHECK(expected.bytes.size() == perturbed.size()) << perturbed.size();
  double moved = WithFloats(dtype, [&](auto load) {
    return LargestFinite(ElementsIn(dtype, perturbed.size()),
                         [&](int64_t i) { return load(perturbed, i) - load(expected.bytes, i); });
  });
  expected.scale = std::max(expected.scale, moved / delta);
}

ResultError CompareResult(const ExpectedResult& expected, std::span<const uint8_t> got,
                          const ErrorBound& bound) {
  TCC_CHECK(expected.bytes.size() == got.size()) << expected.bytes.size() << ", " << got.size();
  if (got.empty() || std::memcmp(expected.bytes.data(), got.data(), got.size()) == 0) return {};
  DType dtype = expected.dtype;
  if (IsStoredFloat(dtype)) return CompareFloats(expected, got, bound);
  if (dtype.is_integer() && dtype.bits() == 8 && bound.epsilon > 0) {
    return dtype.is_signed_integer() ? CompareSmallIntegers<int8_t>(expected.bytes, got)
                                     : CompareSmallIntegers<uint8_t>(expected.bytes, got);
  }
  return FirstDifference(dtype, expected.bytes, got);
}

std::string ElementText(DType dtype, std::span<const uint8_t> bytes, int64_t element) {
  Tensor view = ViewOf(dtype, bytes);
  if (!IsStoredFloat(dtype)) return fmt::format("{}", ElementAsInt(view, element));
  double value = ElementAsDouble(view, element);
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

}  // namespace tcc
