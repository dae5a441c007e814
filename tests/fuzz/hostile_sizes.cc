#include "tests/fuzz/hostile_sizes.h"

#include <algorithm>
#include <limits>
#include "compiler/compile_graph.h"
#include "compiler/devices/reference_device.h"
#include "runtime/executor/binding.h"
#include "tests/fuzz/random/seed_corpus.h"
#include "tests/runtime/shifted_tensor.h"

namespace tcc {
namespace {

// A larger tensor gets a few bytes: nothing may be read from it.
constexpr int64_t kMaxBytes = 1 << 20;

constexpr int64_t kExtents[] = {0,
                                1,
                                2,
                                3,
                                -1,
                                int64_t{1} << 20,
                                int64_t{1} << 24,
                                (int64_t{1} << 24) + 1,
                                int64_t{1} << 31,
                                int64_t{1} << 32,
                                int64_t{1} << 62,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};

Tensor Zeros(DType dtype, const std::vector<int64_t>& shape) {
  StatusOr<int64_t> bytes = ByteCount(dtype, shape);
  if (bytes.ok() && *bytes <= kMaxBytes) return MakeZeroTensor(dtype, shape);
  static const Tensor* few = new Tensor(MakeZeroTensor(DTypeCode::kUInt8, {64}));
  return {dtype, shape, nullptr, few->bytes};
}

Tensor Hostile(const Tensor& tensor, Random& random) {
  std::vector<int64_t> shape = tensor.shape;
  uint64_t choice = random.Below(10);
  if (choice == 0) shape.insert(shape.begin(), kExtents[random.Below(std::size(kExtents))]);
  if (choice == 1) shape.pop_back();
  if (choice > 1) shape[random.Below(shape.size())] = kExtents[random.Below(std::size(kExtents))];
  Tensor hostile = Zeros(tensor.dtype, shape);
  if (random.OneIn(8)) hostile.bytes = hostile.bytes.first(random.Below(hostile.bytes.size() + 1));
  return hostile;
}

struct Arguments {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// Makes inputs and outputs of sizes that fit, then spoils up to three of them.
Arguments AnyArguments(const Metadata& metadata, Random& random) {
  std::vector<int64_t> sizes;
  for (const ShapeVariable& variable : metadata.shape_variables) {
    sizes.push_back(random.Between(variable.low, variable.low + 5));
  }
  Arguments arguments;
  for (const TensorInfo& info : metadata.inputs) {
    arguments.inputs.push_back(Zeros(info.dtype, *ShapeOf(info, metadata, sizes)));
  }
  for (const TensorInfo& info : metadata.outputs) {
    StatusOr<std::vector<int64_t>> shape = ShapeOf(info, metadata, sizes);
    Tensor tensor = Zeros(info.dtype, shape.ok() ? *shape : std::vector<int64_t>{2, 2});
    arguments.outputs.push_back(Shifted(tensor, 0));
    std::ranges::fill(MutableBytes(arguments.outputs.back()), kUntouched);
  }
  for (uint64_t n = random.Below(4); n > 0; --n) {
    bool of_output = random.OneIn(6);
    std::vector<Tensor>& list = of_output ? arguments.outputs : arguments.inputs;
    Tensor& tensor = list[random.Below(list.size())];
    Tensor hostile = Hostile(tensor, random);
    if (of_output)
      hostile.bytes = tensor.bytes.first(std::min(tensor.bytes.size(), hostile.bytes.size()));
    if (of_output) hostile.owner = tensor.owner;
    tensor = std::move(hostile);
  }
  return arguments;
}

// Returns the status that the C API's code stands for.
Status StatusOf(tcc_code code, tcc_error* error) {
  if (code == TCC_OK) return OkStatus();
  std::string message = tcc_error_message(error);
  tcc_error_free(error);
  if (code == TCC_BAD_INPUT) return InvalidInput("{}", message);
  if (code == TCC_USAGE) return UsageError("{}", message);
  if (code == TCC_NO_MEMORY) return absl::ResourceExhaustedError(message);
  return absl::InternalError(fmt::format("code {}: {}", code, message));
}

std::vector<tcc_tensor> ViewsOf(const std::vector<Tensor>& tensors) {
  std::vector<tcc_tensor> views;
  for (const Tensor& tensor : tensors) {
    views.push_back({.name = nullptr,
                     .data = const_cast<uint8_t*>(tensor.bytes.data()),
                     .bytes = tensor.bytes.size(),
                     .shape = tensor.shape.data(),
                     .rank = static_cast<int32_t>(tensor.shape.size()),
                     .dtype = TCC_F32,
                     .reserved = 0});
  }
  return views;
}

// Runs the module, and asks for the shape of an output for the same inputs.
Status RunByApi(tcc_module* module, const Arguments& arguments, Random& random) {
  std::vector<tcc_tensor> inputs = ViewsOf(arguments.inputs), outputs = ViewsOf(arguments.outputs);
  auto input_count = static_cast<uint32_t>(inputs.size());
  auto output_count = static_cast<uint32_t>(outputs.size());
  tcc_error* error = nullptr;
  int64_t shape[8];
  uint32_t rank = 0;
  auto output = static_cast<uint32_t>(random.Below(outputs.size()));
  tcc_code asked =
      tcc_module_output_shape(module, inputs.data(), input_count, output, shape, 8, &rank, &error);
  Status known = StatusOf(asked, error);
  error = nullptr;
  tcc_code ran =
      tcc_module_run(module, inputs.data(), input_count, outputs.data(), output_count, &error);
  Status status = StatusOf(ran, error);
  if (!status.ok() || known.ok()) return status;
  return WrongResult("runs, though the shape of output {} is refused: {}", output, Message(known));
}

Status CheckUntouched(const Arguments& arguments, const Status& status) {
  for (const Tensor& output : arguments.outputs) {
    bool untouched =
        std::ranges::all_of(output.bytes, [](uint8_t byte) { return byte == kUntouched; });
    if (!untouched) return WrongResult("an output was written, then: {}", status.ToString());
  }
  return status;
}

}  // namespace

StatusOr<HostileSizes> HostileSizes::Make() {
  HostileSizes hostile;
  for (const char* name : {"reference", "native"}) {
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
    CompileOptions options{.target = target, .threads = 1, .verify = true, .progress = {}};
    TCC_ASSIGN_OR_RETURN(Artefact artefact, FreeSizes(options));
    hostile.file_ = ArtefactBytes(artefact);  // the last one
    LoadOptions load;
    load.threads = 1;
    load.devices = AllDevices();
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
    hostile.executors_.emplace_back(std::move(module));
  }
  tcc_module* module = nullptr;
  tcc_error* error = nullptr;
  tcc_code code = tcc_module_load_bytes(hostile.file_.data(), hostile.file_.size(), nullptr,
                                        nullptr, nullptr, &module, &error);
  TCC_RETURN_IF_ERROR(StatusOf(code, error));
  hostile.module_.reset(module, tcc_module_free);
  return hostile;
}

Status HostileSizes::Try(Random& random) {
  Executor& executor = executors_[random.Below(executors_.size())];
  Arguments arguments = AnyArguments(executor.module().metadata(), random);
  switch (random.Below(3)) {
    case 0:
      return executor.Run(arguments.inputs).status();
    case 1: {
      Status status = executor.RunInto(arguments.inputs, arguments.outputs);
      return status.ok() ? status : CheckUntouched(arguments, status);
    }
    default: {
      Status status = RunByApi(module_.get(), arguments, random);
      return status.ok() ? status : CheckUntouched(arguments, status);
    }
  }
}

}  // namespace tcc
