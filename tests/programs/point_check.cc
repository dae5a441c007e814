#include "tests/programs/point_check.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"

namespace tcc {
namespace {

// How far results may be from the interpreter's, which computes in float64, for each 1 of the
// largest element: by the narrowest float that the function names anywhere. 16-bit values are
// rounded a few times on their way through a function; sums are float32.
double Precision(const Function& fn) {
  double precision = 1e-12;
  auto note = [&](DType dtype) {
    if (dtype.element() == kFloat32) precision = std::max(precision, 1e-5);
    if (dtype.element() == kFloat16) precision = std::max(precision, 4e-3);
    if (dtype.code() == DTypeCode::kBFloat16) precision = std::max(precision, 3e-2);
  };
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    note(buffer.dtype());
    if (buffer.dtype().code() == DTypeCode::kTFloat32) precision = std::max(precision, 4e-3);
  }
  PreOrderExprs(fn.body, [&](const Expr& expr) { note(expr.dtype()); });
  return precision;
}

// Results whose terms may cancel: within `precision` of the largest finite element of the tensor
// (or 1), NaN with NaN.
std::string FirstRoundedDifference(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                                   double precision) {
  for (size_t t = 0; t < got.size(); ++t) {
    int64_t count = ElementCount(want[t].shape).value();
    double largest = 1;
    for (int64_t i = 0; i < count; ++i) {
      double size = std::abs(ElementAsDouble(want[t], i));
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
    for (int64_t i = 0; i < count; ++i) {
      double a = ElementAsDouble(got[t], i), b = ElementAsDouble(want[t], i);
      bool same =
          a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= precision * largest;
      if (!same) return fmt::format("tensor {} element {}: got {}, expected {}", t, i, a, b);
    }
  }
  return "";
}

class Checker {
 public:
  Checker(const Function& original, const PointCheckOptions& options, Random& random)
      : options_(options),
        arguments_(options.arguments.empty() ? RandomArguments(original, random)
                                             : options.arguments) {
    StatusOr<std::vector<Tensor>> expected = RunInterpreter(original, arguments_);
    if (expected.ok()) {
      expected_ = *expected;
    } else {
      report = {PointOutcome::kUndefined, Message(expected.status()), true};
    }
  }

  void Fail(const std::string& message) {
    if (report.outcome == PointOutcome::kRight)
      report = {PointOutcome::kWrong, message, report.alpha_equal};
  }

  void CheckText(const Function& fn) {
    std::string text = Print(fn);
    StatusOr<Function> parsed = ParseFunction(text);
    if (!parsed.ok()) return Fail("parsing what was printed: " + Message(parsed.status()));
    if (!AlphaEqual(*parsed, fn)) Fail("parsing what was printed gives another function:\n" + text);
  }

  void CheckResult(const std::string& what, const Function& fn) {
    Status verified = Verify(fn);
    if (!verified.ok()) return Fail(what + ": " + Message(verified) + "\n" + Print(fn));
    InterpretOptions interpret;
    interpret.detect_races = true;
    interpret.max_instances = options_.max_instances;
    for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward}) {
      interpret.order = order;
      StatusOr<std::vector<Tensor>> got = RunInterpreter(fn, arguments_, interpret);
      if (!got.ok() && got.status().code() == absl::StatusCode::kResourceExhausted) {
        if (report.outcome == PointOutcome::kRight) report.outcome = PointOutcome::kTooLarge;
        return;
      }
      auto fail = [&](const std::string& why) {
        Fail(fmt::format("{}: {}\n{}", what, why, Print(fn)));
      };
      if (!got.ok()) return fail(Message(got.status()));
      std::string difference = FirstDifference(*got, expected_);
      if (!difference.empty()) return fail(difference);
    }
  }

  // What computes constants as functions of its own, run before the rest.
  void CheckPrepared(const Function& fn) {
    StatusOr<PreparedFunction> parts = SplitPrepare(fn);
    if (!parts.ok()) return Fail("splitting: " + Message(parts.status()) + "\n" + Print(fn));
    if (parts->prepare.empty() || report.outcome != PointOutcome::kRight) return;
    std::unordered_map<Var, Tensor, VarHash> tensors;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Tensor& given = arguments_[i];
      tensors.emplace(fn.params[i].var, MakeTensor(given.dtype, given.shape, given.bytes));
    }
    bool planted = options_.plant && options_.plant_after == "prepare";
    for (const Function& prepare : parts->prepare) {
      RunLowered(planted ? options_.plant(prepare) : prepare, tensors);
    }
    RunLowered(parts->main, tensors);
    std::vector<Tensor> got;
    for (const Buffer& param : fn.params) got.push_back(tensors.at(param.var));
    std::string difference = FirstDifference(got, expected_);
    if (!difference.empty()) Fail("prepared: " + difference + "\n" + Print(fn));
  }

  void CheckOther(const RunFunction& run, const Function& fn) {
    if (!run || report.outcome != PointOutcome::kRight) return;
    std::vector<Tensor> copies;
    for (const Tensor& t : arguments_) copies.push_back(MakeTensor(t.dtype, t.shape, t.bytes));
    Status status = run(fn, copies);
    if (status.code() == absl::StatusCode::kUnimplemented) {
      report = {PointOutcome::kRefused, Message(status), report.alpha_equal};
      return;
    }
    if (!status.ok()) return Fail("compiled: " + Message(status));
    double precision = options_.exact ? 0 : Precision(fn);
    std::string difference = FirstRoundedDifference(copies, expected_, precision);
    if (!difference.empty()) Fail("compiled: " + difference + "\n" + Print(fn));
  }

  PointReport report;

 private:
  // On the tensors of its parameters; those that have none yet are zeros.
  void RunLowered(const Function& fn, std::unordered_map<Var, Tensor, VarHash>& tensors) {
    PipelineOptions pipeline;
    pipeline.verify = true;
    StatusOr<Function> lowered = RunPipeline(fn, pipeline);
    if (!lowered.ok()) return Fail("lowering: " + Message(lowered.status()) + "\n" + Print(fn));
    std::vector<Tensor> flat;
    for (const Buffer& param : lowered->params) {
      std::vector<int64_t> count = {AsConstant(param.shape[0]).value()};
      auto [known, absent] = tensors.try_emplace(param.var);
      if (absent) known->second = MakeZeroTensor(param.dtype(), count);
      flat.push_back(known->second);
      flat.back().shape = count;
    }
    Status status = Interpret(*lowered, flat, {}).status();
    if (!status.ok()) Fail("interpreting: " + Message(status) + "\n" + Print(*lowered));
  }

  const PointCheckOptions& options_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> expected_;
};

StatusOr<Function> Lower(const Function& fn, const PointCheckOptions& options) {
  PipelineOptions pipeline;
  pipeline.verify = true;
  if (!options.plant || options.plant_after.empty()) return RunPipeline(fn, pipeline);
  Function current = fn;
  for (const Pass& pass : Pipeline()) {
    current = pass.run(current);
    if (pass.name == options.plant_after) current = options.plant(current);
  }
  return current;
}

}  // namespace

PointReport CheckPoint(const Function& original, const SymbolicProgram& program,
                       const Decisions& decisions, Random& random,
                       const PointCheckOptions& options) {
  Checker checker(original, options, random);
  if (checker.report.outcome != PointOutcome::kRight) return checker.report;
  Function substituted = Simplify(Substitute(program.fn, ToSubstitution(program.fn, decisions)));
  if (options.plant && options.plant_after.empty()) substituted = options.plant(substituted);

  StatusOr<Function> replayed = Replay(original, program.trace, decisions);
  if (!replayed.ok()) {
    checker.Fail("replay refuses what was accepted with free sizes: " + Message(replayed.status()));
    return checker.report;
  }
  checker.report.alpha_equal = AlphaEqual(Simplify(*replayed), substituted);
  if (options.compare_with_replay && !checker.report.alpha_equal) {
    checker.Fail("Substitute gives\n" + Print(substituted) + "Replay gives\n" +
                 Print(Simplify(*replayed)));
  }
  checker.CheckText(program.fn);
  // Without barriers, threads that share memory mean nothing yet, nor do loops over threads that
  // feed a reduction.
  checker.CheckResult("scheduled", InsertBarriers(ReduceAcrossThreads(substituted)));

  StatusOr<Function> lowered = Lower(substituted, options);
  if (!lowered.ok()) {
    checker.Fail("lowering: " + Message(lowered.status()) + "\n" + Print(substituted));
    return checker.report;
  }
  checker.CheckText(*lowered);
  checker.CheckResult("lowered", *lowered);
  checker.CheckPrepared(substituted);
  checker.CheckOther(options.run_scheduled, substituted);
  checker.CheckOther(options.run_lowered, *lowered);
  return checker.report;
}

}  // namespace tcc
