#include "api/reference_device.h"

#include <charconv>
#include <map>

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"

namespace tcc {
namespace {

struct ParsedKernels {
  std::vector<Function> functions;  // entries point at these
};

// The functions of a section by name.
StatusOr<std::map<std::string, Function>> ParseSection(std::string_view text) {
  std::map<std::string, Function> functions;
  while (!text.empty()) {
    size_t line_end = text.find('\n');
    std::string_view line = text.substr(0, line_end);
    size_t space = line.rfind(' ');
    size_t bytes = 0;
    bool good = line_end != text.npos && line.starts_with("kernel ") && space > 7;
    if (good) {
      auto [end, error] =
          std::from_chars(line.data() + space + 1, line.data() + line.size(), bytes);
      good = error == std::errc() && end == line.data() + line.size() &&
             bytes <= text.size() - line_end - 1;
    }
    if (!good) return InvalidInput("kernels section: expected 'kernel NAME BYTES', got '{}'", line);
    std::string name(line.substr(7, space - 7));
    TCC_ASSIGN_OR_RETURN(Function fn, ParseFunction(std::string(text.substr(line_end + 1, bytes))));
    TCC_RETURN_IF_ERROR(Annotate(Verify(fn), "kernel '" + name + "'"));
    functions.emplace(name, std::move(fn));
    text.remove_prefix(line_end + 1 + bytes);
  }
  return functions;
}

// The caller's memory as a tensor of the parameter's type and shape.
StatusOr<Tensor> TensorOver(const Buffer& param, void* data, int64_t bytes) {
  Tensor tensor;
  tensor.dtype = param.dtype();
  for (const Expr& dim : param.shape) {
    std::optional<int64_t> extent = AsConstant(dim);
    if (!extent) return InvalidInput("parameter '{}' has a symbolic shape", param.var->name);
    tensor.shape.push_back(*extent);
  }
  TCC_ASSIGN_OR_RETURN(int64_t need, ByteCount(tensor.dtype, tensor.shape));
  if (need > bytes) {
    return InvalidInput("parameter '{}' takes {} bytes; its buffer has {}", param.var->name, need,
                        bytes);
  }
  tensor.bytes = {static_cast<const uint8_t*>(data), static_cast<size_t>(need)};
  return tensor;
}

class ReferenceDevice final : public Device {
 public:
  explicit ReferenceDevice(int threads) : threads_(threads) {}

  StatusOr<LoadedKernels> LoadKernels(const SharedBytes& section,
                                      const Metadata& metadata) const override {
    std::string_view text(reinterpret_cast<const char*>(section.bytes.data()),
                          section.bytes.size());
    TCC_ASSIGN_OR_RETURN(auto functions, ParseSection(text));
    auto parsed = std::make_shared<ParsedKernels>();
    for (const KernelInfo& kernel : metadata.kernels) {
      auto found = functions.find(kernel.name);
      if (found == functions.end())
        return InvalidInput("kernels section has no kernel '{}'", kernel.name);
      parsed->functions.push_back(found->second);
    }
    LoadedKernels loaded;
    for (const Function& fn : parsed->functions) loaded.entries.push_back(&fn);
    loaded.module = parsed;
    return loaded;
  }

  Status Launch(const LoadedKernels& kernels, size_t kernel,
                const LaunchArguments& arguments) const override {
    const auto& fn = *static_cast<const Function*>(kernels.entries[kernel]);
    if (fn.params.size() != arguments.buffers.size()) {
      return InvalidInput("kernel '{}' has {} parameters; the plan gives {}", fn.name,
                          fn.params.size(), arguments.buffers.size());
    }
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor,
                           TensorOver(fn.params[i], arguments.buffers[i], arguments.bytes[i]));
      tensors.push_back(std::move(tensor));
    }
    InterpretOptions options;
    options.threads = threads_;
    return Interpret(fn, tensors, options).status();
  }

 private:
  int threads_;
};

}  // namespace

std::vector<uint8_t> ReferenceKernels(const KernelSet& kernels) {
  std::string text;
  for (const KernelStages& kernel : kernels.kernels) {
    std::string body = Print(kernel.tensor);
    text += fmt::format("kernel {} {}\n", kernel.symbol, body.size()) + body;
  }
  return {text.begin(), text.end()};
}

std::shared_ptr<const Device> MakeReferenceDevice(std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<ReferenceDevice>(pool->threads());
}

std::span<const DeviceRow> AllDevices() {
  static const std::vector<DeviceRow>* rows = [] {
    std::span<const DeviceRow> runtime = RuntimeDevices();
    auto* all = new std::vector<DeviceRow>(runtime.begin(), runtime.end());
    all->push_back({"reference", MakeReferenceDevice});
    return all;
  }();
  return *rows;
}

}  // namespace tcc
