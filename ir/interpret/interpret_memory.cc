#include "ir/interpret/interpret_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/expr/stochastic_rounding.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc::interpret {
namespace {

constexpr uint64_t kPoisonBits = 0x7ff8'dead'0ce1'15ed;

// Returns what an integer cell holds before it is written: no index of a tensor that a test has.
int64_t Garbage(DType dtype) {
  return dtype == kBool ? 1 : 0x5a5a'5a5a >> (32 - std::min(dtype.bits(), 32));
}

bool IsPoison(double value) {
  return std::bit_cast<uint64_t>(value) == kPoisonBits;
}

struct Half {
  uint16_t bits;
  operator double() const { return HalfToFloat(bits); }
};
struct Brain {
  uint16_t bits;
  operator double() const { return BFloat16ToFloat(bits); }
};

template <DTypeCode code>
struct Float8 {
  uint8_t bits;
  operator double() const { return Float8ToDouble(code, bits); }
};
// A view of elements of which several share a byte.
template <DTypeCode code>
struct Packed {
  const uint8_t* bytes;
  int64_t operator[](int64_t index) const { return PackedAt(code, bytes, index); }
};

// Reads the cells of all lanes; of the active ones only if masked-out lanes may lie outside.
template <typename From, typename Out>
void Gather(const From& from, const Offsets& at, int n, std::span<const int> lanes, Out* out) {
  if (at.kind == Offsets::kUniform) {
    out[0] = static_cast<Out>(from[at.At(lanes.empty() ? 0 : lanes[0])]);
  } else if (at.masked_only) {
    for (int lane : lanes) out[lane] = static_cast<Out>(from[at.At(lane)]);
  } else if (at.kind == Offsets::kContiguous) {
    int64_t first = at.At(0);
    for (int i = 0; i < n; ++i) out[i] = static_cast<Out>(from[first + i]);
  } else {
    for (int i = 0; i < n; ++i) out[i] = static_cast<Out>(from[at.At(i)]);
  }
}

template <typename F>
void ForLanes(const Offsets& at, int n, std::span<const int> lanes, F&& f) {
  if (at.kind == Offsets::kUniform) {
    f(lanes.empty() ? 0 : lanes[0]);
  } else if (!lanes.empty()) {
    for (int lane : lanes) f(lane);
  } else {
    for (int i = 0; i < n; ++i) f(i);
  }
}

template <typename T>
void Scatter(T* to, const Offsets& at, int n, std::span<const int> lanes, const T* in,
             bool uniform) {
  int step = uniform ? 0 : 1;
  if (!lanes.empty()) {
    for (int lane : lanes) to[at.At(lane)] = in[lane * step];
  } else if (at.kind == Offsets::kContiguous && !uniform) {
    std::memcpy(to + at.At(0), in, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int i = 0; i < n; ++i) to[at.At(i)] = in[i * step];
  }
}

template <typename F>
void WithNative(DType dtype, const uint8_t* bytes, F&& f) {
  switch (dtype.code()) {
#define TCC_NATIVE(code, type) \
  case DTypeCode::code:        \
    return f(reinterpret_cast<const type*>(bytes));
    TCC_NATIVE(kFloat16, Half)
    TCC_NATIVE(kBFloat16, Brain)
    TCC_NATIVE(kFloat32, float)
    TCC_NATIVE(kTFloat32, float)
    TCC_NATIVE(kFloat64, double)
    TCC_NATIVE(kBool, uint8_t)
    TCC_NATIVE(kInt8, int8_t)
    TCC_NATIVE(kInt16, int16_t)
    TCC_NATIVE(kInt32, int32_t)
    TCC_NATIVE(kInt64, int64_t)
    TCC_NATIVE(kUInt8, uint8_t)
    TCC_NATIVE(kUInt16, uint16_t)
    TCC_NATIVE(kUInt32, uint32_t)
    TCC_NATIVE(kUInt64, uint64_t)
    TCC_NATIVE(kFloat8E4M3, Float8<DTypeCode::kFloat8E4M3>)
    TCC_NATIVE(kFloat8E5M2, Float8<DTypeCode::kFloat8E5M2>)
#undef TCC_NATIVE
#define TCC_PACKED(code) \
  case DTypeCode::code:  \
    return f(Packed<DTypeCode::code>{bytes});
    TCC_PACKED(kInt4)
    TCC_PACKED(kUInt4)
    TCC_PACKED(kInt2)
    TCC_PACKED(kUInt2)
#undef TCC_PACKED
  }
  TCC_UNREACHABLE();
}

}  // namespace

void Cells::Declare(const std::string& name, DType dtype, std::span<const int64_t> origin,
                    std::span<const int64_t> size, int circular) {
  name_ = name;
  dtype_ = dtype;
  origin_.assign(origin.begin(), origin.end());
  size_.assign(size.begin(), size.end());
  stride_.assign(size.size(), 1);
  circular_ = circular;
  count_ = 1;
  for (size_t d = size.size(); d-- > 0;) {
    stride_[d] = count_;
    count_ *= size[d] < 0 ? 0 : size[d];
  }
}

void Cells::Poison() {
  if (HoldsFloats(dtype_)) {
    reals_.assign(static_cast<size_t>(count_), std::bit_cast<double>(kPoisonBits));
  } else {
    integers_.assign(static_cast<size_t>(count_), Garbage(dtype_));
    written_.assign(static_cast<size_t>(count_), 0);
  }
}

void Cells::ReadFrom(const Tensor& tensor) {
  native_ = tensor.bytes.data();
}

void Cells::CopyFrom(const Tensor& tensor) {
  Poison();
  if (HoldsFloats(dtype_)) {
    WithNative(dtype_, tensor.bytes.data(), [&](const auto& from) {
      for (int64_t i = 0; i < count_; ++i) reals_[i] = static_cast<double>(from[i]);
    });
  } else {
    WithNative(dtype_, tensor.bytes.data(), [&](const auto& from) {
      for (int64_t i = 0; i < count_; ++i) integers_[i] = static_cast<int64_t>(from[i]);
    });
    written_.assign(written_.size(), 1);
  }
}

void Cells::RoundInto(Tensor& tensor, std::optional<uint64_t> rounding_seed) const {
  if (dtype_ == kFloat32) {
    auto* to = reinterpret_cast<float*>(MutableBytes(tensor).data());
    for (int64_t i = 0; i < count_; ++i) to[i] = static_cast<float>(reals_[i]);
    return;
  }
  for (int64_t i = 0; i < count_; ++i) {
    if (HoldsFloats(dtype_)) {
      double value = reals_[i];
      SetElement(tensor, i,
                 rounding_seed ? RoundStochastically(dtype_, value, *rounding_seed) : value);
    } else {
      SetElementInt(tensor, i, integers_[i]);
    }
  }
}

bool Cells::Load(const Offsets& at, int n, std::span<const int> lanes, double* out,
                 int* bad) const {
  if (native_) {
    WithNative(dtype_, native_, [&](const auto& from) { Gather(from, at, n, lanes, out); });
    return true;
  }
  Gather(reals_.data(), at, n, lanes, out);
  int count = at.kind == Offsets::kUniform ? 1 : n;
  // Lanes that were not loaded hold older values, which at worst cause the test lane by lane.
  int64_t poisoned = 0;
  for (int i = 0; i < count; ++i) poisoned |= int64_t{IsPoison(out[i])};
  if (!poisoned) return true;
  *bad = -1;
  ForLanes(at, n, lanes, [&](int lane) {
    if (IsPoison(out[at.kind == Offsets::kUniform ? 0 : lane]) && *bad < 0) *bad = lane;
  });
  return *bad < 0;
}

bool Cells::Load(const Offsets& at, int n, std::span<const int> lanes, int64_t* out,
                 int* bad) const {
  if (native_) {
    WithNative(dtype_, native_, [&](const auto& from) { Gather(from, at, n, lanes, out); });
    return true;
  }
  Gather(integers_.data(), at, n, lanes, out);
  *bad = -1;
  ForLanes(at, n, lanes, [&](int lane) {
    if (!written_[at.At(lane)] && *bad < 0) *bad = lane;
  });
  return *bad < 0;
}

void Cells::Store(const Offsets& at, int n, std::span<const int> lanes, const double* in,
                  bool uniform) {
  Scatter(reals_.data(), at, n, lanes, in, uniform);
}

void Cells::Store(const Offsets& at, int n, std::span<const int> lanes, const int64_t* in,
                  bool uniform) {
  Scatter(integers_.data(), at, n, lanes, in, uniform);
  const uint8_t yes = 1;
  Scatter(written_.data(), at, n, lanes, &yes, true);
}

void Cells::Forget(int64_t offset) {
  if (HoldsFloats(dtype_)) {
    reals_[offset] = std::bit_cast<double>(kPoisonBits);
  } else {
    written_[offset] = 0;
  }
}

void Cells::Clear(int64_t offset) {
  if (HoldsFloats(dtype_)) {
    reals_[offset] = 0;
  } else {
    integers_[offset] = 0;
    written_[offset] = 1;
  }
}

bool Cells::IsWritten(int64_t offset) const {
  if (native_) return true;
  return HoldsFloats(dtype_) ? !IsPoison(reals_[offset]) : written_[offset] != 0;
}

void Cells::CopyCell(int64_t to, const Cells& from, int64_t offset) {
  const int64_t zero = 0;
  Offsets source{.base = offset, .lanes = &zero};
  int bad = 0;
  if (HoldsFloats(dtype_)) {
    from.Load(source, 1, {}, &reals_[to], &bad);
  } else {
    from.Load(source, 1, {}, &integers_[to], &bad);
    written_[to] = 1;
  }
}

bool Cells::NoteUse(int64_t offset, bool write, int64_t thread, uint64_t epoch) {
  if (ignores_uses_) return true;
  if (static_cast<int64_t>(uses_.size()) < count_) uses_.resize(static_cast<size_t>(count_));
  CellUse& use = uses_[offset];
  bool written = use.write_epoch == epoch;
  bool read = use.read_epoch == epoch;
  bool race = (written && use.writer != thread) || (write && read && use.reader != thread);
  if (write) {
    use.write_epoch = epoch;
    use.writer = thread;
  } else {
    use.reader = read && use.reader != thread ? kManyReaders : thread;
    use.read_epoch = epoch;
  }
  return !race;
}

}  // namespace tcc::interpret
