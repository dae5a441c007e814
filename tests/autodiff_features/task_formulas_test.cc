#include "autodiff_features/task_formulas.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"

namespace tcc {
namespace {

constexpr const char* kMatmul = R"(
combiner sum_f32(a: f32 = 0.0; b: f32) = (a + b)
fn kernel(A: f32[12, 9], B: f32[9, 20], C: f32[12, 20]) tensor {
  for i in 0..12 @mm/i { for j in 0..20 @mm/j { for k in 0..9 @mm/k {
    block mm(i: spatial 12 = i, j: spatial 20 = j, k: reduce 9 = k) {
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }
  } } }
})";

Target Cpu() {
  return *FindTarget("x86-64-v3");
}

std::vector<Sketch> MatmulSketches() {
  std::vector<Sketch> sketches = GenerateSketches(ParseFunction(kMatmul).value(), Cpu());
  REQUIRE_FALSE(sketches.empty());
  REQUIRE_FALSE(sketches[0].trace.sizes.empty());
  return sketches;
}

MeasuredRecord RecordOf(const std::string& trace, const Decisions& set) {
  return {.task = kMatmul,
          .name = "product",
          .fn = kMatmul,
          .trace = trace,
          .set = set,
          .seconds = 1e-6,
          .policy = "warm"};
}

MeasuredTask TaskOf(const std::vector<MeasuredRecord>& records) {
  MeasuredTasks measured;
  for (const MeasuredRecord& record : records) measured.Add(record);
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 1);
  return tasks[0];
}

TaskFormulas FormulasOf(const MeasuredTask& task) {
  return TaskFormulas::Of(task, Cpu(), ProfileOf(Cpu()));
}

bool Mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Expects that the second of three records has no prediction, and the others have.
TaskFormulas CheckSecondLeftOut(const MeasuredRecord& bad) {
  Sketch sketch = MatmulSketches()[0];
  MeasuredRecord good = RecordOf(Print(sketch.trace), sketch.start);
  MeasuredTask task = TaskOf({good, bad, good});
  TaskFormulas formulas = FormulasOf(task);
  CHECK(formulas.PointOf(task.points[0]).has_value());
  CHECK_FALSE(formulas.PointOf(task.points[1]).has_value());
  std::vector<KernelFeatures> features = formulas.Features(task);
  REQUIRE(features.size() == 3);
  CHECK(std::isfinite(features[0].ln_prior));
  CHECK(std::isnan(features[1].ln_prior));
  CHECK(features[2].ln_prior == features[0].ln_prior);
  CHECK(features[1].rows.empty());
  CHECK(features[2].rows == features[0].rows);
  return formulas;
}

}  // namespace

TEST_CASE("Every sketch of a product has finite predictions and features", "[autodiff_features]") {
  Function fn = ParseFunction(kMatmul).value();
  Random random(2);
  std::vector<MeasuredRecord> records;
  for (const Sketch& sketch : MatmulSketches()) {
    std::string trace = Print(sketch.trace);
    records.push_back(RecordOf(trace, sketch.start));
    SearchSpace space = SearchSpace::Create(ProgramOf(fn, Cpu(), sketch)).value();
    for (const Point& point : space.Sample(5, random)) {
      records.push_back(RecordOf(trace, space.ToDecisions(point)));
    }
  }
  MeasuredTask task = TaskOf(records);
  TaskFormulas formulas = FormulasOf(task);
  CHECK(formulas.problems().empty());
  for (size_t s = 0; s < task.sketches.size(); ++s) REQUIRE(formulas.sketch(s));
  std::vector<KernelFeatures> features = formulas.Features(task);
  REQUIRE(features.size() == records.size());
  for (size_t p = 0; p < records.size(); ++p) {
    // A product of 2160 multiply-adds takes between a nanosecond and a millisecond.
    CHECK(features[p].ln_prior > std::log(1e-9));
    CHECK(features[p].ln_prior < std::log(1e-3));
    CHECK(features[p].nests() >= 1);
    CHECK(features[p].rows.size() == features[p].nests() * kNestFeatures);
    for (double row : features[p].rows) CHECK(std::isfinite(row));
  }
}

TEST_CASE("Predictions of points in turn are those of each sketch by itself",
          "[autodiff_features]") {
  std::vector<Sketch> sketches = MatmulSketches();
  const Sketch &first = sketches.front(), &last = sketches.back();
  MeasuredRecord of_first = RecordOf(Print(first.trace), first.start);
  MeasuredRecord of_last = RecordOf(Print(last.trace), last.start);
  auto predict = [](const std::vector<MeasuredRecord>& records) {
    MeasuredTask task = TaskOf(records);
    std::vector<double> ln_seconds;
    for (const KernelFeatures& features : FormulasOf(task).Features(task)) {
      ln_seconds.push_back(features.ln_prior);
    }
    return ln_seconds;
  };
  double alone_first = predict({of_first})[0], alone_last = predict({of_last})[0];
  CHECK(predict({of_last, of_first, of_last}) ==
        std::vector<double>{alone_last, alone_first, alone_last});
}

TEST_CASE("A point that lacks a size is not predicted", "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  Decisions set = sketch.start;
  std::string name = set.begin()->first;
  set.erase(set.begin());
  TaskFormulas formulas = CheckSecondLeftOut(RecordOf(Print(sketch.trace), set));
  CHECK(formulas.problems() ==
        std::vector<std::string>{"'product': size '" + name + "' has no value (1 of 3 points)"});
}

TEST_CASE("A point whose value is not allowed is not predicted", "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  for (const FreeSize& size : sketch.trace.sizes) {
    int64_t most = ValuesOf(size).back();
    for (int64_t value : {int64_t{-1}, int64_t{0}, most + 1}) {
      INFO(Print(size) << " at " << value);
      Decisions set = sketch.start;
      set[size.var->name] = value;
      TaskFormulas formulas = CheckSecondLeftOut(RecordOf(Print(sketch.trace), set));
      CHECK(formulas.problems() ==
            std::vector<std::string>{"'product': size '" + size.var->name + "' has a value that '" +
                                     Print(size) + "' does not allow (1 of 3 points)"});
    }
  }
}

TEST_CASE("Points that cannot be placed are told once for each reason, with their number",
          "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  std::string trace = Print(sketch.trace);
  Decisions missing = sketch.start, zero = sketch.start, negative = sketch.start;
  std::string name = sketch.start.begin()->first;
  missing.erase(name);
  zero[name] = 0;
  negative[name] = -3;
  MeasuredTask task =
      TaskOf({RecordOf(trace, zero), RecordOf(trace, missing), RecordOf(trace, sketch.start),
              RecordOf(trace, negative), RecordOf("fold\n", {}), RecordOf("fold\n", {}),
              RecordOf(trace, zero)});
  TaskFormulas formulas = FormulasOf(task);
  REQUIRE(formulas.problems().size() == 3);
  CHECK(Mentions(formulas.problems()[0], "does not allow (3 of 7 points)"));
  CHECK(formulas.problems()[1] == "'product': size '" + name + "' has no value (1 of 7 points)");
  CHECK(Mentions(formulas.problems()[2], "fold"));
  CHECK(Mentions(formulas.problems()[2], " (2 of 7 points)"));
}

TEST_CASE("A sketch that cannot be replayed is a problem that names its task",
          "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  std::string trace = Print(sketch.trace);
  MeasuredRecord unreadable = RecordOf("fold mm/i\n" + trace, sketch.start);
  MeasuredRecord illegal = RecordOf(trace + "vectorize nowhere/i\n", sketch.start);
  MeasuredRecord no_function = RecordOf(trace, sketch.start);
  no_function.fn = "fn kernel(";
  for (const MeasuredRecord& bad : {unreadable, illegal, no_function}) {
    TaskFormulas formulas = CheckSecondLeftOut(bad);
    REQUIRE(formulas.problems().size() == 1);
    INFO(formulas.problems()[0]);
    CHECK(formulas.problems()[0].starts_with("'product': "));
    CHECK(formulas.problems()[0].size() > std::string("'product': ").size());
    CHECK(formulas.sketch(0) != nullptr);
    CHECK(formulas.sketch(1) == nullptr);
  }
  CHECK(Mentions(CheckSecondLeftOut(unreadable).problems()[0], "fold"));
  CHECK(Mentions(CheckSecondLeftOut(illegal).problems()[0], "nowhere"));
}

TEST_CASE("A record of a GPU gets no prediction for a CPU", "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  MeasuredRecord of_gpu = RecordOf(Print(sketch.trace), sketch.start);
  of_gpu.target = "sm_86";
  MeasuredTask task = TaskOf({of_gpu});
  TaskFormulas formulas = FormulasOf(task);
  CHECK(formulas.problems() ==
        std::vector<std::string>{
            "'product': measured on target 'sm_86'; expected a CPU (1 of 1 point)"});
  CHECK(std::isnan(formulas.Features(task)[0].ln_prior));
  // A CPU, or a name that this tcc does not know.
  for (const char* target : {"native", "x86-64-v3", "abacus"}) {
    MeasuredRecord of_cpu = RecordOf(Print(sketch.trace), sketch.start);
    of_cpu.target = target;
    CHECK(FormulasOf(TaskOf({of_cpu})).problems().empty());
  }
}

TEST_CASE("A trace that binds threads of a GPU gets no prediction for a CPU",
          "[autodiff_features]") {
  for (const char* kind : {"threadIdx.x", "blockIdx.y", "vthread"}) {
    std::string trace = std::string("bind mm/i ") + kind + "\n";
    INFO(trace);
    MeasuredTask task = TaskOf({RecordOf(trace, {})});
    TaskFormulas formulas = FormulasOf(task);
    CHECK(formulas.problems() ==
          std::vector<std::string>{"'product': loop 'mm/i' is bound to " + std::string(kind) +
                                   "; expected loops of a CPU (1 of 1 point)"});
    CHECK(std::isnan(formulas.Features(task)[0].ln_prior));
    SymbolicProgram program =
        Instantiate(ParseFunction(kMatmul).value(), ParseTrace(trace).value()).value();
    StatusOr<SketchFormulas> created =
        SketchFormulas::Create(program, Cpu(), ProfileOf(Cpu()), {.threads = 1});
    REQUIRE_FALSE(created.ok());
    CHECK(Mentions(Message(created.status()), kind));
  }
}

TEST_CASE("A record of a GPU is predicted for a GPU, a CPU's is not", "[autodiff_features]") {
  Target gpu = *FindTarget("sm_86");
  Sketch sketch = GenerateSketches(ParseFunction(kMatmul).value(), gpu)[0];
  MeasuredRecord record = RecordOf(Print(sketch.trace), sketch.start);
  for (const char* target : {"sm_86", "sm_90a", ""}) {
    record.target = target;
    MeasuredTask task = TaskOf({record});
    TaskFormulas formulas = TaskFormulas::Of(task, gpu, GpuProfileOf(86));
    CHECK(formulas.problems().empty());
    double ln_seconds = formulas.Features(task)[0].ln_prior;
    CHECK(std::isfinite(ln_seconds));
    GpuProfile slow = GpuProfileOf(86);
    slow.launch_seconds = 1;
    CHECK(TaskFormulas::Of(task, gpu, slow).Features(task)[0].ln_prior > ln_seconds);
  }
  record.target = "x86-64-v3";
  TaskFormulas formulas = TaskFormulas::Of(TaskOf({record}), gpu, GpuProfileOf(86));
  CHECK(formulas.problems() ==
        std::vector<std::string>{
            "'product': measured on target 'x86-64-v3'; expected a GPU (1 of 1 point)"});
}

TEST_CASE("Constants of another kind of device make no formulas", "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  SymbolicProgram program = Instantiate(ParseFunction(kMatmul).value(), sketch.trace).value();
  StatusOr<SketchFormulas> created =
      SketchFormulas::Create(program, Cpu(), GpuProfileOf(86), {.threads = 1});
  REQUIRE_FALSE(created.ok());
  CHECK(Mentions(Message(created.status()), "expected the constants of a CPU"));
}

TEST_CASE("No sketch of a CPU is predicted for a GPU", "[autodiff_features]") {
  Sketch sketch = MatmulSketches()[0];
  MeasuredTask task = TaskOf({RecordOf(Print(sketch.trace), sketch.start)});
  TaskFormulas formulas = TaskFormulas::Of(task, *FindTarget("sm_86"), {});
  REQUIRE(formulas.problems().size() == 1);
  CHECK(Mentions(formulas.problems()[0], "'product': "));
  CHECK(std::isnan(formulas.Features(task)[0].ln_prior));
}

}  // namespace tcc
