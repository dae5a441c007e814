#include <algorithm>

#include "api/c_handles.h"
#include "support/check.h"
#include "support/version.h"

// The C API's modules and executors, which wrap the C++ API's.
namespace tcc {
namespace {

// A tensor's size is part of the ABI.
static_assert(sizeof(tcc_tensor) == 48 || sizeof(void*) != 8);

// Returns the name of a tensor for messages: the declared one, or else the caller's.
std::string NameOf(const char* kind, const tcc_tensor& tensor, const v1::TensorInfo* declared) {
  const char* given = tensor.name == nullptr ? "" : tensor.name;
  return fmt::format("{} '{}'", kind, declared == nullptr ? given : declared->name);
}

Status CheckTensor(const char* kind, const tcc_tensor& tensor, const v1::TensorInfo* declared) {
  std::optional<std::string> fault = FaultOf(tensor);
  // The C++ API takes an empty shape for the declared one.
  if (!fault && tensor.rank == 0 && declared != nullptr && !declared->shape.empty()) {
    fault = fmt::format("has rank 0; expected {}", declared->shape.size());
  }
  if (!fault) return OkStatus();
  return InvalidInput("{} {}", NameOf(kind, tensor, declared), *fault);
}

// Returns the description that a tensor is matched with; null if nothing is declared so.
const v1::TensorInfo* DeclaredOf(const tcc_tensor& tensor, size_t place,
                                 const std::vector<v1::TensorInfo>& infos) {
  if (tensor.name == nullptr || *tensor.name == 0) {
    return place < infos.size() ? &infos[place] : nullptr;
  }
  auto found = std::ranges::find(infos, std::string_view(tensor.name), &v1::TensorInfo::name);
  return found == infos.end() ? nullptr : &*found;
}

// Returns views of tensors, which are matched with `infos` later; `kind` is "input" or "output".
template <typename View>
StatusOr<std::vector<View>> ViewsOf(const tcc_tensor* tensors, uint32_t count,
                                    const std::vector<v1::TensorInfo>& infos, const char* kind) {
  if (tensors == nullptr && count > 0) {
    return InvalidInput("expected {} {}s, got null", count, kind);
  }
  std::vector<View> views;
  views.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const tcc_tensor& tensor = tensors[i];
    TCC_RETURN_IF_ERROR(CheckTensor(kind, tensor, DeclaredOf(tensor, i, infos)));
    std::string_view name = tensor.name == nullptr ? "" : tensor.name;
    std::span<const int64_t> shape;
    if (tensor.rank > 0) shape = {tensor.shape, static_cast<size_t>(tensor.rank)};
    views.push_back({name, static_cast<v1::DType>(tensor.dtype), tensor.data, tensor.bytes, shape});
  }
  return views;
}

// Calls `run` with views of the caller's inputs and outputs of a module.
template <typename InputView, typename OutputView, typename Run>
v1::Status WithViews(const v1::Module& module, const tcc_tensor* inputs, uint32_t input_count,
                     const tcc_tensor* outputs, uint32_t output_count, Run&& run) {
  auto in = ViewsOf<InputView>(inputs, input_count, module.inputs(), "input");
  if (!in.ok()) return ToApi(in.status());
  auto out = ViewsOf<OutputView>(outputs, output_count, module.outputs(), "output");
  if (!out.ok()) return ToApi(out.status());
  return run(std::span<const InputView>(*in), std::span<const OutputView>(*out));
}

const std::vector<v1::TensorInfo>& TensorsOf(const tcc_module* module, tcc_list list) {
  TCC_CHECK(list == TCC_INPUTS || list == TCC_OUTPUTS) << "list " << list;
  return list == TCC_INPUTS ? module->module.inputs() : module->module.outputs();
}

template <typename T>
const T& At(const std::vector<T>& values, uint32_t index) {
  TCC_CHECK(index < values.size()) << "index " << index << " of a list of " << values.size();
  return values[index];
}

}  // namespace

std::optional<std::string> FaultOf(const tcc_tensor& tensor) {
  if (tensor.reserved != 0) return fmt::format("has {} in `reserved`; expected 0", tensor.reserved);
  if (tcc_dtype_name(tensor.dtype) == nullptr) {
    return fmt::format("has DType {}; expected 0 to {}", tensor.dtype, int{TCC_U4});
  }
  if (tensor.rank < -1) return fmt::format("has rank {}; expected -1 or more", tensor.rank);
  if (tensor.rank > 0 && tensor.shape == nullptr) {
    return fmt::format("has rank {} and no shape", tensor.rank);
  }
  return std::nullopt;
}

v1::LoadOptions LoadOptionsOf(const tcc_options* options) {
  return options == nullptr ? v1::LoadOptions() : options->load;
}

}  // namespace tcc

uint32_t tcc_abi(void) {
  return TCC_ABI;
}

// The texts of both are literals, which end with a zero.
const char* tcc_version(void) {
  return tcc::kVersion.data();
}

const char* tcc_dtype_name(tcc_dtype dtype) {
  if (dtype < TCC_BOOL || dtype > TCC_U4) return nullptr;
  return tcc::v1::ToString(static_cast<tcc::v1::DType>(dtype)).data();
}

tcc_code tcc_module_load(const char* path, const tcc_options* options, tcc_module** module,
                         tcc_error** error) {
  return tcc::ReportHandle(module, error, [&]() -> tcc::v1::Result<tcc::v1::Module> {
    if (path == nullptr) return tcc::v1::Status(tcc::v1::Code::kUsage, "expected a path, got null");
    return tcc::v1::Module::Load(path, tcc::LoadOptionsOf(options));
  });
}

tcc_code tcc_module_load_bytes(const void* data, uint64_t bytes, void (*release)(void* owner),
                               void* owner, const tcc_options* options, tcc_module** module,
                               tcc_error** error) {
  return tcc::ReportCall(error, [&] {
    std::shared_ptr<const void> kept;
    if (release != nullptr) {
      // It points to the data, as `owner` may be null.
      kept = std::shared_ptr<const void>(std::shared_ptr<void>(owner, release), data);
    }
    std::span file(static_cast<const uint8_t*>(data), data == nullptr ? 0 : bytes);
    return tcc::MakeHandle(module, [&] {
      return tcc::v1::Module::Load(file, std::move(kept), tcc::LoadOptionsOf(options));
    });
  });
}

void tcc_module_free(tcc_module* module) {
  delete module;
}

uint32_t tcc_module_count(const tcc_module* module, tcc_list list) {
  size_t count = 0;
  if (list == TCC_KERNELS) {
    count = module->module.kernels().size();
  } else if (list == TCC_PROPERTIES) {
    count = module->module.properties().size();
  } else {
    count = tcc::TensorsOf(module, list).size();
  }
  return static_cast<uint32_t>(count);
}

void tcc_module_tensor(const tcc_module* module, tcc_list list, uint32_t index,
                       tcc_tensor* description) {
  const tcc::v1::TensorInfo& info = tcc::At(tcc::TensorsOf(module, list), index);
  *description = {.name = info.name.c_str(),
                  .data = nullptr,
                  .bytes = info.bytes,
                  .shape = info.shape.data(),
                  .rank = static_cast<int32_t>(info.shape.size()),
                  .dtype = static_cast<tcc_dtype>(info.dtype),
                  .reserved = 0};
}

const char* tcc_module_dim_name(const tcc_module* module, tcc_list list, uint32_t index,
                                uint32_t axis) {
  return tcc::At(tcc::At(tcc::TensorsOf(module, list), index).dim_names, axis).c_str();
}

const char* tcc_module_kernel(const tcc_module* module, uint32_t index, int64_t* flops) {
  const tcc::v1::KernelInfo& kernel = tcc::At(module->module.kernels(), index);
  if (flops != nullptr) *flops = kernel.flops;
  return kernel.name.c_str();
}

const char* tcc_module_kernel_node(const tcc_module* module, uint32_t index, uint32_t node) {
  const std::vector<std::string>& nodes = tcc::At(module->module.kernels(), index).nodes;
  return node < nodes.size() ? nodes[node].c_str() : nullptr;
}

const char* tcc_module_property(const tcc_module* module, uint32_t index, const char** value) {
  const auto& [key, text] = tcc::At(module->module.properties(), index);
  if (value != nullptr) *value = text.c_str();
  return key.c_str();
}

const char* tcc_module_name(const tcc_module* module) {
  return module->module.name().c_str();
}

const char* tcc_module_target(const tcc_module* module) {
  return module->module.target().c_str();
}

uint64_t tcc_module_weights_bytes(const tcc_module* module) {
  return module->module.weights_bytes();
}

int64_t tcc_module_activation_bytes(const tcc_module* module) {
  std::optional<size_t> bytes = module->module.activation_bytes();
  return bytes ? static_cast<int64_t>(*bytes) : -1;
}

int32_t tcc_module_threads(const tcc_module* module) {
  return module->module.threads();
}

int32_t tcc_module_device(const tcc_module* module) {
  return module->module.device().value_or(-1);
}

tcc_code tcc_module_output_shape(const tcc_module* module, const tcc_tensor* inputs,
                                 uint32_t input_count, uint32_t output, int64_t* shape,
                                 uint32_t most_rank, uint32_t* rank, tcc_error** error) {
  return tcc::ReportCall(error, [&]() -> tcc::v1::Status {
    if (auto status = tcc::ExpectPlaces({rank}); !status.ok()) return status;
    const tcc::v1::Module& network = module->module;
    auto in = tcc::ViewsOf<tcc::v1::Input>(inputs, input_count, network.inputs(), "input");
    if (!in.ok()) return tcc::ToApi(in.status());
    auto shapes = network.OutputShapes(*in);
    if (!shapes.ok()) return shapes.status();
    if (output >= shapes->size()) {
      return tcc::ToApi(
          tcc::UsageError("expected an output below {}, got {}", shapes->size(), output));
    }
    const std::vector<int64_t>& extents = (*shapes)[output];
    if (!extents.empty() && extents.size() <= most_rank) {
      if (auto status = tcc::ExpectPlaces({shape}); !status.ok()) return status;
      std::ranges::copy(extents, shape);
    }
    *rank = static_cast<uint32_t>(extents.size());
    return {};
  });
}

tcc_code tcc_module_run(tcc_module* module, const tcc_tensor* inputs, uint32_t input_count,
                        const tcc_tensor* outputs, uint32_t output_count, tcc_error** error) {
  return tcc::ReportCall(error, [&] {
    return tcc::WithViews<tcc::v1::Input, tcc::v1::Output>(
        module->module, inputs, input_count, outputs, output_count,
        [&](auto in, auto out) { return module->module.Run(in, out); });
  });
}

tcc_code tcc_executor_new(tcc_module* module, tcc_executor** executor, tcc_error** error) {
  return tcc::ReportCall(error, [&]() -> tcc::v1::Status {
    if (auto status = tcc::ExpectPlaces({static_cast<const void*>(executor)}); !status.ok())
      return status;
    *executor = new tcc_executor{module->module, tcc::v1::Executor(module->module)};
    return {};
  });
}

tcc_code tcc_executor_bind(tcc_executor* executor, const tcc_tensor* inputs, uint32_t input_count,
                           const tcc_tensor* outputs, uint32_t output_count, tcc_error** error) {
  return tcc::ReportCall(error, [&] {
    return tcc::WithViews<tcc::v1::Input, tcc::v1::Output>(
        executor->module, inputs, input_count, outputs, output_count,
        [&](auto in, auto out) { return executor->executor.Bind(in, out); });
  });
}

tcc_code tcc_executor_run(tcc_executor* executor, tcc_error** error) {
  return tcc::ReportCall(error, [&] { return executor->executor.RunBound(); });
}

tcc_code tcc_executor_enqueue(tcc_executor* executor, const tcc_tensor* inputs,
                              uint32_t input_count, const tcc_tensor* outputs,
                              uint32_t output_count, void* stream, tcc_error** error) {
  return tcc::ReportCall(error, [&] {
    return tcc::WithViews<tcc::v1::DeviceTensor, tcc::v1::DeviceTensor>(
        executor->module, inputs, input_count, outputs, output_count,
        [&](auto in, auto out) { return executor->executor.Enqueue(in, out, stream); });
  });
}

void tcc_executor_free(tcc_executor* executor) {
  delete executor;
}
