#include "ir/interpret/interpret_machine.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "support/check.h"
#include "support/storage_types.h"
#include "support/threads.h"

namespace tcc::interpret {
namespace {

// The least instances for real threads: a smaller nest is done before threads have started.
constexpr int64_t kSharedInstances = 1 << 18;

}  // namespace

Machine::Machine(const Program& program, const InterpretOptions& options)
    : program_(program),
      options_(options),
      scalars_(program.scalars, monitor_, std::max(1, program.widest_vector)),
      random_(options.seed) {
  monitor_.max_instances = options.max_instances;
  monitor_.detect_races = options.detect_races;
  monitor_.reads_garbage = options.reads_garbage;
  monitor_.rounding_seed = options.rounding_seed;
  runners_.resize(program.nests.size());
}

NestRunner& Machine::RunnerOf(int index) {
  if (!runners_[index]) {
    runners_[index] =
        std::make_unique<NestRunner>(*program_.nests[index], monitor_, options_.max_lanes);
  }
  return *runners_[index];
}

int64_t Machine::Value(int expr, Context& context) {
  scalars_.Enter(context, 1);
  return scalars_.Integer(expr);
}

void Machine::Run(const Code& code, Context& context) {
  if (monitor_.failed()) return;
  if (code.launch && !in_launch_) return Launch(code, context);
  switch (code.kind) {
    case CodeKind::kSeq:
      for (const auto& child : code.children) Run(*child, context);
      return;
    case CodeKind::kNest:
      return RunNest(*program_.nests[code.nest], code.nest, context);
    case CodeKind::kLoop:
      return RunLoop(code, context);
    case CodeKind::kBlock:
      return RunBlock(code, context);
    case CodeKind::kIf:
      if (Value(code.expr, context) != 0) {
        Run(*code.children[0], context);
      } else if (code.children.size() > 1) {
        Run(*code.children[1], context);
      }
      return;
    case CodeKind::kLet:
      scalars_.Enter(context, 1);
      if (!RunsHere(code.guard, context, scalars_)) return;
      RunLet(code, context);
      return Run(*code.children[0], context);
    case CodeKind::kAllocate:
      return RunAllocate(code, context);
    case CodeKind::kBarrier:
      ++monitor_.report.barriers;
      return;
    case CodeKind::kAsyncCopy:
      return IssueCopy(code, context);
    case CodeKind::kAsyncCommit:
      context.groups.push_back(std::move(context.open));
      context.open.clear();
      return;
    case CodeKind::kAsyncWait:
      return AwaitCopies(code.pending, context);
    case CodeKind::kPrefetch:
      // The indices may point anywhere, but they must be defined.
      for (int index : code.exprs) Value(index, context);
      return;
    case CodeKind::kWarpCall:
      TCC_CHECK(false) << "a warp's threads run it together";
      return;
  }
}

void Machine::RunNest(const Nest& nest, int index, Context& context) {
  scalars_.Enter(context, 1);
  if (!RunsHere(nest.guard, context, scalars_)) return;
  NestRunner& runner = RunnerOf(index);
  bool shared = options_.threads > 1 && nest.independent && !in_launch_ && !in_parallel_ &&
                options_.max_instances == 0 && !options_.detect_races &&
                runner.CountInstances(scalars_) >= kSharedInstances;
  if (shared) return RunShared(nest, context);
  runner.Run(context, scalars_);
}

// Runs a nest on real threads, each with its own share of the iterations and its own values; their
// cells are disjoint.
void Machine::RunShared(const Nest& nest, Context& context) {
  int parts = options_.threads;
  std::vector<Monitor> monitors(parts);
  for (Monitor& monitor : monitors) {
    monitor.reads_garbage = options_.reads_garbage;
    monitor.rounding_seed = options_.rounding_seed;
  }
  std::atomic<int> next{0};
  RunOnThreads(parts, [&] {
    for (int part = next++; part < parts; part = next++) {
      Context own = context;
      Evaluator scalars(program_.scalars, monitors[part], std::max(1, program_.widest_vector));
      scalars.Enter(own, 1);
      NestRunner(nest, monitors[part], options_.max_lanes)
          .Run(own, scalars, {.part = part, .parts = parts});
    }
  });
  // The parts are in iteration order, so the first failure is the one that a single thread would
  // meet.
  for (const Monitor& monitor : monitors) {
    monitor_.report.instances_issued += monitor.report.instances_issued;
    monitor_.report.instances_executed += monitor.report.instances_executed;
    if (monitor_.error.ok()) monitor_.error = monitor.error;
  }
}

std::vector<int64_t> Machine::OrderOf(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(std::max<int64_t>(0, count)));
  std::iota(order.begin(), order.end(), 0);
  switch (options_.order) {
    case ThreadOrder::kForward:
      break;
    case ThreadOrder::kBackward:
      std::ranges::reverse(order);
      break;
    case ThreadOrder::kShuffled:
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
      break;
  }
  return order;
}

void Machine::RunLoop(const Code& code, Context& context) {
  int64_t& variable = context.slots[code.slot].integer;
  if (IsThreadIdx(code.for_kind)) {
    variable =
        context.hardware[static_cast<int>(code.for_kind) - static_cast<int>(ForKind::kThreadIdxX)];
    return Run(*code.children[0], context);
  }
  int64_t extent = Value(code.expr, context);
  bool unordered = code.for_kind == ForKind::kParallel || code.for_kind == ForKind::kVthread;
  if (!unordered) {
    for (int64_t i = 0; i < extent && !monitor_.failed(); ++i) {
      variable = i;
      Run(*code.children[0], context);
    }
    return;
  }
  // Races are detected between iterations of the outermost parallel loop, or between a launch's
  // threads.
  bool outermost = code.for_kind == ForKind::kParallel && !in_parallel_ && !in_launch_;
  if (outermost) {
    in_parallel_ = true;
    ++monitor_.epoch;
  }
  for (int64_t i : OrderOf(extent)) {
    if (monitor_.failed()) break;
    variable = i;
    if (outermost) context.thread = i;
    Run(*code.children[0], context);
  }
  if (outermost) {
    in_parallel_ = false;
    context.thread = 0;
    ++monitor_.epoch;
  }
}

void Machine::RunBlock(const Code& code, Context& context) {
  scalars_.Enter(context, 1);
  if (!RunsHere(code.guard, context, scalars_)) return;
  monitor_.CountIssued(1);
  bool predicate = false;
  for (size_t i = 0; i < code.conditions.size(); ++i) {
    if (i + 1 == code.conditions.size()) {
      for (size_t v = 0; v < code.slots.size(); ++v) {
        context.slots[code.slots[v]].integer = scalars_.Integer(code.exprs[v]);
      }
      scalars_.Enter(context, 1);
      ++monitor_.report.instances_executed;
    }
    predicate = scalars_.Integer(code.conditions[i]) != 0;
    if (!predicate || monitor_.failed()) return;
  }
  Run(*code.children[0], context);
}

void Machine::RunLet(const Code& code, Context& context) {
  scalars_.Enter(context, code.lanes);
  scalars_.Evaluate(code.expr, scalars_.full());
  Slot& slot = context.slots[code.slot];
  bool one = scalars_.uniform(code.expr);
  if (HoldsFloats(code.dtype)) {
    const double* values = scalars_.reals(code.expr);
    slot.real = values[0];
    slot.reals.resize(code.lanes);
    for (int i = 0; i < code.lanes; ++i) slot.reals[i] = values[one ? 0 : i];
  } else {
    const int64_t* values = scalars_.integers(code.expr);
    slot.integer = values[0];
    slot.integers.resize(code.lanes);
    for (int i = 0; i < code.lanes; ++i) slot.integers[i] = values[one ? 0 : i];
  }
}

void Machine::Declare(int buffer, Context& context, Cells& cells) {
  const BufferCode& code = program_.buffers[buffer];
  scalars_.Enter(context, 1);
  std::vector<int64_t> origin;
  std::vector<int64_t> size;
  for (int expr : code.origin) origin.push_back(scalars_.Integer(expr));
  for (int expr : code.size) size.push_back(scalars_.Integer(expr));
  cells.Declare(code.name, code.dtype, origin, size, code.circular);
}

void Machine::RunAllocate(const Code& code, Context& context) {
  Cells cells;
  Declare(code.buffer, context, cells);
  cells.Poison();
  Cells* before = std::exchange(context.buffers[code.buffer], &cells);
  Run(*code.children[0], context);
  context.buffers[code.buffer] = before;
}

// Queues a copy, which happens as late as allowed; until then the destination counts as unwritten.
void Machine::IssueCopy(const Code& code, Context& context) {
  scalars_.Enter(context, 1);
  if (!RunsHere(code.guard, context, scalars_)) return;
  Offsets to;
  if (!scalars_.Locate(code.destination, scalars_.full(), &to)) return;
  PendingCopy copy{.to = context.buffers[program_.scalars.accesses[code.destination].buffer],
                   .to_offset = to.At(0),
                   .count = code.count};
  if (code.expr < 0 || Value(code.expr, context) != 0) {
    Offsets from;
    if (!scalars_.Locate(code.source, scalars_.full(), &from)) return;
    copy.from = context.buffers[program_.scalars.accesses[code.source].buffer];
    copy.from_offset = from.At(0);
  }
  if (copy.to_offset + copy.count > copy.to->count() ||
      (copy.from && copy.from_offset + copy.count > copy.from->count())) {
    const auto& accesses = program_.scalars.accesses;
    return monitor_.Fail(
        fmt::format("an asynchronous copy of {} elements from {} to {} passes an end", copy.count,
                    context.buffers[accesses[code.source].buffer]->name(), copy.to->name()));
  }
  for (int i = 0; i < copy.count; ++i) copy.to->Forget(copy.to_offset + i);
  context.open.push_back(copy);
}

void Machine::AwaitCopies(int pending, Context& context) {
  while (static_cast<int>(context.groups.size()) > pending) {
    for (const PendingCopy& copy : context.groups.front()) {
      for (int i = 0; i < copy.count; ++i) {
        if (copy.from && !copy.from->IsWritten(copy.from_offset + i)) {
          return monitor_.Fail(fmt::format("an asynchronous copy reads a cell of {} never written",
                                           copy.from->name()));
        }
        if (copy.from) {
          copy.to->CopyCell(copy.to_offset + i, *copy.from, copy.from_offset + i);
        } else {
          copy.to->Clear(copy.to_offset + i);
        }
        if (!options_.detect_races) continue;
        if (!copy.to->NoteUse(copy.to_offset + i, true, context.thread, monitor_.epoch)) {
          return monitor_.Fail(
              fmt::format("an asynchronous copy into {} is a race", copy.to->name()));
        }
      }
    }
    context.groups.erase(context.groups.begin());
  }
}

}  // namespace tcc::interpret
