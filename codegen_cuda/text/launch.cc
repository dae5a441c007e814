#include "codegen_cuda/text/launch.h"

#include <algorithm>

#include "codegen_cuda/text/warp_call.h"
#include "ir/expr/behind_blocks.h"
#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "support/check.h"

namespace tcc {
namespace {

// Returns whether a warp has the threads along x, or along x and y together.
bool NumbersLanes(const std::array<int64_t, 3>& block) {
  return block[0] == Target::kWarp || block[0] * block[1] == Target::kWarp;
}

constexpr std::string_view kAxisNames[] = {"x", "y", "z"};

class LaunchFinder {
 public:
  LaunchFinder(const Function& fn, const Target& target) : fn_(fn), target_(target) {
    for (size_t i = 0; i < fn.params.size(); ++i) {
      globals_.push_back({fn.params[i].var, {KernelArgument::Kind::kParameter, i, false}});
    }
  }

  StatusOr<LaunchBodies> Find() && {
    TCC_RETURN_IF_ERROR(Below(fn_.body));
    if (result_.launches.size() > 1) {
      for (size_t i = 0; i < result_.launches.size(); ++i) {
        result_.launches[i].launch.kernel += "_" + std::to_string(i);
      }
    }
    return std::move(result_);
  }

 private:
  Status Below(const Stmt& stmt) {
    if (const auto* seq = stmt.as<Seq>()) {
      for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(Below(child));
      return OkStatus();
    }
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.scope == Scope::kGlobal) {
      globals_.push_back({allocate->buffer.var,
                          {KernelArgument::Kind::kWorkspace, result_.workspaces.size(), false}});
      result_.workspaces.push_back(allocate->buffer);
      return Below(allocate->body);
    }
    return AddLaunch(stmt);
  }

  Status AddLaunch(const Stmt& stmt) {
    LaunchBody launch;
    launch.launch.kernel = fn_.name;
    launch.launch.grid = {Expr(1), Expr(1), Expr(1)};
    launch.body = stmt;
    seen_ = {};
    TCC_RETURN_IF_ERROR(AddThreads(stmt, launch));
    TCC_RETURN_IF_ERROR(AddLoops(stmt, false, launch));
    TCC_RETURN_IF_ERROR(CheckBehindBlocks(stmt));
    TCC_RETURN_IF_ERROR(AddShared(launch));
    TCC_RETURN_IF_ERROR(CheckLimits(launch.launch));
    AddArguments(launch);
    result_.launches.push_back(std::move(launch));
    return OkStatus();
  }

  // Sets the block's extents. The extent of an axis is the largest among its loops; the text keeps
  // surplus threads out of the smaller loops (stmt_text.h).
  Status AddThreads(const Stmt& stmt, LaunchBody& launch) {
    Status status = OkStatus();
    PreOrder(stmt, [&](const Stmt& s) {
      const auto* loop = s.as<For>();
      if (!loop || !IsThreadIdx(loop->for_kind)) return;
      std::optional<int64_t> extent = AsConstant(loop->extent);
      if (!extent) {
        status = Unsupported("kernel '{}': loop '{}' has threads of a number that is not constant",
                             fn_.name, loop->var->name);
        return;
      }
      int64_t& most = launch.launch.block[AxisOf(loop->for_kind)];
      most = std::max(most, *extent);
    });
    return status;
  }

  Status AddLoops(const Stmt& stmt, bool in_order, LaunchBody& launch) {
    const auto* loop = stmt.as<For>();
    if (loop && IsThreadIdx(loop->for_kind)) {
      launch.bounds[loop->var] = {0, launch.launch.block[AxisOf(loop->for_kind)] - 1};
    } else if (loop && IsBlockIdx(loop->for_kind)) {
      if (in_order) {
        return Unsupported("kernel '{}': loop '{}' of blocks is inside a loop that is in order",
                           fn_.name, loop->var->name);
      }
      TCC_RETURN_IF_ERROR(AddBlocks(*loop, launch));
    } else if (loop) {
      in_order = true;
    }
    if (const auto* allocate = stmt.as<Allocate>()) {
      TCC_RETURN_IF_ERROR(AddBuffer(allocate->buffer, launch));
    }
    Status status = OkStatus();
    ForEachChild(stmt, [&](const Stmt& child) {
      if (status.ok()) status = AddLoops(child, in_order, launch);
    });
    return status;
  }

  Status AddBlocks(const For& loop, LaunchBody& launch) {
    int axis = AxisOf(loop.for_kind);
    Expr& grid = launch.launch.grid[axis];
    if (seen_[axis] && !Equal(grid, loop.extent)) {
      return Unsupported("kernel '{}': two loops of one launch are bound to blockIdx.{}", fn_.name,
                         kAxisNames[axis]);
    }
    seen_[axis] = true;
    grid = loop.extent;
    for (const Var& var : VarsOf(grid)) {
      if (var->role == VarRole::kShape) continue;
      return Unsupported("kernel '{}': the number of blocks along {} depends on loop '{}'",
                         fn_.name, kAxisNames[axis], var->name);
    }
    Interval extent = BoundsOf(grid, {});
    int64_t most = target_.limits.max_blocks[static_cast<size_t>(axis)];
    if (extent.low > most) {
      return Unsupported("kernel '{}' has {} blocks along {}; target '{}' allows {}", fn_.name,
                         extent.low, kAxisNames[axis], target_.name, most);
    }
    launch.bounds[loop.var] = {0, std::max<int64_t>(std::min(extent.high, most) - 1, 0)};
    return OkStatus();
  }

  Status AddBuffer(const Buffer& buffer, LaunchBody& launch) {
    const bool is_shared = buffer.scope == Scope::kShared;
    if (buffer.rank() != 1 || (!is_shared && !AsConstant(buffer.shape[0]))) {
      return Unsupported("kernel '{}': buffer '{}' of scope {} has no constant size", fn_.name,
                         buffer.var->name, ToString(buffer.scope));
    }
    switch (buffer.scope) {
      case Scope::kShared:
        launch.shared.push_back(buffer);
        return OkStatus();
      case Scope::kLocal:
        return OkStatus();
      case Scope::kWarp:
        if (target_.limits.warp == 0) {
          return Unsupported("kernel '{}': warps hold buffer '{}'; target '{}' has no warps",
                             fn_.name, buffer.var->name, target_.name);
        }
        if (!HoldsFragments(launch.body, buffer.var)) return AddExchanged(buffer, launch.launch);
        if (NumbersLanes(launch.launch.block)) return OkStatus();
        return Unsupported(
            "kernel '{}': warps hold buffer '{}' but its blocks have {} threads along x; expected "
            "{}",
            fn_.name, buffer.var->name, launch.launch.block[0], Target::kWarp);
      case Scope::kGlobal:
      case Scope::kConstant:
        return Unsupported("kernel '{}': buffer '{}' of scope {} is inside a launch", fn_.name,
                           buffer.var->name, ToString(buffer.scope));
    }
    TCC_UNREACHABLE();
  }

  // Checks a warp's buffer: threads exchange its cells by shuffles, in which whole warps take part.
  Status AddExchanged(const Buffer& buffer, const Launch& launch) {
    if (launch.Threads() % Target::kWarp == 0) return OkStatus();
    return Unsupported(
        "kernel '{}': warps hold buffer '{}' but its blocks have {} threads; expected a multiple "
        "of {}",
        fn_.name, buffer.var->name, launch.Threads(), Target::kWarp);
  }

  Status AddShared(LaunchBody& launch) {
    std::vector<int64_t> sizes;
    for (const Buffer& buffer : launch.shared) {
      const int64_t cells = SharedCells(buffer);
      if (cells > target_.shared_bytes * 8) {
        return Unsupported(
            "kernel '{}': shared buffer '{}' has up to {} cells; target '{}' has {} bytes",
            fn_.name, buffer.var->name, cells, target_.name, target_.shared_bytes);
      }
      sizes.push_back((cells * buffer.dtype().bits() + 7) / 8);
    }
    launch.places = PlaceShared(launch.body, launch.shared, sizes, target_.shared_bytes);
    int64_t bytes = launch.places.bytes;
    // Overlapping arrays lie in dynamic shared memory, the one array that the driver provides. So
    // do swizzled ones: it begins at a multiple of kMaxSharedAlignment.
    bool aligned = std::ranges::any_of(launch.shared, [](const Buffer& buffer) {
      return SharedAlignment(buffer) > kSharedAlignment;
    });
    bool is_static =
        bytes <= target_.limits.default_shared_bytes && !launch.places.reused && !aligned;
    (is_static ? launch.launch.static_shared_bytes : launch.launch.dynamic_shared_bytes) = bytes;
    if (bytes <= target_.shared_bytes) return OkStatus();
    return Unsupported("kernel '{}' needs {} bytes of shared memory; target '{}' has {}", fn_.name,
                       bytes, target_.name, target_.shared_bytes);
  }

  Status CheckLimits(const Launch& launch) {
    if (launch.Threads() <= target_.limits.max_threads &&
        launch.block[2] <= target_.limits.max_threads_in_z)
      return OkStatus();
    return Unsupported("kernel '{}' has {} x {} x {} threads; target '{}' allows {}, {} along z",
                       fn_.name, launch.block[0], launch.block[1], launch.block[2], target_.name,
                       target_.limits.max_threads, target_.limits.max_threads_in_z);
  }

  // Checks where a launch goes on: its tickets count the blocks along y for each one along x.
  Status CheckBehindBlocks(const Stmt& stmt) const {
    bool fits = seen_[0] && seen_[1] && !seen_[2];
    bool goes_on = false;
    PreOrder(stmt, [&](const Stmt& s) {
      const auto* seq = s.as<Seq>();
      if (!seq || FirstBehindBlocks(*seq) == seq->stmts.size()) return;
      fits = fits && !goes_on && !HoldsBlocksAlongX(s);
      goes_on = true;
    });
    if (!goes_on) return OkStatus();
    // OpenCL 1.2, 3.3.1: work-groups of a launch have no order of their accesses to memory.
    if (target_.api == GpuApi::kOpenCl) {
      return Unsupported(
          "kernel '{}' goes on behind loops over blocks; blocks of target '{}' do not see what "
          "others wrote",
          fn_.name, target_.name);
    }
    if (fits) return OkStatus();
    return Unsupported(
        "kernel '{}' goes on behind loops over blocks; expected loops along y inside those along x",
        fn_.name);
  }

  static bool HoldsBlocksAlongX(const Stmt& stmt) {
    return Contains(stmt, [](const Stmt& inner) {
      const auto* loop = inner.as<For>();
      return loop && loop->for_kind == ForKind::kBlockIdxX;
    });
  }

  // Adds the buffers that the launch uses, its tickets, then all shapes.
  void AddArguments(LaunchBody& launch) {
    const bool goes_on = GoesOnBehindBlocks(launch.body);
    for (const auto& [var, argument] : globals_) {
      KernelArgument used = argument;
      used.written = IsWritten(launch.body, var);
      used.read = IsRead(launch.body, var);
      used.handed = goes_on && used.written && used.read;
      // A hint to prefetch is not written down.
      if (used.written || used.read) launch.launch.arguments.push_back(used);
    }
    if (goes_on) launch.launch.arguments.push_back({KernelArgument::Kind::kTickets, 0, true});
    for (size_t i = 0; i < fn_.vars.size(); ++i) {
      launch.launch.arguments.push_back({KernelArgument::Kind::kShape, i, false});
      launch.bounds[fn_.vars[i]] = {fn_.vars[i]->low, fn_.vars[i]->high};
    }
  }

  static bool IsWritten(const Stmt& body, const Var& var) {
    return Contains(body, [&](const Stmt& stmt) {
      const auto* store = stmt.as<Store>();
      const auto* copy = stmt.as<AsyncCopy>();
      return (store && store->buffer == var) || (copy && copy->destination.buffer == var);
    });
  }

  static bool IsRead(const Stmt& body, const Var& var) {
    bool read = false;
    PreOrderExprs(body, [&](const Expr& expr) {
      const auto* load = expr.as<Load>();
      read = read || (load && load->buffer == var);
    });
    return read || Contains(body, [&](const Stmt& stmt) {
             const auto* copy = stmt.as<AsyncCopy>();
             return copy && copy->source.buffer == var;
           });
  }

  struct Global {
    Var var;
    KernelArgument argument;
  };

  const Function& fn_;
  const Target& target_;
  std::vector<Global> globals_;
  std::array<bool, 3> seen_ = {};
  LaunchBodies result_;
};

}  // namespace

int64_t SharedCells(const Buffer& flat) {
  return std::max<int64_t>(BoundsOf(flat.shape[0], {}).high, 0);
}

int AxisOf(ForKind kind) {
  ForKind first = IsBlockIdx(kind) ? ForKind::kBlockIdxX : ForKind::kThreadIdxX;
  return static_cast<int>(kind) - static_cast<int>(first);
}

StatusOr<LaunchBodies> FindLaunches(const Function& fn, const Target& target) {
  TCC_CHECK(fn.level == Level::kLowered) << fn.name << " is at " << ToString(fn.level);
  for (const Var& var : fn.vars) TCC_CHECK(var->role == VarRole::kShape) << var->name;
  return LaunchFinder(fn, target).Find();
}

}  // namespace tcc
