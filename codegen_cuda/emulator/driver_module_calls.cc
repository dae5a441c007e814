#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Modules, their functions, and launches.
namespace tcc::emulator::calls {
namespace {

// The blocks per launch that run in every order of their threads; whole models have too many blocks
// to run them all so.
constexpr int64_t kBlocksInAllOrders = 4;

// Writes the text into the error log that the caller provides, if any.
void WriteErrorLog(std::string_view text, unsigned count, const int* options, void** values) {
  char* log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kCudaErrorLog) log = static_cast<char*>(values[i]);
    if (options[i] == kCudaErrorLogBytes) bytes = reinterpret_cast<size_t>(values[i]);
  }
  if (log == nullptr || bytes == 0) return;
  const size_t size = std::min(text.size(), bytes - 1);
  std::memcpy(log, text.data(), size);
  log[size] = '\0';
}

std::byte* Place(CudaAddress address) {
  return std::bit_cast<std::byte*>(address);
}

// Returns the driver error for a text that does not compile.
CudaResult ErrorOf(const Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ? kCudaJitCompilerNotFound
                                                         : kCudaInvalidImage;
}

CudaResult LaunchError(const Status& status) {
  return status.code() == absl::StatusCode::kDataLoss ? kCudaLaunchFailed : kCudaInvalidValue;
}

// A launch's arguments as they were when it was enqueued.
struct Arguments {
  std::vector<uint64_t> values;         // the address of its tensor for a tensor map
  std::vector<TccMap> maps;             // in the order of the parameters of kind 'm'
  std::vector<CudaArgumentNote> notes;  // empty, or one per argument

  bool Overlap(size_t i, size_t j) const {
    return values[i] < values[j] + static_cast<uint64_t>(notes[j].bytes) &&
           values[j] < values[i] + static_cast<uint64_t>(notes[i].bytes);
  }
  // Checks whether no other argument overlaps argument i, so that it is not updated in place.
  bool IsApart(size_t i) const {
    for (size_t j = 0; j < notes.size(); ++j) {
      if (j != i && Overlap(i, j)) return false;
    }
    return true;
  }
};

// Poisons outputs, so that an unwritten element does not show its old contents: another tensor, or
// the same one of an earlier run.
void PoisonOutputs(const TccKernel& kernel, const Arguments& arguments) {
  Machine& machine = TheMachine();
  for (size_t i = 0; i < arguments.notes.size(); ++i) {
    const auto& [bytes, kind] = arguments.notes[i];
    if (kind == CudaArgumentNote::Kind::kKnown || kernel.parameters[i].kind != 'o') continue;
    {
      std::lock_guard lock(machine.mutex);
      const bool is_over = machine.begun.Begin(arguments.values[i], bytes);
      if (kind == CudaArgumentNote::Kind::kBuffer && !is_over) continue;
    }
    if (!arguments.IsApart(i) || machine.memory.BytesFrom(Place(arguments.values[i])) < bytes) {
      continue;
    }
    std::memset(Place(arguments.values[i]), static_cast<int>(kPoison), static_cast<size_t>(bytes));
  }
}

CudaResult Run(KernelFunction& function, LaunchOptions options, const Arguments& arguments) {
  // The lock is that of the program, not the module: two modules may have the same text.
  const std::shared_ptr<SharedProgram> program = function.module->program;
  std::lock_guard lock(program->running);
  // The first launch exposes blocks that rely on earlier blocks, the next one those that rely on
  // later ones.
  options.block_order = function.launches++ % 2 == 0 ? BlockOrder::kReverse : BlockOrder::kForward;
  auto map = arguments.maps.begin();
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    const bool is_map = function.kernel->parameters[i].kind == 'm';
    options.arguments.push_back(is_map ? static_cast<const void*>(&*map++) : &arguments.values[i]);
  }
  PoisonOutputs(*function.kernel, arguments);
  const Status status = Launch(*program->program, TheMachine().memory, options);
  return status.ok() ? kCudaSuccess : Fail(LaunchError(status), Message(status));
}

KernelFunction* FunctionOf(CudaFunctionHandle handle) {
  return reinterpret_cast<KernelFunction*>(handle);
}

CudaResult EnqueueLaunch(KernelFunction& function, const CudaLaunchConfig& config, bool dependent,
                         void** arguments, void** extra) {
  if (config.dynamic_shared_bytes > function.most_dynamic_shared_bytes) {
    return Fail(kCudaInvalidValue,
                fmt::format("{} bytes of dynamic shared memory; allowed are {}",
                            config.dynamic_shared_bytes, function.most_dynamic_shared_bytes));
  }
  // The arguments are read now, no matter when the work is done.
  Arguments passed;
  for (int i = 0; i < function.kernel->parameter_count; ++i) {
    if (function.kernel->parameters[i].kind == 'm') {
      std::memcpy(&passed.maps.emplace_back(), arguments[i], sizeof(TccMap));
      passed.values.push_back(std::bit_cast<uint64_t>(passed.maps.back().data));
    } else {
      std::memcpy(&passed.values.emplace_back(), arguments[i], sizeof(uint64_t));
    }
  }
  if (extra != nullptr) {
    const auto* notes = static_cast<const CudaArgumentNote*>(extra[0]);
    passed.notes.assign(notes, notes + passed.values.size());
  }
  LaunchOptions options{.kernel = function.name,
                        .grid = {config.grid[0], config.grid[1], config.grid[2]},
                        .block = {config.block[0], config.block[1], config.block[2]},
                        .dynamic_shared_bytes = config.dynamic_shared_bytes,
                        .blocks_in_all_orders = kBlocksInAllOrders,
                        .dependent = dependent};
  for (const CudaArgumentNote& note : passed.notes) options.argument_bytes.push_back(note.bytes);
  return Enqueue(config.stream,
                 [&function, options, passed](Context&) { return Run(function, options, passed); });
}

// Finds out whether the launch may begin while the kernel before it ends, which is the one
// attribute that is emulated.
CudaResult ReadAttributes(const KernelFunction& function, const CudaLaunchConfig& config,
                          bool* dependent) {
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const CudaLaunchAttribute& attribute = config.attributes[i];
    if (attribute.id != kCudaProgrammaticSerialization) {
      return Fail(kCudaInvalidValue, "an attribute of a launch that is not emulated");
    }
    *dependent = attribute.value != 0;
  }
  if (!*dependent || function.module->context->target.sm >= 90) return kCudaSuccess;
  return Fail(kCudaInvalidValue, "a device without dependent launches");
}

}  // namespace

CudaResult cuModuleLoadDataEx(CudaModuleHandle* handle, const void* image, unsigned count,
                              int* options, void** values) {
  Machine& machine = TheMachine();
  {
    std::lock_guard lock(machine.mutex);
    Context* context = nullptr;
    if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  }
  const std::string text(static_cast<const char*>(image));
  if (text.starts_with("\x7f"
                       "ELF") ||
      text.find(".version") < text.find('#')) {
    return Fail(kCudaNoBinaryForGpu, "the emulated device runs CUDA text only");
  }
  StatusOr<std::shared_ptr<SharedProgram>> program = CompiledProgram(text);
  if (!program.ok()) {
    WriteErrorLog(Message(program.status()), count, options, values);
    return Fail(ErrorOf(program.status()), "");
  }
  std::lock_guard lock(machine.mutex);
  Module* module = machine.modules.Make(ThisThread().contexts.back());
  module->program = *std::move(program);
  *handle = reinterpret_cast<CudaModuleHandle>(module);
  return kCudaSuccess;
}

CudaResult cuModuleUnload(CudaModuleHandle handle) {
  std::lock_guard lock(TheMachine().mutex);
  if (TheMachine().modules.Remove(handle)) return kCudaSuccess;
  return Fail(kCudaInvalidHandle, "no module");
}

CudaResult cuModuleGetFunction(CudaFunctionHandle* handle, CudaModuleHandle module_handle,
                               const char* name) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  Module* module = TheMachine().modules.Find(module_handle);
  if (module == nullptr) return Fail(kCudaInvalidHandle, "no module");
  const TccKernel* kernel = module->program->program->Find(name);
  if (kernel == nullptr) return Fail(kCudaNotFound, "the image has no such kernel");
  std::unique_ptr<KernelFunction>& function = module->functions[name];
  if (function == nullptr) {
    function = std::make_unique<KernelFunction>(
        KernelFunction{module, name, kernel, kCudaLimits.default_shared_bytes});
  }
  *handle = reinterpret_cast<CudaFunctionHandle>(function.get());
  return kCudaSuccess;
}

CudaResult cuFuncGetAttribute(int* value, int attribute, CudaFunctionHandle handle) {
  if (attribute != kCudaMostThreads) return Fail(kCudaInvalidValue, "not emulated");
  *value = FunctionOf(handle)->kernel->threads;
  return kCudaSuccess;
}

CudaResult cuFuncSetAttribute(CudaFunctionHandle handle, int attribute, int value) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (attribute != kCudaMostDynamicSharedBytes || value < 0 ||
      value > context->target.shared_bytes) {
    return Fail(kCudaInvalidValue, "more shared memory than a block may have");
  }
  FunctionOf(handle)->most_dynamic_shared_bytes = value;
  return kCudaSuccess;
}

CudaResult cuLaunchKernel(CudaFunctionHandle handle, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_shared_bytes, CudaStreamHandle stream, void** arguments,
                          void** extra) {
  const CudaLaunchConfig config{.grid = {grid_x, grid_y, grid_z},
                                .block = {block_x, block_y, block_z},
                                .dynamic_shared_bytes = dynamic_shared_bytes,
                                .stream = stream};
  return EnqueueLaunch(*FunctionOf(handle), config, false, arguments, extra);
}

CudaResult cuLaunchKernelEx(const CudaLaunchConfig* config, CudaFunctionHandle handle,
                            void** arguments, void** extra) {
  KernelFunction& function = *FunctionOf(handle);
  bool dependent = false;
  if (CudaResult error = ReadAttributes(function, *config, &dependent); error != kCudaSuccess) {
    return error;
  }
  return EnqueueLaunch(function, *config, dependent, arguments, extra);
}

}  // namespace tcc::emulator::calls
