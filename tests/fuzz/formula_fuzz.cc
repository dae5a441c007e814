#include <set>

#include "ir/support/check.h"
#include "schedule/limits.h"
#include "schedule/resources.h"
#include "schedule/sketch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/task_functions.h"
#include "tests/programs/formula_check.h"
#include "tests/programs/random_trace.h"

// The formulas of what a sketch takes (schedule/resources.h) have the values that are counted in
// the lowered function, at points that need fit nothing.
namespace tcc {
namespace {

constexpr const char* kTargets[] = {"native", "sm_86"};
// Beyond, unrolling takes longer than a test can wait.
constexpr int64_t kMostUnrolled = 1000;
constexpr int kDraws = 50;

struct Row {
  std::string title;
  SymbolicProgram program;
  std::vector<NestResources> formulas;
};

// Every sketch of every operator of the built-in networks.
const std::vector<Row>& Rows() {
  static const auto* rows = [] {
    auto* all = new std::vector<Row>;
    for (const char* name : kTargets) {
      Target target = FindTarget(name).value();
      for (const TaskFunction& task : ZooTaskFunctions()) {
        for (const Sketch& sketch : GenerateSketches(task.fn, target)) {
          StatusOr<SymbolicProgram> program = Instantiate(task.fn, sketch.trace);
          TCC_CHECK(program.ok()) << Message(program.status());
          std::string title = fmt::format("sketch '{}' of {} variant {} for {}", sketch.name,
                                          task.nodes, task.variant, target.name);
          std::vector<NestResources> formulas = ResourcesOf(program->fn, target);
          all->push_back({std::move(title), *std::move(program), std::move(formulas)});
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

Status CheckAssignment(const Row& row, Random& random, Histogram& histogram) {
  std::optional<Decisions> decisions = Draw(row.program, random);
  if (!decisions) return absl::InternalError(row.title + ": no assignment is legal");
  int64_t unrolled = 0;
  for (const NestResources& nest : row.formulas) {
    unrolled =
        std::max(unrolled, FormulaAt(nest.statements * nest.vthreads, row.program.fn, *decisions));
  }
  bool whole = unrolled <= kMostUnrolled && random.OneIn(8);
  LoweringDepth depth = whole ? LoweringDepth::kWhole : LoweringDepth::kMarked;
  StatusOr<LoweredPoint> lowered = LowerAt(row.program, *decisions, depth);
  std::string wrong = lowered.ok()
                          ? FirstWrongFormula(row.formulas, row.program.fn, *decisions, *lowered)
                          : Message(lowered.status());
  ++histogram[whole ? "assignments held against unrolled code too"
                    : "assignments held against marked loops"];
  if (wrong.empty()) return OkStatus();
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
