#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "codegen_cuda/emulator/emulator.h"
#include "support/target.h"

namespace tcc::emulator {
namespace {

// Drivers up to 13.1 are expected to mark maps of at least this many bytes as large, and no others.
constexpr int64_t kLargeMapBytes = 128 << 10;

// Returns the bytes from the first element of a map's tensor to the end of the last one.
int64_t SpanOf(const TccMap& map) {
  uint64_t span = map.extents[0] * map.element_bytes;
  for (int i = 1; i < map.rank; ++i) {
    uint64_t more = 0;
    if (__builtin_mul_overflow(map.extents[i] - 1, map.byte_strides[i], &more) ||
        __builtin_add_overflow(span, more, &span)) {
      return INT64_MAX;
    }
  }
  return static_cast<int64_t>(std::min(span, uint64_t{INT64_MAX}));
}

Status CheckMap(const DeviceMemory& memory, const char* name, const TccMap& map) {
  if ((map.mark & ~kTccLargeMap) != kTccMapMark) {
    return InvalidInput("argument '{}' is not a tensor map", name);
  }
  const int64_t span = SpanOf(map);
  if (memory.BytesFrom(map.data) < span) {
    return InvalidInput("argument '{}' maps {} bytes, of which {} are device memory", name, span,
                        memory.BytesFrom(map.data));
  }
  const bool is_marked = (map.mark & kTccLargeMap) != 0;
  if (is_marked == (span >= kLargeMapBytes)) return OkStatus();
  return InvalidInput("argument '{}' maps {} bytes, but bit 21 of its second word is {}", name,
                      span, is_marked ? 1 : 0);
}

StatusOr<TccArgument> Argument(const DeviceMemory& memory, const TccParameter& parameter,
                               const void* value, std::optional<int64_t> bytes) {
  TccArgument argument = {};
  if (parameter.kind == 's') {
    memcpy(&argument.value, value, sizeof(argument.value));
    return argument;
  }
  if (parameter.kind == 'm') {
    const auto* map = static_cast<const TccMap*>(value);
    TCC_RETURN_IF_ERROR(CheckMap(memory, parameter.name, *map));
    argument.pointer = const_cast<TccMap*>(map);
    return argument;
  }
  memcpy(static_cast<void*>(&argument.pointer), value, sizeof(argument.pointer));
  argument.bytes = memory.BytesFrom(argument.pointer);
  if (argument.bytes < 0) {
    return InvalidInput("argument '{}' points to no device memory", parameter.name);
  }
  if (bytes && *bytes > argument.bytes) {
    return InvalidInput("argument '{}' has {} bytes, of which {} are device memory", parameter.name,
                        *bytes, argument.bytes);
  }
  if (bytes) argument.bytes = *bytes;
  if (reinterpret_cast<uintptr_t>(argument.pointer) % parameter.element_bytes != 0) {
    return InvalidInput("argument '{}' is not aligned to its elements of {} bytes", parameter.name,
                        parameter.element_bytes);
  }
  return argument;
}

StatusOr<std::vector<TccArgument>> Arguments(const DeviceMemory& memory, const TccKernel& kernel,
                                             const LaunchOptions& options) {
  const std::vector<const void*>& values = options.arguments;
  if (static_cast<int>(values.size()) != kernel.parameter_count) {
    return InvalidInput("{} arguments; expected {}", values.size(), kernel.parameter_count);
  }
  std::vector<TccArgument> arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    std::optional<int64_t> bytes;
    if (!options.argument_bytes.empty()) bytes = options.argument_bytes[i];
    TCC_ASSIGN_OR_RETURN(TccArgument argument,
                         Argument(memory, kernel.parameters[i], values[i], bytes));
    arguments.push_back(argument);
  }
  return arguments;
}

Status CheckRedZones(const DeviceMemory& memory, const TccKernel& kernel,
                     const std::vector<TccArgument>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TccParameter& parameter = kernel.parameters[i];
    if (parameter.kind != 'o' && parameter.kind != 't') continue;
    TCC_RETURN_IF_ERROR(Annotate(memory.CheckRedZones(arguments[i].pointer),
                                 fmt::format("argument '{}'", parameter.name)));
  }
  return OkStatus();
}

// Checks that a launch leaves its tickets as it expects them: zero.
Status CheckTickets(const TccKernel& kernel, const std::vector<TccArgument>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.parameters[i].kind != 't') continue;
    const auto* tickets = static_cast<const uint32_t*>(arguments[i].pointer);
    const int64_t count = arguments[i].bytes / static_cast<int64_t>(sizeof(*tickets));
    for (int64_t t = 0; t < count; ++t) {
      if (tickets[t] == 0) continue;
      return WrongResult("{}[{}] is {} after the launch; expected 0", kernel.parameters[i].name, t,
                         tickets[t]);
    }
  }
  return OkStatus();
}

// Checks the limits that all devices share (CUDA C Programming Guide, table of compute
// capabilities); the code generator checks those that differ.
Status CheckShape(const TccKernel& kernel, const LaunchOptions& options) {
  const Dim3& grid = options.grid;
  const Dim3& block = options.block;
  if (block.Count() < 1 || block.Count() > kCudaLimits.max_threads ||
      block.z > kCudaLimits.max_threads_in_z) {
    return InvalidInput("a block of {} x {} x {} threads", block.x, block.y, block.z);
  }
  if (block.Count() > kernel.threads) {
    return InvalidInput("a block of {} threads; declared for at most {}", block.Count(),
                        kernel.threads);
  }
  const auto& [most_x, most_y, most_z] = kCudaLimits.max_blocks;
  if (grid.Count() < 1 || grid.x > most_x || grid.y > most_y || grid.z > most_z) {
    return InvalidInput("a grid of {} x {} x {} blocks", grid.x, grid.y, grid.z);
  }
  if (options.dynamic_shared_bytes < 0 ||
      options.dynamic_shared_bytes > kCudaLimits.max_shared_bytes) {
    return InvalidInput("{} bytes of dynamic shared memory", options.dynamic_shared_bytes);
  }
  return OkStatus();
}

// Returns the text of the line that an error message names as "line N".
std::string QuotedLine(const Program& program, const std::string& message) {
  const size_t at = message.find("line ");
  if (at == std::string::npos) return "";
  return fmt::format("; the line is: {}", program.Line(std::atoi(message.c_str() + at + 5)));
}

// Returns a write that differs between two orders. It compares both ways, because either order may
// have written more. On entry memory holds the results of the second order; on return without a
// difference, those of the first.
std::optional<WriteLog::Written> Difference(const std::vector<WriteLog::Written>& first,
                                            const WriteLog& second) {
  if (const WriteLog::Written* entry = FirstDifference(first)) return *entry;
  const std::vector<WriteLog::Written> results = second.Results();
  second.Undo();
  Redo(first);
  if (const WriteLog::Written* entry = FirstDifference(results)) return *entry;
  return std::nullopt;
}

// Runs a block in all orders, and leaves in memory the results that they agree on.
Status RunBlock(BlockRunner& runner, Dim3 block, int64_t linear) {
  constexpr ThreadOrder kFirst = kThreadOrders[0];
  TCC_RETURN_IF_ERROR(runner.Run(block, linear, kFirst));
  const WriteLog writes = runner.writes();
  const std::vector<WriteLog::Written> results = writes.Results();
  for (ThreadOrder order : kThreadOrders) {
    if (order == kFirst) continue;
    writes.Undo();
    TCC_RETURN_IF_ERROR(runner.Run(block, linear, order));
    if (auto entry = Difference(results, runner.writes())) {
      return WrongResult("{}[{}], written in line {}, depends on the order of threads ({}, {})",
                         entry->name, entry->index, entry->line, Name(kFirst), Name(order));
    }
  }
  return OkStatus();
}

// Checks whether block `linear` of `count` is one of `chosen` evenly spaced from the first to the
// last.
bool IsChosen(int64_t linear, int64_t count, int64_t chosen) {
  if (chosen >= count) return true;
  if (chosen <= 1) return linear < chosen;
  const int64_t number = (linear * (chosen - 1) + count - 2) / (count - 1);
  return number * (count - 1) / (chosen - 1) == linear;
}

Status RunGrid(const Program& program, BlockRunner& runner, const LaunchOptions& options) {
  const int64_t count = options.grid.Count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t linear = options.block_order == BlockOrder::kForward ? i : count - 1 - i;
    const Dim3 block = IndexIn(linear, options.grid);
    const ThreadOrder one_order =
        kThreadOrders[static_cast<size_t>(linear) % std::size(kThreadOrders)];
    Status status = IsChosen(linear, count, options.blocks_in_all_orders)
                        ? RunBlock(runner, block, linear)
                        : runner.Run(block, linear, one_order);
    if (status.ok()) continue;
    const std::string message = Message(status);
    return Status(status.code(), fmt::format("block ({}, {}, {}), {}{}", block.x, block.y, block.z,
                                             message, QuotedLine(program, message)));
  }
  return OkStatus();
}

// Returns the stacks, which are made once per host thread: each page that was touched stays.
StatusOr<const FiberStacks*> Stacks() {
  static thread_local StatusOr<FiberStacks> stacks = FiberStacks::Make(kCudaLimits.max_threads);
  if (!stacks.ok()) return stacks.status();
  return &*stacks;
}

}  // namespace

Status Launch(const Program& program, const DeviceMemory& memory, const LaunchOptions& options) {
  const std::string context = fmt::format("kernel '{}'", options.kernel);
  const TccKernel* kernel = program.Find(options.kernel);
  if (kernel == nullptr) return InvalidInput("{} is not in the text", context);
  Status shape = CheckShape(*kernel, options);
  if (!shape.ok()) return Annotate(shape, context);
  StatusOr<std::vector<TccArgument>> arguments = Arguments(memory, *kernel, options);
  if (!arguments.ok()) return Annotate(arguments.status(), context);
  TCC_ASSIGN_OR_RETURN(const FiberStacks* stacks, Stacks());
  BlockRunner runner(*stacks, program.host(), *kernel, *arguments, options.block,
                     options.dynamic_shared_bytes, options.dependent);
  TCC_RETURN_IF_ERROR(Annotate(RunGrid(program, runner, options), context));
  TCC_RETURN_IF_ERROR(Annotate(CheckTickets(*kernel, *arguments), context));
  return Annotate(CheckRedZones(memory, *kernel, *arguments), context);
}

}  // namespace tcc::emulator
