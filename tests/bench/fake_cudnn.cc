// cuDNN's backend interface as far as bench/gpu/cudnn_library.h goes: on host memory, which is what
// the emulated driver has. It keeps to the rules that the real one has: attributes are set before a
// descriptor is finalized, descriptors that others refer to are finalized, types are the right
// ones. Heuristics name engine 1, which is right; 2, which has tensor cores and rounds to tf32; 3,
// which is right and by Winograd; 4, for which no plan can be made; 5, which computes something
// else.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/cudnn_library.h"
#include "support/dtype.h"
#include "tests/bench/fake_log.h"

namespace {

using namespace tcc::cudnn;
using tcc::test::LogCall;

constexpr int kBadParameter = 2000, kNotSupported = 3000;

struct Object {
  int type = 0;
  bool finalized = false;
  std::map<int, std::pair<int, std::vector<uint8_t>>> attributes = {};  // with their types

  template <typename T>
  std::vector<T> All(int attribute) const {
    auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    const std::vector<uint8_t>& bytes = found->second.second;
    // T may be a pointer.
    std::vector<T> values(bytes.size() / sizeof(T));  // NOLINT(bugprone-sizeof-expression)
    std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
    return values;
  }
  template <typename T>
  T One(int attribute) const {
    std::vector<T> values = All<T>(attribute);
    return values.size() == 1 ? values[0] : T();
  }
  const Object& At(int attribute) const { return *One<Object*>(attribute); }
};

size_t BytesOf(int type) {
  switch (type) {
    case kTypeBoolean:
      return 1;
    case kTypeInt64:
    case kTypeHandle:
    case kTypePointer:
    case kTypeDescriptor:
      return 8;
    default:
      return 4;
  }
}

// What each attribute is of.
int TypeOf(int attribute) {
  switch (attribute) {
    case kPointwisePrecision:
    case kConvolutionPrecision:
    case kTensorDataType:
      return kTypeDataType;
    case kPointwiseMode:
      return kTypePointwiseMode;
    case kConvolutionMode:
      return kTypeConvolutionMode;
    case kHeuristicMode:
      return kTypeHeuristicMode;
    case kForwardAlpha:
    case kForwardBeta:
      return kTypeFloat;
    case kTensorIsVirtual:
    case kTensorIsByValue:
      return kTypeBoolean;
    case kNormMode:
      return kTypeNormMode;
    case kNormPhase:
      return kTypeNormPhase;
    case kGraphHandle:
    case kPlanHandle:
      return kTypeHandle;
    case kPackPointers:
    case kPackWorkspace:
      return kTypePointer;
    case kHeuristicGraph:
    case kPlanConfig:
    case kForwardConvolution:
    case kForwardW:
    case kForwardX:
    case kForwardY:
    case kPointwiseDescriptor:
    case kPointwiseX:
    case kPointwiseB:
    case kPointwiseY:
    case kGraphOperations:
    case kNormX:
    case kNormScale:
    case kNormBias:
    case kNormEpsilon:
    case kNormY:
      return kTypeDescriptor;
    default:
      return kTypeInt64;
  }
}

// A tensor's elements, wherever they are.
struct View {
  std::vector<int64_t> dims, strides;
  float* data = nullptr;

  float& At(int64_t n, int64_t c, int64_t y, int64_t x) const {
    std::array<int64_t, 4> index = {n, c, y, x};
    int64_t offset = 0;
    for (size_t i = 0; i < 4; ++i) offset += (dims[i] == 1 ? 0 : index[i]) * strides[i];
    return data[offset];
  }
};

// The memory of a run: what was given, and virtual tensors.
struct Memory {
  std::map<int64_t, float*> given = {};
  std::map<int64_t, std::vector<float>> own = {};
  bool rounds = false;  // operands of convolutions to mantissas of 10 bits

  // An operand of 16 bits.
  float* Widened(const Object& tensor, int64_t id, int type) {
    std::vector<float>& values = own[id];
    const auto* words = reinterpret_cast<const uint16_t*>(given.at(id));
    size_t count = 1;
    for (int64_t dim : tensor.All<int64_t>(kTensorDimensions)) count *= static_cast<size_t>(dim);
    values.resize(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = type == kHalf ? tcc::HalfToFloat(words[i]) : tcc::BFloat16ToFloat(words[i]);
    }
    return values.data();
  }

  float Multiplied(float x) const {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    if (rounds) bits = (bits + 0x1000U) & ~0x1fffU;
    std::memcpy(&x, &bits, sizeof(bits));
    return x;
  }

  View Of(const Object& tensor) {
    View view{tensor.All<int64_t>(kTensorDimensions), tensor.All<int64_t>(kTensorStrides)};
    auto id = tensor.One<int64_t>(kTensorId);
    if (tensor.One<uint8_t>(kTensorIsVirtual) != 0) {
      std::vector<float>& values = own[id];
      size_t count = 1;
      for (int64_t dim : view.dims) count *= static_cast<size_t>(dim);
      values.resize(count);
      view.data = values.data();
    } else if (int type = tensor.One<int>(kTensorDataType); type != kFloat) {
      view.data = Widened(tensor, id, type);
    } else {
      view.data = given.at(id);
    }
    return view;
  }
};

template <typename Function>
void ForEach(const View& view, Function function) {
  for (int64_t n = 0; n < view.dims[0]; ++n) {
    for (int64_t c = 0; c < view.dims[1]; ++c) {
      for (int64_t y = 0; y < view.dims[2]; ++y) {
        for (int64_t x = 0; x < view.dims[3]; ++x) function(n, c, y, x);
      }
    }
  }
}

void Convolve(const Object& operation, Memory& memory) {
  const Object& convolution = operation.At(kForwardConvolution);
  View x = memory.Of(operation.At(kForwardX)), w = memory.Of(operation.At(kForwardW));
  View y = memory.Of(operation.At(kForwardY));
  auto strides = convolution.All<int64_t>(kConvolutionStrides);
  auto before = convolution.All<int64_t>(kConvolutionPrePaddings);
  int64_t filters_of_group = y.dims[1] / (x.dims[1] / w.dims[1]);
  ForEach(y, [&](int64_t n, int64_t f, int64_t oy, int64_t ox) {
    double sum = 0;
    for (int64_t c = 0; c < w.dims[1]; ++c) {
      for (int64_t ky = 0; ky < w.dims[2]; ++ky) {
        for (int64_t kx = 0; kx < w.dims[3]; ++kx) {
          int64_t iy = oy * strides[0] + ky - before[0], ix = ox * strides[1] + kx - before[1];
          if (iy < 0 || iy >= x.dims[2] || ix < 0 || ix >= x.dims[3]) continue;
          int64_t channel = f / filters_of_group * w.dims[1] + c;
          sum += double{memory.Multiplied(x.At(n, channel, iy, ix))} *
                 memory.Multiplied(w.At(f, c, ky, kx));
        }
      }
    }
    y.At(n, f, oy, ox) = static_cast<float>(sum);
  });
}

void Pointwise(const Object& operation, Memory& memory) {
  int mode = operation.At(kPointwiseDescriptor).One<int>(kPointwiseMode);
  View x = memory.Of(operation.At(kPointwiseX)), y = memory.Of(operation.At(kPointwiseY));
  View b = mode == kAdd ? memory.Of(operation.At(kPointwiseB)) : x;
  ForEach(y, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    float value = x.At(n, c, i, j);
    y.At(n, c, i, j) = mode == kAdd ? value + b.At(n, c, i, j) : std::max(value, 0.0F);
  });
}

// Along all axes but the first, as a layer is.
void Normalize(const Object& operation, Memory& memory) {
  View x = memory.Of(operation.At(kNormX)), y = memory.Of(operation.At(kNormY));
  View scale = memory.Of(operation.At(kNormScale)), bias = memory.Of(operation.At(kNormBias));
  View epsilon = memory.Of(operation.At(kNormEpsilon));
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < x.dims[1]; ++c) sum += x.At(n, c, 0, 0);
    const double mean = sum / static_cast<double>(x.dims[1]);
    for (int64_t c = 0; c < x.dims[1]; ++c) squares += std::pow(x.At(n, c, 0, 0) - mean, 2);
    const double variance = squares / static_cast<double>(x.dims[1]);
    const double root = std::sqrt(variance + epsilon.At(0, 0, 0, 0));
    for (int64_t c = 0; c < x.dims[1]; ++c) {
      const double value = (x.At(n, c, 0, 0) - mean) / root;
      y.At(n, c, 0, 0) = static_cast<float>(value * scale.At(0, c, 0, 0) + bias.At(0, c, 0, 0));
    }
  }
}

// The engines that a heuristic names.
std::vector<int64_t> EnginesOf(int mode) {
  if (mode == kModeA) return {1, 2, 5};
  if (mode == kModeB) return {3};
  return {4};
}

int NoteOf(int64_t engine) {
  return engine == 2 ? kTensorCore : engine == 3 ? kWinograd : -1;
}

int handle_object = 0;

// Where a configuration keeps its engine and graph, beyond the attributes that exist.
constexpr int kOwnEngine = -1, kOwnGraph = -2;

template <typename T>
void Put(Object& object, int attribute, T value) {
  std::vector<uint8_t> bytes(sizeof(T));  // NOLINT(bugprone-sizeof-expression): also of pointers
  std::memcpy(bytes.data(), static_cast<const void*>(&value), bytes.size());
  object.attributes[attribute] = {kTypeInt64, bytes};
}

int GetResults(const Object& heuristic, int64_t requested, int64_t* count, void* values) {
  std::vector<int64_t> engines = EnginesOf(heuristic.One<int>(kHeuristicMode));
  if (requested == 0) {
    *count = static_cast<int64_t>(engines.size());
    return 0;
  }
  *count = std::min(requested, static_cast<int64_t>(engines.size()));
  auto** configs = static_cast<Object**>(values);
  for (int64_t i = 0; i < *count; ++i) {
    if (configs[i]->type != kEngineConfig) return kBadParameter;
    Put(*configs[i], kOwnEngine, engines[static_cast<size_t>(i)]);
    Put(*configs[i], kOwnGraph, heuristic.One<Object*>(kHeuristicGraph));
    configs[i]->finalized = true;
  }
  return 0;
}

}  // namespace

extern "C" {

int cudnnCreate(void** handle) {
  LogCall("cudnnCreate");
  *handle = &handle_object;
  return 0;
}
int cudnnSetStream(void*, void* stream) {
  LogCall("cudnnSetStream");
  return stream != nullptr ? 0 : kBadParameter;
}
const char* cudnnGetErrorString(int status) {
  return status == kBadParameter ? "BAD_PARAM" : status == kNotSupported ? "NOT_SUPPORTED" : "?";
}
int cudnnBackendCreateDescriptor(int type, void** descriptor) {
  *descriptor = new Object{.type = type};
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Object*>(descriptor);
  return 0;
}
int cudnnBackendFinalize(void* descriptor) {
  auto& object = *static_cast<Object*>(descriptor);
  LogCall("cudnnBackendFinalize " + std::to_string(object.type));
  if (object.type == kExecutionPlan && object.At(kPlanConfig).One<int64_t>(kOwnEngine) == 4) {
    return kNotSupported;
  }
  object.finalized = true;
  return 0;
}
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, int64_t count,
                             const void* values) {
  auto& object = *static_cast<Object*>(descriptor);
  if (object.finalized || type != TypeOf(attribute)) return kBadParameter;
  if (type == kTypeDescriptor) {
    auto* const* others = static_cast<Object* const*>(values);
    bool ready = std::all_of(others, others + count, [](Object* o) { return o->finalized; });
    if (!ready) return kBadParameter;
  }
  const auto* bytes = static_cast<const uint8_t*>(values);
  object.attributes[attribute] = {type,
                                  {bytes, bytes + static_cast<size_t>(count) * BytesOf(type)}};
  return 0;
}
int cudnnBackendGetAttribute(const void* descriptor, int attribute, int type, int64_t requested,
                             int64_t* count, void* values) {
  const auto& object = *static_cast<const Object*>(descriptor);
  if (attribute == kHeuristicResults && type == kTypeDescriptor) {
    return object.finalized ? GetResults(object, requested, count, values) : kBadParameter;
  }
  *count = 1;
  if (attribute == kConfigEngine && type == kTypeDescriptor) {
    auto* engine = *static_cast<Object**>(values);
    Put(*engine, kEngineIndex, object.One<int64_t>(kOwnEngine));
    return 0;
  }
  if (attribute == kEngineIndex && type == kTypeInt64) {
    *static_cast<int64_t*>(values) = object.One<int64_t>(kEngineIndex);
    return 0;
  }
  if (attribute == kEngineNotes && type == kTypeNumericalNote) {
    int note = NoteOf(object.One<int64_t>(kEngineIndex));
    *count = note >= 0 ? 1 : 0;
    if (note >= 0) *static_cast<int*>(values) = note;
    return 0;
  }
  if (attribute != kPlanWorkspaceBytes || type != kTypeInt64) return kBadParameter;
  *static_cast<int64_t*>(values) = 1024;
  return 0;
}
int cudnnBackendExecute(void* handle, void* plan_descriptor, void* pack_descriptor) {
  const auto& plan = *static_cast<Object*>(plan_descriptor);
  const auto& pack = *static_cast<Object*>(pack_descriptor);
  const Object& config = plan.At(kPlanConfig);
  auto engine = config.One<int64_t>(kOwnEngine);
  LogCall("cudnnBackendExecute engine " + std::to_string(engine));
  bool ready = handle == &handle_object && plan.finalized && pack.finalized &&
               pack.One<void*>(kPackWorkspace) != nullptr;
  if (!ready) return kBadParameter;
  Memory memory;
  auto ids = pack.All<int64_t>(kPackIds);
  auto pointers = pack.All<float*>(kPackPointers);
  for (size_t i = 0; i < ids.size(); ++i) memory.given[ids[i]] = pointers[i];
  memory.rounds = engine == 2;
  for (Object* operation : config.At(kOwnGraph).All<Object*>(kGraphOperations)) {
    if (operation->type == kOperationConvolutionForward) Convolve(*operation, memory);
    if (operation->type == kOperationPointwise) Pointwise(*operation, memory);
    if (operation->type == kOperationNormForward) Normalize(*operation, memory);
  }
  if (engine == 5) *pointers[1] += 1;
  return 0;
}

}  // extern "C"
