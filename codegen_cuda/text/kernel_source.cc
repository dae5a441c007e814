#include "codegen_cuda/text/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen_cuda/text/c_types.h"
#include "codegen_cuda/text/launch.h"
#include "codegen_cuda/text/stmt_text.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Returns the variable of the buffer or shape that an argument stands for.
Var VarOf(const Function& fn, const std::vector<Buffer>& workspaces,
          const KernelArgument& argument) {
  switch (argument.kind) {
    case KernelArgument::Kind::kParameter:
      return fn.params[argument.index].var;
    case KernelArgument::Kind::kWorkspace:
      return workspaces[argument.index].var;
    case KernelArgument::Kind::kShape:
      return fn.vars[argument.index];
    case KernelArgument::Kind::kTickets:
    case KernelArgument::Kind::kTensorMap:
      break;
  }
  TCC_UNREACHABLE();
}

// Returns the parameters of a kernel, and writes the lines that make their arrays.
std::string ArgumentsText(const Function& fn, const std::vector<Buffer>& workspaces,
                          const Launch& launch, KernelText& kernel) {
  std::string text;
  for (const KernelArgument& argument : launch.arguments) {
    text += text.empty() ? "" : ", ";
    if (argument.kind == KernelArgument::Kind::kTickets) {
      kernel.tickets = kernel.Fresh("tickets");
      text += fmt::format("TCC_TICKETS({})", kernel.tickets);
      continue;
    }
    if (argument.kind == KernelArgument::Kind::kTensorMap) {
      text += fmt::format("TCC_MAP({})", kernel.Fresh("map"));
      continue;
    }
    Var var = VarOf(fn, workspaces, argument);
    std::string name = kernel.NameOf(var);
    if (argument.kind == KernelArgument::Kind::kShape) {
      kernel.wide.insert(var.get());
      text += fmt::format("TCC_SHAPE({})", name);
      continue;
    }
    std::string_view macro = argument.written ? "TCC_OUTPUT" : "TCC_INPUT";
    if (argument.handed) macro = "TCC_HANDED";
    const std::string type = MemoryTypeText(kernel.dialect, var.dtype());
    text += fmt::format("{}({}, {})", macro, type, name);
    if (kernel.dialect.has_buffer_objects) {
      kernel.Line(fmt::format("{}_AT({}, {});", macro, type, name));
    }
  }
  return text;
}

// Declares an int for each shape that fits one.
void NarrowShapes(const Function& fn, KernelText& kernel) {
  for (const Var& var : fn.vars) {
    if (var->low < -INT32_MAX || var->high > INT32_MAX) continue;
    std::string argument = kernel.NameOf(var);
    kernel.Line(fmt::format("const int {} = (int){};", kernel.Define(var), argument));
    kernel.wide.erase(var.get());
  }
}

void DeclareShared(const LaunchBody& launch, KernelText& kernel) {
  const int64_t in_one = launch.launch.dynamic_shared_bytes;
  if (in_one > 0 && kernel.dialect.has_buffer_objects) {
    kernel.Line(fmt::format("TCC_SHARED_BYTES({});", in_one));
  }
  for (size_t i = 0; i < launch.shared.size(); ++i) {
    const Buffer& buffer = launch.shared[i];
    kernel.buffers[buffer.var.get()] = buffer;
    DType dtype = buffer.dtype();
    int64_t bytes = (SharedCells(buffer) * dtype.bits() + 7) / 8;
    int64_t cells = IsPacked(dtype) ? bytes : bytes / dtype.bytes();
    std::string name = kernel.NameOf(buffer.var);
    const std::string type = MemoryTypeText(kernel.dialect, dtype);
    if (in_one > 0) {
      kernel.Line(fmt::format("TCC_SHARED_AT({}, {}, {}, {});", type, name,
                              launch.places.offsets[i], cells));
    } else {
      kernel.Line(fmt::format("TCC_SHARED({}, {}, {});", type, name, std::max<int64_t>(cells, 1)));
    }
  }
}

std::string_view HardwareIndex(ForKind kind) {
  switch (kind) {
    case ForKind::kBlockIdxX:
      return "tcc_block_x()";
    case ForKind::kBlockIdxY:
      return "tcc_block_y()";
    case ForKind::kBlockIdxZ:
      return "tcc_block_z()";
    case ForKind::kThreadIdxX:
      return "tcc_thread_x()";
    case ForKind::kThreadIdxY:
      return "tcc_thread_y()";
    case ForKind::kThreadIdxZ:
      return "tcc_thread_z()";
    case ForKind::kSerial:
    case ForKind::kParallel:
    case ForKind::kVectorized:
    case ForKind::kUnrolled:
    case ForKind::kPartitioned:
    case ForKind::kPipelined:
    case ForKind::kPipelinedAsync:
    case ForKind::kVthread:
      break;
  }
  TCC_UNREACHABLE();
}

// Declares the lane: the index along x, or along x and y where both together number the threads of
// a warp.
void DeclareLane(const Stmt& body, const std::map<ForKind, std::string>& names,
                 KernelText& kernel) {
  kernel.bounds[kernel.lane] = {0, Target::kWarp - 1};
  const int64_t along_x = kernel.threads[0];
  auto x = names.find(ForKind::kThreadIdxX), y = names.find(ForKind::kThreadIdxY);
  if (x == names.end()) return;
  if (along_x >= Target::kWarp || y == names.end()) return kernel.Alias(kernel.lane, x->second);
  bool used = Contains(body, [](const Stmt& stmt) { return stmt.as<IntrinsicCall>() != nullptr; });
  if (!used) return;
  kernel.Line(fmt::format("const int {} = {} + {} * {};", kernel.NameOf(kernel.lane), x->second,
                          y->second, along_x));
}

// Declares one constant per axis, which all loops of the axis share.
void DeclareIndices(const Stmt& body, KernelText& kernel) {
  std::map<ForKind, std::string> names;
  PreOrder(body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop || (!IsBlockIdx(loop->for_kind) && !IsThreadIdx(loop->for_kind))) return;
    auto found = names.find(loop->for_kind);
    if (IsThreadIdx(loop->for_kind)) kernel.thread_axes[loop->var.get()] = AxisOf(loop->for_kind);
    if (found != names.end()) return kernel.Alias(loop->var, found->second);
    std::string name = kernel.NameOf(loop->var);
    names[loop->for_kind] = name;
    kernel.Line(fmt::format("const int {} = {};", name, HardwareIndex(loop->for_kind)));
  });
  DeclareLane(body, names, kernel);
}

bool IsKnownPlace(const Expr& index) {
  const auto* ramp = index.as<Ramp>();
  return ramp ? IsKnownPlace(ramp->base) && IsKnownPlace(ramp->stride)
              : AsConstant(index).has_value();
}

bool IndexesLocals(const Stmt& body) {
  std::set<const ExprNode*> locals;
  bool found = false;
  auto look = [&](const Var& buffer, const std::vector<Expr>& indices) {
    if (!locals.contains(buffer.get())) return;
    found = found || !std::ranges::all_of(indices, IsKnownPlace);
  };
  PreOrder(body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.scope == Scope::kLocal)
      locals.insert(allocate->buffer.var.get());
    if (const auto* store = stmt.as<Store>()) look(store->buffer, store->indices);
  });
  PreOrderExprs(body, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) look(load->buffer, load->indices);
  });
  return found;
}

// Returns whether no multiprocessor gets a second block. Room for one would only take registers:
// ptxas then keeps fewer loads in flight, to fit in 32 of them.
bool HasOneBlockEach(const Launch& launch, const Target& target) {
  int64_t blocks = 1;
  for (const Expr& extent : launch.grid) {
    std::optional<int64_t> count = AsConstant(extent);
    if (!count || *count > target.multiprocessors) return false;
    blocks *= *count;
  }
  return blocks <= target.multiprocessors;
}

// The oldest arch that has griddepcontrol.
constexpr int kSmOfDependentLaunch = 90;

// Returns a kernel's function.
std::string FunctionText(const Launch& launch, const std::string& arguments,
                         const KernelText& kernel, const Target& target) {
  const auto& [x, y, z] = launch.block;
  if (kernel.dialect.has_buffer_objects) {
    return fmt::format("TCC_KERNEL({}, {}, {}, {})({}) {{\n{}}}\n\n", launch.kernel, x, y, z,
                       arguments, kernel.Text());
  }
  return fmt::format("TCC_{}KERNEL({}, {})({}) {{\n{}}}\nTCC_END_KERNEL({})\n\n",
                     HasOneBlockEach(launch, target) ? "ONE_BLOCK_" : "", launch.kernel,
                     launch.Threads(), arguments, kernel.Text(), launch.kernel);
}

// Writes one kernel, and sets the launch's rows_per_bank, indexes_locals and waits. Adds the
// products of groups that it calls to `groups`.
StatusOr<std::string> KernelOf(const Function& fn, const std::vector<Buffer>& workspaces,
                               LaunchBody& body, const Target& target, const Dialect& dialect,
                               std::set<GroupMma>& groups) {
  KernelText kernel(dialect);
  kernel.has_groups = Contains(body.body, IsGroupProduct);
  kernel.sm = target.sm;
  kernel.bounds = body.bounds;
  kernel.threads = body.launch.block;
  for (const Buffer& param : fn.params) kernel.buffers[param.var.get()] = param;
  for (const Buffer& workspace : workspaces) kernel.buffers[workspace.var.get()] = workspace;
  Launch& launch = body.launch;
  kernel.meets_in_global = std::ranges::any_of(
      launch.arguments, [](const KernelArgument& each) { return each.written && each.read; });
  std::string arguments = ArgumentsText(fn, workspaces, launch, kernel);
  NarrowShapes(fn, kernel);
  DeclareShared(body, kernel);
  DeclareIndices(body.body, kernel);
  launch.waits = target.sm >= kSmOfDependentLaunch;
  if (launch.waits) kernel.Line("tcc_wait_for_launch_before();");
  StmtText(kernel, launch.block).Emit(body.body);
  if (!kernel.refused.ok()) {
    return Unsupported("kernel '{}': {}", fn.name, Message(kernel.refused));
  }
  if (dialect.is_pedantic) kernel.DropUnused();
  groups.merge(kernel.groups);
  launch.rows_per_bank = kernel.rows_per_bank;
  launch.indexes_locals = IndexesLocals(body.body);
  return FunctionText(launch, arguments, kernel, target);
}

}  // namespace

StatusOr<KernelsSource> EmitKernels(std::span<const Function> functions, const Target& target,
                                    const Dialect& dialect) {
  KernelsSource source;
  std::set<GroupMma> groups;
  for (const Function& fn : functions) {
    TCC_ASSIGN_OR_RETURN(LaunchBodies bodies, FindLaunches(fn, target));
    LaunchPlan plan;
    plan.workspaces = bodies.workspaces;
    for (LaunchBody& body : bodies.launches) {
      TCC_ASSIGN_OR_RETURN(std::string text,
                           KernelOf(fn, bodies.workspaces, body, target, dialect, groups));
      source.text += text;
      plan.launches.push_back(std::move(body.launch));
    }
    source.plans.push_back(std::move(plan));
  }
  std::string products;
  for (const GroupMma& group : groups) products += GroupMmaText(group);
  source.text = products + source.text;
  return source;
}

}  // namespace tcc
