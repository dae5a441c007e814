#pragma once

// Running what tcc compiled: all that library `tcc_runtime` has. tcc.h has compiling too.
//
//   tcc::Result<tcc::Module> module = tcc::Module::Load("model.tcc");
//   tcc::Status status = module->Run({tcc::In("x", x)}, {tcc::Out("y", y)});
//
// Nothing here prints or keeps global state but a count of forks, and nothing throws, but for
// std::bad_alloc where a result that is no Status or Result finds no memory; a bug in tcc ends the
// program with a message. docs/embedding.md says what a fork does.

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

// A bool takes a byte; two elements of kInt4 and kUInt4 share one.
// clang-format off
enum class DType : std::uint8_t {
  kBool, kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64,
  kFloat16, kBFloat16, kFloat32, kFloat64, kFloat8E4M3, kFloat8E5M2, kInt4, kUInt4,
};
// clang-format on

// "f32", "i64", "bool".
TCC_EXPORT std::string_view ToString(DType dtype);

// How elements lie in memory. kRowMajor: the last dimension is contiguous, without gaps.
enum class Layout : std::uint8_t { kRowMajor };

// An input or an output of a module. Compile makes no module with free dimensions yet.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  Layout layout = Layout::kRowMajor;
  std::vector<std::int64_t> shape;     // -1: free, Run's inputs decide
  std::vector<std::string> dim_names;  // of the free dimensions, "" for the others
  std::size_t bytes = 0;               // of the whole tensor; 0 if a dimension is free
};

struct KernelInfo {
  std::string name;
  std::vector<std::string> nodes;  // of the model, that it computes
  std::int64_t flops = 0;          // of one call
};

// Tensors at addresses that are multiples of this are used where they are, others are copied.
inline constexpr std::size_t kAlignment = 64;

// Zeros at a multiple of kAlignment; null where there is no memory.
TCC_EXPORT std::shared_ptr<void> AllocateAligned(std::size_t bytes);

// A tensor in memory of the caller's. Without a name it is the one of its place in the list.
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
};

// An input or output in memory of a GPU, at a multiple of kDeviceAlignment. Without a name it is
// the one of its place in the list.
struct DeviceTensor {
  std::string_view name;
  DType dtype;
  void* data;  // a CUdeviceptr, or what cudaMalloc gave; inputs are only read
  std::size_t bytes;
  std::span<const std::int64_t> shape = {};  // empty: an input's as declared, an output's as it is
};

inline constexpr std::size_t kDeviceAlignment = 16;

// Of bool, integers, float and double.
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

// A vector, an array or a span as an input or output.
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

// Threads that run kernels; modules may share one. A handle.
class TCC_EXPORT ThreadPool {
 public:
  // How many work, the caller of Run among them; 0: one for each CPU that the process may use, no
  // more than its quota of CPU time keeps busy.
  explicit ThreadPool(int threads = 0);
  // As many as there are: fewer than asked for where the system has no more threads.
  int threads() const;

 private:
  friend class Module;
  struct State;
  std::shared_ptr<State> state_;
};

struct LoadOptions {
  int threads = 0;                 // of a pool of the module's own; as ThreadPool's
  std::optional<ThreadPool> pool;  // instead
  // A CPU streams weights faster from huge pages, so Load copies them out of the file, a process
  // each; true leaves them mapped, shared by all processes that load the file and there at once.
  bool map_weights = false;
  // Which GPU, by the driver's number from 0 on; -1: the one that TCC_CUDA_DEVICE names, else 0.
  // What runs on the CPU does not look at it.
  int device = -1;
};

// What Run had to copy because it did not lie at a multiple of kAlignment.
struct Copies {
  int tensors = 0;
  std::size_t bytes = 0;
};

class Artefact;  // tcc.h
class Executor;

// A compiled network, ready to run. A handle: copies share weights and kernels. All members may
// be called from several threads at once.
class TCC_EXPORT Module {
 public:
  // From a file, which is mapped: it must not be changed while the module lives. kBadInput for a
  // bad file; kMissing where this CPU lacks what the kernels need, or where there is no such GPU,
  // no driver for it, or one of another arch than the kernels'.
  static Result<Module> Load(const std::string& path, const LoadOptions& options = {});
  // From a file's content. With an owner, bytes at a multiple of kAlignment are used where they
  // are and the owner is kept as long; others are copied.
  static Result<Module> Load(std::span<const std::uint8_t> file, std::shared_ptr<const void> owner,
                             const LoadOptions& options = {});
  // What Compile gave; in library `tcc` only.
  static Result<Module> Load(const Artefact& artefact, const LoadOptions& options = {});

  const std::string& name() const;
  const std::string& target() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::vector<KernelInfo>& kernels() const;
  // Facts such as {"compiler", "0.1.0"} and {"numeric", "strict"}.
  const std::vector<std::pair<std::string, std::string>>& properties() const;
  std::size_t weights_bytes() const;
  // What one run at a time needs besides weights, inputs and outputs; nothing if it depends on
  // free dimensions.
  std::optional<std::size_t> activation_bytes() const;
  int threads() const;
  // The number of the GPU that has the kernels and weights; nothing where they run on the CPU.
  std::optional<int> device() const;

  // Shapes of the outputs for inputs of these types and shapes; data is not looked at.
  Result<std::vector<std::vector<std::int64_t>>> OutputShapes(std::span<const Input> inputs) const;
  Result<std::vector<std::vector<std::int64_t>>> OutputShapes(
      std::span<const DeviceTensor> inputs) const;

  // Reads the inputs, overwrites the outputs: all of both, not overlapping. Runs of one module at
  // the same time take memory for activations each, which is kept for later runs. kBadInput,
  // naming the tensor, where something does not fit; kNoMemory where memory is short.
  Status Run(std::span<const Input> inputs, std::span<const Output> outputs,
             Copies* copies = nullptr) const;
  Status Run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
             Copies* copies = nullptr) const {
    return Run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
               copies);
  }

 private:
  friend class Executor;
  struct State;
  struct Access;
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Runs a module in activation memory of its own, from one thread at a time.
class TCC_EXPORT Executor {
 public:
  explicit Executor(const Module& module);
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

  // As Module::Run.
  Status Run(std::span<const Input> inputs, std::span<const Output> outputs,
             Copies* copies = nullptr);

  // As Run, on a GPU's memory and in a stream of the caller's, a CUstream or cudaStream_t; null is
  // the default stream. Nothing is copied, and nothing waited for but what a loop or branch of the
  // model depends on and, where memory has to grow and is short or the device has no memory pools,
  // all work in the stream: the work goes on after the call, in the stream's order, and the caller
  // synchronizes, which also tells of kernels that failed.
  //
  // Until the work has ended the executor lives, the stream lives, and the tensors' memory is only
  // touched by other work in the stream. The next run or Enqueue of the executor is in the same
  // stream or begins after that end. Names and shapes are looked at during the call only.
  //
  // kUsage where the module is not for a GPU; kBadInput, naming the tensor, what was expected and
  // what came, where a type, shape, size or alignment does not fit, or memory or stream are another
  // device's, or the stream is being captured; kNoMemory where memory for activations is short.
  // Nothing goes on then: what was enqueued before it failed has ended, and outputs may hold parts.
  Status Enqueue(std::span<const DeviceTensor> inputs, std::span<const DeviceTensor> outputs,
                 void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "0.1.0", of the library.
TCC_EXPORT std::string_view Version();

TCC_API_END
}  // namespace tcc
