#include "tests/codegen_cuda/emulated/emulated_program.h"

#include <algorithm>
#include <cstring>

#include "codegen_cuda/text/prelude.h"
#include "ir/expr/evaluate.h"
#include "ir/interpret/interpreter.h"
#include "lower/pipeline.h"
#include "support/check.h"

namespace tcc {
namespace {

int64_t BytesOf(DType dtype, int64_t elements) {
  return (elements * dtype.bits() + 7) / 8;
}

// The values of a function's Shape variables, for what is computed from them.
Assignment ShapesOf(const Function& fn, std::span<const int64_t> shapes) {
  TCC_CHECK(fn.vars.size() == shapes.size()) << fn.name;
  Assignment values;
  for (size_t i = 0; i < shapes.size(); ++i) values[fn.vars[i]] = shapes[i];
  return values;
}

// What the arguments of one run's launches point to.
struct RunMemory {
  emulator::DeviceMemory device;
  std::vector<void*> parameters;
  std::vector<void*> workspaces;
  std::vector<int64_t> shapes;
  void* tickets = nullptr;

  const void* Slot(const KernelArgument& argument) const {
    switch (argument.kind) {
      case KernelArgument::Kind::kParameter:
        return &parameters[argument.index];
      case KernelArgument::Kind::kWorkspace:
        return &workspaces[argument.index];
      case KernelArgument::Kind::kShape:
        return &shapes[argument.index];
      case KernelArgument::Kind::kTickets:
        return &tickets;
      case KernelArgument::Kind::kTensorMap:
        break;  // no kernel has one
    }
    TCC_UNREACHABLE();
  }
};

Status Fill(const LaunchPlan& plan, const Assignment& shapes, const std::vector<Tensor>& arguments,
            RunMemory& memory) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::span<const uint8_t> bytes = arguments[i].bytes;
    TCC_ASSIGN_OR_RETURN(void* buffer, memory.device.Allocate(std::ssize(bytes)));
    if (!IsWritten(plan, i) && !bytes.empty()) memcpy(buffer, bytes.data(), bytes.size());
    memory.parameters.push_back(buffer);
  }
  for (const Buffer& workspace : plan.workspaces) {
    std::optional<int64_t> elements = EvaluateInt(workspace.shape[0], shapes);
    TCC_CHECK(elements) << workspace.var->name;
    TCC_ASSIGN_OR_RETURN(void* buffer,
                         memory.device.Allocate(BytesOf(workspace.dtype(), *elements)));
    memory.workspaces.push_back(buffer);
  }
  return OkStatus();
}

// Allocates tickets that suffice for each launch.
Status AddTickets(const LaunchPlan& plan, const Assignment& shapes, RunMemory& memory) {
  int64_t most = 0;
  for (const Launch& launch : plan.launches) {
    std::optional<int64_t> blocks = EvaluateInt(launch.grid[0], shapes);
    TCC_CHECK(blocks) << launch.kernel;
    most = std::max(most, *blocks);
  }
  const int64_t bytes = most * static_cast<int64_t>(sizeof(uint32_t));
  TCC_ASSIGN_OR_RETURN(memory.tickets, memory.device.Allocate(bytes));
  memset(memory.tickets, 0, static_cast<size_t>(bytes));
  return OkStatus();
}

// Nothing where the grid is empty.
Status RunLaunch(const emulator::Program& program, const Launch& launch, const Assignment& shapes,
                 const RunMemory& memory, emulator::BlockOrder order) {
  std::array<uint32_t, 3> grid;
  for (size_t axis = 0; axis < 3; ++axis) {
    std::optional<int64_t> blocks = EvaluateInt(launch.grid[axis], shapes);
    TCC_CHECK(blocks) << launch.kernel;
    if (*blocks <= 0) return OkStatus();
    grid[axis] = static_cast<uint32_t>(*blocks);
  }
  emulator::LaunchOptions options = {
      .kernel = launch.kernel,
      .grid = {grid[0], grid[1], grid[2]},
      .block = {static_cast<uint32_t>(launch.block[0]), static_cast<uint32_t>(launch.block[1]),
                static_cast<uint32_t>(launch.block[2])},
      .dynamic_shared_bytes = launch.dynamic_shared_bytes,
      .block_order = order,
      .dependent = launch.waits};
  for (const KernelArgument& argument : launch.arguments)
    options.arguments.push_back(memory.Slot(argument));
  return emulator::Launch(program, memory.device, options);
}

using TensorOf = std::unordered_map<Var, Tensor, VarHash>;

// Those of the function's parameters; zeros for what has none yet.
std::vector<Tensor> ArgumentsOf(const Function& fn, const TensorOf& tensors) {
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    auto known = tensors.find(param.var);
    arguments.push_back(known == tensors.end()
                            ? MakeZeroTensor(param.dtype(), {AsConstant(param.shape[0]).value()})
                            : known->second);
  }
  return arguments;
}

Status Lower(Function& fn) {
  if (fn.level == Level::kLowered) return OkStatus();
  PipelineOptions options;
  options.verify = true;
  TCC_ASSIGN_OR_RETURN(fn, RunPipeline(fn, options));
  return OkStatus();
}

}  // namespace

StatusOr<EmulatedProgram> EmulatedProgram::Compile(std::vector<Function> functions,
                                                   const Target& target) {
  TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda(functions, target));
  return Compile(std::move(functions), std::move(source));
}

StatusOr<EmulatedProgram> EmulatedProgram::Compile(std::vector<Function> functions,
                                                   CudaSource source) {
  EmulatedProgram made;
  TCC_ASSIGN_OR_RETURN(made.program_,
                       emulator::Program::Compile(source.text, emulator::HostOptimization::kNone));
  made.functions_ = std::move(functions);
  made.source_ = std::move(source);
  return made;
}

Status EmulatedProgram::Run(size_t which, std::vector<Tensor>& arguments,
                            std::span<const int64_t> shapes, emulator::BlockOrder order) const {
  const LaunchPlan& plan = source_.plans[which];
  Assignment values = ShapesOf(functions_[which], shapes);
  TCC_CHECK(arguments.size() == functions_[which].params.size()) << functions_[which].name;
  RunMemory memory;
  memory.shapes.assign(shapes.begin(), shapes.end());
  TCC_RETURN_IF_ERROR(Fill(plan, values, arguments, memory));
  TCC_RETURN_IF_ERROR(AddTickets(plan, values, memory));
  for (const Launch& launch : plan.launches)
    TCC_RETURN_IF_ERROR(RunLaunch(*program_, launch, values, memory, order));
  for (size_t i = 0; i < arguments.size(); ++i) {
    Tensor& tensor = arguments[i];
    const auto* bytes = static_cast<const uint8_t*>(memory.parameters[i]);
    tensor = MakeTensor(tensor.dtype, tensor.shape, {bytes, tensor.bytes.size()});
  }
  return memory.device.CheckRedZones();
}

bool IsWritten(const LaunchPlan& plan, size_t parameter) {
  for (const Launch& launch : plan.launches) {
    for (const KernelArgument& argument : launch.arguments) {
      if (argument.kind == KernelArgument::Kind::kParameter && argument.index == parameter &&
          argument.written)
        return true;
    }
  }
  return false;
}

StatusOr<PreparedFunction> LoweredParts(const Function& fn) {
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, SplitPrepare(fn));
  for (Function& prepare : parts.prepare) TCC_RETURN_IF_ERROR(Lower(prepare));
  TCC_RETURN_IF_ERROR(Lower(parts.main));
  return parts;
}

Status RunParts(const Function& fn, std::vector<Tensor>& arguments, const RunMain& run) {
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, LoweredParts(fn));
  TensorOf tensors;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Tensor flat = MakeTensor(arguments[i].dtype, arguments[i].shape, arguments[i].bytes);
    flat.shape = {ElementCount(flat.shape).value()};
    tensors.emplace(fn.params[i].var, std::move(flat));
  }
  for (const Function& prepare : parts.prepare) {
    std::vector<Tensor> operands = ArgumentsOf(prepare, tensors);
    TCC_RETURN_IF_ERROR(Interpret(prepare, operands).status());
    tensors[prepare.params.back().var] = operands.back();
  }
  std::vector<Tensor> operands = ArgumentsOf(parts.main, tensors);
  TCC_RETURN_IF_ERROR(run(parts.main, operands));
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (size_t p = 0; p < operands.size(); ++p) {
      if (!(parts.main.params[p].var == fn.params[i].var)) continue;
      std::vector<int64_t> shape = arguments[i].shape;
      arguments[i] = operands[p];
      arguments[i].shape = std::move(shape);
    }
  }
  return OkStatus();
}

Status RunEmulated(const Function& fn, const Target& target, std::vector<Tensor>& arguments) {
  return RunParts(
      fn, arguments, [&](const Function& main, std::vector<Tensor>& operands) -> Status {
        TCC_ASSIGN_OR_RETURN(EmulatedProgram program, EmulatedProgram::Compile({main}, target));
        return Annotate(program.Run(0, operands, {}), "emulated");
      });
}

std::string KernelsOf(const CudaSource& source) {
  return source.text.substr(CudaPrelude().size());
}

}  // namespace tcc
