#include <set>

#include "codegen_cuda/text/launch.h"
#include "ir/analysis/cross_thread.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/analysis/footprint.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "support/check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random/task_functions.h"
#include "tests/programs/formula_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/touched_cells.h"

// The formulas of what a sketch takes (schedule/space/resources.h) have the values that are counted
// in the lowered function, at points that need fit nothing.
namespace tcc {
namespace {

constexpr const char* kTargets[] = {"native", "sm_86", "opencl"};
// Beyond, unrolling takes longer than a test can wait.
constexpr int64_t kMaxUnrolled = 1000;
constexpr int kDraws = 50;

struct Row {
  std::string title;
  Target target;
  SymbolicProgram program;
  std::vector<NestResources> formulas;
};

// Every sketch of every operator of the built-in networks.
const std::vector<Row>& Rows() {
  static const auto* rows = [] {
    auto* all = new std::vector<Row>;
    for (const char* name : kTargets) {
      Target target = FindTarget(name).value();
      for (TaskFunction task : ZooTaskFunctions()) {
        NoteWarps(task.fn, target);
        for (const Sketch& sketch : GenerateSketches(task.fn, target)) {
          StatusOr<SymbolicProgram> program = Instantiate(task.fn, sketch.trace);
          TCC_CHECK(program.ok()) << Message(program.status());
          std::string title = fmt::format("sketch '{}' of {} variant {} for {}", sketch.name,
                                          task.nodes, task.variant, target.name);
          std::vector<NestResources> formulas = ResourcesOf(program->fn, target);
          all->push_back({std::move(title), target, *std::move(program), std::move(formulas)});
        }
      }
    }
    return all;
  }();
  return *rows;
}

// Small values and values from the whole range take turns; nullopt where the steps refuse them all.
std::optional<Decisions> Draw(const SymbolicProgram& program, Random& random) {
  for (int draw = 0; draw < kDraws; ++draw) {
    Decisions decisions = RandomDecisions(program.trace, random);
    if (random.OneIn(2)) {
      for (const FreeSize& size : program.trace.sizes) {
        std::vector<int64_t> values = ValuesOf(size);
        decisions[size.var->name] = values[random.Below(values.size())];
      }
    }
    if (Satisfies(program, decisions)) return decisions;
  }
  return std::nullopt;
}

// What one iteration of some loop touches is no more than its formula says.
Status CheckFootprint(const Row& row, const Decisions& decisions, Random& random,
                      Histogram& histogram) {
  constexpr int64_t kMaxInstances = 5'000;
  const Function& symbolic = row.program.fn;
  Function known = Simplify(Substitute(symbolic, ToSubstitution(symbolic, decisions)));
  std::vector<LoopRef> loops;
  PreOrder(known.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) loops.push_back(loop->key);
  });
  if (loops.empty()) return OkStatus();
  const LoopRef& loop = loops[random.Below(loops.size())];
  std::optional<int64_t> touched = BytesTouchedInside(known, loop, kMaxInstances);
  if (!touched) {
    ++histogram["footprints that are too large to be counted"];
    return OkStatus();
  }
  int64_t formula = FormulaAt(FootprintInside(symbolic, loop).value(), symbolic, decisions);
  ++histogram[*touched == formula ? "footprints: exactly the cells that are touched"
                                  : "footprints: beyond the cells that are touched"];
  if (*touched <= formula) return OkStatus();
  return absl::InternalError(
      fmt::format("{}: an iteration of loop '{}' touches {} bytes, by formula {}\n{}", row.title,
                  loop, *touched, formula, Print(known)));
}

// The launches' shared buffers find places in as many bytes as the formulas say. "" or what is
// wrong.
std::string CheckLaunches(const Row& row, const Decisions& decisions, const Function& lowered,
                          Histogram& histogram) {
  if (row.target.kind != TargetKind::kGpu) return "";
  Target exact = row.target;
  exact.shared_bytes = 0;
  for (const NestResources& nest : row.formulas) {
    exact.shared_bytes =
        std::max(exact.shared_bytes, FormulaAt(nest.shared_bytes, row.program.fn, decisions));
  }
  if (exact.shared_bytes == 0) return "";
  StatusOr<LaunchBodies> bodies = FindLaunches(lowered, exact);
  if (!bodies.ok()) {
    bool of_memory = Message(bodies.status()).find("of shared memory") != std::string::npos;
    if (of_memory) return Message(bodies.status());
    ++histogram["launches beyond other limits than shared memory"];
    return "";
  }
  int64_t most = 0;
  for (const LaunchBody& body : bodies->launches) most = std::max(most, body.places.bytes);
  ++histogram[most == exact.shared_bytes ? "shared bytes: exactly those of the launch"
                                         : "shared bytes: more than those of the launch"];
  return "";
}

Status CheckAssignment(const Row& row, Random& random, Histogram& histogram) {
  std::optional<Decisions> decisions = Draw(row.program, random);
  if (!decisions) return absl::InternalError(row.title + ": no assignment is legal");
  int64_t unrolled = 0;
  for (const NestResources& nest : row.formulas) {
    unrolled =
        std::max(unrolled, FormulaAt(nest.statements * nest.vthreads, row.program.fn, *decisions));
  }
  bool whole = unrolled <= kMaxUnrolled && random.OneIn(8);
  LoweringDepth depth = whole ? LoweringDepth::kWhole : LoweringDepth::kMarked;
  StatusOr<LoweredPoint> lowered = LowerAt(row.program, *decisions, depth);
  std::string wrong = lowered.ok()
                          ? FirstWrongFormula(row.formulas, row.program.fn, *decisions, *lowered)
                          : Message(lowered.status());
  ++histogram[whole ? "assignments held against unrolled code too"
                    : "assignments held against marked loops"];
  if (whole && wrong.empty()) wrong = CheckLaunches(row, *decisions, lowered->lowered, histogram);
  if (wrong.empty()) return CheckFootprint(row, *decisions, random, histogram);
  std::string sizes;
  for (const auto& [name, value] : *decisions) sizes += fmt::format(" {}={}", name, value);
  return absl::InternalError(fmt::format("{}: {}\nsizes:{}\ntrace:\n{}", row.title, wrong, sizes,
                                         Print(row.program.trace)));
}

}  // namespace

FuzzResult FuzzFormulas(const FuzzOptions& options) {
  const std::vector<Row>& rows = Rows();
  int64_t each = std::max<int64_t>(options.points_per_sketch, 1);
  FuzzOptions all = options;
  int64_t last = each * static_cast<int64_t>(rows.size());
  all.points = std::min(options.points, last + 1 - static_cast<int64_t>(options.seed));
  std::set<size_t> seen;
  std::string command = fmt::format("formulas --points-per-sketch {}", each);
  FuzzResult result = RunPoints(command, all, [&](uint64_t seed, Histogram& histogram) {
    size_t r = (seed - 1) / static_cast<uint64_t>(each);
    if (!seen.insert(r).second && rows[r].program.trace.sizes.empty()) {
      ++histogram["no other assignment: no size is free"];
      return OkStatus();
    }
    Random random(seed);
    return CheckAssignment(rows[r], random, histogram);
  });
  result.histogram["sketches of the built-in networks"] = static_cast<int64_t>(rows.size());
  result.histogram["sketches seen"] = static_cast<int64_t>(seen.size());
  return result;
}

}  // namespace tcc
