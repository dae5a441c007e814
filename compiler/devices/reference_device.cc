#include "compiler/devices/reference_device.h"

#include <charconv>
#include <map>

#include "compiler/devices/strided_argument.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace tcc {
namespace {

struct ParsedKernels {
  std::vector<Function> functions;  // entries point at these
};

// Parses the functions of a section, by name.
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

bool IsWritten(const Function& fn, const Var& buffer) {
  bool written = false;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) written = written || store->buffer == buffer;
    if (const auto* reduce = stmt.as<Reduce>()) {
      for (const Access& output : reduce->outputs) written = written || output.buffer == buffer;
    }
  });
  return written;
}

class ReferenceDevice final : public Device {
 public:
  explicit ReferenceDevice(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    std::span<const uint8_t> section = artefact.kernels.bytes;
    std::string_view text(reinterpret_cast<const char*>(section.data()), section.size());
    TCC_ASSIGN_OR_RETURN(auto functions, ParseSection(text));
    auto parsed = std::make_shared<ParsedKernels>();
    for (const KernelInfo& kernel : artefact.metadata.kernels) {
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
    if (fn.vars.size() != arguments.shape_args.size()) {
      return InvalidInput("kernel '{}' takes {} sizes; the plan gives {}", fn.name, fn.vars.size(),
                          arguments.shape_args.size());
    }
    Assignment sizes;
    for (size_t i = 0; i < fn.vars.size(); ++i) sizes[fn.vars[i]] = arguments.shape_args[i];
    std::vector<StridedArgument> places;
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(
          StridedArgument place,
          ArgumentOver(fn.params[i], sizes, arguments.buffers[i], arguments.bytes[i]));
      tensors.push_back(TensorOf(place));
      places.push_back(std::move(place));
    }
    InterpretOptions options;
    options.threads = pool_->threads();
    options.var_values.assign(arguments.shape_args.begin(), arguments.shape_args.end());
    TCC_RETURN_IF_ERROR(Interpret(fn, tensors, options).status());
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].strides.empty() || !IsWritten(fn, fn.params[i].var)) continue;
      StoreBack(tensors[i], places[i]);
    }
    return OkStatus();
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

std::vector<uint8_t> ReferenceKernels(std::span<const Function> kernels) {
  std::string text;
  for (const Function& kernel : kernels) {
    std::string body = Print(kernel);
    text += fmt::format("kernel {} {}\n", kernel.name, body.size()) + body;
  }
  return {text.begin(), text.end()};
}

std::shared_ptr<const Device> MakeReferenceDevice(std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<ReferenceDevice>(std::move(pool));
}

std::span<const DeviceRow> AllDevices() {
  static const std::vector<DeviceRow>* rows = [] {
    std::span<const DeviceRow> runtime = RuntimeDevices();
    auto* all = new std::vector<DeviceRow>(runtime.begin(), runtime.end());
    all->push_back({"reference", [](const DeviceOptions& options) {
                      return MakeReferenceDevice(options.pool);
                    }});
    return all;
  }();
  return *rows;
}

}  // namespace tcc
