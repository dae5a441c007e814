#include "ir/interpret/interpreter.h"

#include <algorithm>

#include "ir/interpret/interpret_machine.h"

namespace tcc {
namespace {

using namespace interpret;

bool IsFlatMatch(const Cells& cells, const Tensor& tensor) {
  StatusOr<int64_t> count = ElementCount(tensor.shape);
  return count.ok() && *count == cells.count();
}

Status CheckTensor(const Cells& cells, const Tensor& tensor, bool flat) {
  std::vector<int64_t> shape;
  for (int d = 0; d < cells.rank(); ++d) shape.push_back(cells.size(d));
  bool fits = flat ? IsFlatMatch(cells, tensor) : tensor.shape == shape;
  if (fits && tensor.dtype == cells.dtype()) return OkStatus();
  return InvalidInput("argument '{}' is {}; expected {}[{}]", cells.name(), ToString(tensor),
                      ToString(cells.dtype()), ShapeToString(shape));
}

Status CheckCounts(const Function& fn, const std::vector<Tensor>& arguments,
                   const InterpretOptions& options) {
  if (arguments.size() != fn.params.size()) {
    return InvalidInput("function '{}' got {} tensors; expected {}", fn.name, arguments.size(),
                        fn.params.size());
  }
  if (options.var_values.size() != fn.vars.size()) {
    return InvalidInput("function '{}' got values for {} variables; expected {}", fn.name,
                        options.var_values.size(), fn.vars.size());
  }
  return OkStatus();
}

}  // namespace

StatusOr<InterpretReport> Interpret(const Function& fn, std::vector<Tensor>& arguments,
                                    const InterpretOptions& options) {
  TCC_RETURN_IF_ERROR(CheckCounts(fn, arguments, options));
  // Parallel loops must not merge into nests where the order of their iterations or races matter.
  bool merge = options.order == ThreadOrder::kForward && !options.detect_races;
  std::unique_ptr<Program> program = Compile(
      fn, {.lanes = options.max_lanes, .merge_parallel = merge, .var_values = &options.var_values});

  Machine machine(*program, options);
  Context context;
  context.slots.resize(program->slot_count);
  context.buffers.assign(program->buffers.size(), nullptr);
  for (size_t i = 0; i < options.var_values.size(); ++i) {
    context.slots[i].integer = options.var_values[i];
  }
  std::vector<Cells> parameters(fn.params.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    machine.Declare(static_cast<int>(i), context, parameters[i]);
    TCC_RETURN_IF_ERROR(CheckTensor(parameters[i], arguments[i], program->flat));
    if (program->written[i]) {
      parameters[i].CopyFrom(arguments[i]);
    } else {
      parameters[i].ReadFrom(arguments[i]);
    }
    context.buffers[i] = &parameters[i];
  }
  machine.Run(context);
  if (machine.monitor().failed()) return machine.monitor().error;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (program->written[i]) parameters[i].RoundInto(arguments[i], options.rounding_seed);
  }
  return machine.monitor().report;
}

}  // namespace tcc
