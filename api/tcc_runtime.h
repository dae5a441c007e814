#pragma once

// The API that runs compiled networks: all of library `tcc_runtime`. tcc.h adds compilation.
//
//   tcc::Result<tcc::Module> module = tcc::Module::Load("model.tcc");
//   tcc::Status status = module->Run({tcc::In("x", x)}, {tcc::Out("y", y)});
//
// Nothing here prints; nothing throws except std::bad_alloc from functions that return no Status or
// Result. A bug in tcc ends the program with a message. docs/embedding.md is the guide.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tcc_status.h"

namespace tcc {
TCC_API_BEGIN

// A bool takes a byte; types of 4 and 2 bits share one; kTFloat32 is f32 whose last 13 bits are 0.
// clang-format off
enum class DType : std::uint8_t {
  kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64, kFloat16, kBFloat16,
  kFloat32, kFloat64, kFloat8E4M3, kFloat8E5M2, kInt4, kUInt4, kTFloat32, kInt2, kUInt2,
};
// clang-format on

// Returns e.g. "f32", "i64", "bool".
TCC_EXPORT std::string_view ToString(DType dtype);

// The order of elements in memory. kRowMajor: the last dimension is contiguous, without gaps.
enum class Layout : std::uint8_t { kRowMajor };

// An input or an output of a module. Compile gives every dimension a size.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  Layout layout = Layout::kRowMajor;
  std::vector<std::int64_t> shape;     // -1: free, Run's inputs determine it
  std::vector<std::string> dim_names;  // of the free dimensions, "" for the others
  std::size_t bytes = 0;               // of the whole tensor; 0 if a dimension is free
};

struct KernelInfo {
  std::string name;
  std::vector<std::string> nodes;  // the model's nodes that it computes
  std::int64_t flops = 0;          // per call
};

// The alignment of memory that tcc allocates; the target `reference` copies tensors without it.
inline constexpr std::size_t kAlignment = 64;

// Allocates zeros at a multiple of kAlignment. Returns null where memory is short.
TCC_EXPORT std::shared_ptr<void> AllocateAligned(std::size_t bytes);

// A tensor in the caller's memory. Without a name it is matched by its position in the list.
struct Input {
  std::string_view name;
  DType dtype;
  const void* data;
  std::size_t bytes;
  std::span<const std::int64_t> shape = {};  // empty: as declared
};
struct Output {
  std::string_view name;
  DType dtype;
  void* data;
  std::size_t bytes;
  std::span<const std::int64_t> shape = {};  // empty: as computed
};

// An input or output in GPU memory, at a multiple of kDeviceAlignment. Without a name it is matched
// by its position in the list.
struct DeviceTensor {
  std::string_view name;
  DType dtype;
  void* data;  // a CUdeviceptr, or a pointer from cudaMalloc; inputs are only read
  std::size_t bytes;
  std::span<const std::int64_t> shape = {};  // empty: an input as declared, an output as computed
};

inline constexpr std::size_t kDeviceAlignment = 16;

// Returns the DType of bool, an integer type, float or double.
template <typename T>
constexpr DType DTypeOf() {
  using Value = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<Value> && sizeof(Value) <= 8, "a tensor has no such elements");
  if (std::is_same_v<Value, bool>) return DType::kBool;
  if (std::is_floating_point_v<Value>)
    return sizeof(Value) == 4 ? DType::kFloat32 : DType::kFloat64;
  int first = static_cast<int>(std::is_signed_v<Value> ? DType::kInt8 : DType::kUInt8);
  return static_cast<DType>(first + std::bit_width(sizeof(Value)) - 1);
}

// Make an input or output of a vector, an array or a span.
template <typename Range>
Input In(std::string_view name, const Range& range, std::span<const std::int64_t> shape = {}) {
  std::span values(range);
  using Value = typename decltype(values)::value_type;
  return {name, DTypeOf<Value>(), values.data(), values.size_bytes(), shape};
}
template <typename Range>
Output Out(std::string_view name, Range&& range) {
  std::span values(range);
  using Value = typename decltype(values)::value_type;
  return {name, DTypeOf<Value>(), values.data(), values.size_bytes()};
}

// A handle to threads that run kernels; modules may share a pool.
class TCC_EXPORT ThreadPool {
 public:
  // Makes a pool of `threads`, which count the caller of Run. 0: one per CPU that the process may
  // use, but no more than its CPU quota keeps busy.
  explicit ThreadPool(int threads = 0);
  // Returns the actual number, which is smaller where the system has no more threads.
  int threads() const;

 private:
  friend class Module;
  struct State;
  std::shared_ptr<State> state_;
};

struct LoadOptions {
  int threads = 0;                 // of the module's own pool; like ThreadPool's
  std::optional<ThreadPool> pool;  // replaces the module's own
  // If true, weights stay mapped, shared by all processes that load the file, and loading is quick.
  // By default each process copies them into huge pages, from which a CPU streams them faster.
  bool map_weights = false;
  // The GPU by the driver's number; -1: by TCC_CUDA_DEVICE, else 0. Modules for CPUs ignore it.
  int device = -1;
};

// The tensors that Run had to copy because they did not lie at a multiple of their element's size.
struct Copies {
  int tensors = 0;
  std::size_t bytes = 0;
};

class Artefact;  // tcc.h
class Executor;

// A handle to a compiled network, ready to run; copies share weights and kernels. All members may
// be called from several threads at once.
class TCC_EXPORT Module {
 public:
  // Maps a file, which must not change while the module lives. kBadInput for a bad file; kMissing
  // where this machine lacks a CPU feature, GPU or driver that the kernels need.
  static Result<Module> Load(const std::string& path, const LoadOptions& options = {});
  // Loads a file's content. With an owner, bytes at a multiple of kAlignment are used in place and
  // the owner is kept as long; others are copied.
  static Result<Module> Load(std::span<const std::uint8_t> file, std::shared_ptr<const void> owner,
                             const LoadOptions& options = {});
  // Loads the result of Compile; in library `tcc` only.
  static Result<Module> Load(const Artefact& artefact, const LoadOptions& options = {});

  const std::string& name() const;
  const std::string& target() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<KernelInfo>& kernels() const;
  // Returns facts such as {"compiler", "0.1.0"}, and the ONNX model's metadata: {"onnx.KEY", text}.
  const std::vector<std::pair<std::string, std::string>>& properties() const;
  std::size_t weights_bytes() const;
  // Returns a run's memory beyond weights, inputs and outputs; nullopt if free dimensions decide.
  std::optional<std::size_t> activation_bytes() const;
  int threads() const;
  // Returns the number of the GPU that holds the kernels and weights; nullopt on a CPU.
  std::optional<int> device() const;

  // Return the shapes of the outputs for inputs of these types and shapes, without reading data.
  Result<std::vector<std::vector<std::int64_t>>> OutputShapes(std::span<const Input> inputs) const;
  Result<std::vector<std::vector<std::int64_t>>> OutputShapes(
      std::span<const DeviceTensor> inputs) const;

  // Runs the module: reads all inputs and overwrites all outputs, which must not overlap.
  // Concurrent runs of one module each take activation memory, which is kept for later runs.
  // kBadInput, naming the tensor, where something does not fit; kNoMemory where memory is short.
  Status Run(std::span<const Input> inputs, std::span<const Output> outputs,
             Copies* copies = nullptr) const;
  Status Run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
             Copies* copies = nullptr) const {
    return Run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
               copies);
  }

 private:
  friend class Executor;
  friend class Session;
  struct State;
  struct Access;
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A runner of a module with its own activation memory, used by one thread at a time.
class TCC_EXPORT Executor {
 public:
  explicit Executor(const Module& module);
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  // Runs the module like Module::Run.
  Status Run(std::span<const Input> inputs, std::span<const Output> outputs,
             Copies* copies = nullptr);

  // Checks tensors like Run and keeps them for RunBound; their memory must stay where it is. After
  // an error the former tensors are still bound.
  Status Bind(std::span<const Input> inputs, std::span<const Output> outputs);
  // Runs on the bound tensors; on a CPU only the first run allocates. kUsage where none are bound.
  Status RunBound(Copies* copies = nullptr);

  // Enqueues a run on GPU memory in the caller's stream, a CUstream or cudaStream_t; null is the
  // default stream. Nothing is copied. The work goes on after the call, in the stream's order; the
  // caller synchronizes, which also reports kernels that failed. The call waits only for values
  // that a loop or branch depends on, and where memory has to grow and is short or is not pooled.
  //
  // Until the work has ended, the executor and the stream must live, and only other work in the
  // stream may touch the tensors' memory. The executor's next Run or Enqueue must be in the same
  // stream or begin after that end. Names and shapes are read during the call only.
  //
  // Errors: kUsage where the module is not for a GPU; kBadInput, naming the tensor, where a type,
  // shape, size or alignment does not fit, the memory or the stream belongs to another device, or
  // the stream is being captured; kNoMemory where memory for activations is short. After an error
  // nothing is in flight: what was enqueued has ended, and outputs may be partly written.
  Status Enqueue(std::span<const DeviceTensor> inputs, std::span<const DeviceTensor> outputs,
                 void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the library's version, "0.1.0".
TCC_EXPORT std::string_view Version();

TCC_API_END
}  // namespace tcc
