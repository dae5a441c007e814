#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "autodiff_features/fit_prior.h"
#include "autodiff_features/learned/model_file.h"
#include "cli/command.h"
#include "cli/cost_model/features_csv.h"
#include "cli/cost_model/measured_file.h"
#include "cli/cost_model/prediction_plot.h"
#include "cli/cost_model/quality_report.h"
#include "cli/cost_model/records_target.h"
#include "cli/print_json.h"
#include "cli/standard_error.h"
#include "support/check.h"
#include "support/file.h"
#include "support/target_api.h"

namespace tcc {
namespace {

// The options of all subcommands.
struct CostModelCommand {
  std::vector<std::string> records;
  std::string model;
  std::string output;
  std::string plot;    // "" for none
  std::string start;   // "" for the constants of the target
  std::string target;  // "": the one of the records
  double held_out = 0.2;
  uint64_t seed = 1;
  int epochs = 40;
  int members = 5;
  int most_points = 0;
  bool without_prior = false;
  bool no_fit = false;
  bool json = false;
  bool markdown = false;
};

StatusOr<std::vector<MeasuredTask>> ReadTasks(const CostModelCommand& command) {
  if (!(command.held_out >= 0 && command.held_out <= 1)) {
    return InvalidInput("--held-out {}: expected 0 to 1", command.held_out);
  }
  MeasuredTasks measured;
  for (const std::string& file : command.records) {
    TCC_RETURN_IF_ERROR(ReadMeasurements(file, measured));
  }
  return std::move(measured).Take();
}

StatusOr<Target> TargetOf(const CostModelCommand& command, const std::vector<MeasuredTask>& tasks) {
  return TargetOfRecords(tasks, command.target, [](const std::string& message) {
    TellError("tcc: warning: {}\n", message);
  });
}

void TellInfinite(const char* what, size_t points) {
  TellError("tcc: warning: {}: left out: numbers that are not finite ({} point{})\n", what, points,
            points == 1 ? "" : "s");
}

MeasuredFeatures WithFeatures(std::vector<MeasuredTask> tasks, const Target& target,
                              const DeviceProfile& profile) {
  MeasuredFeatures measured = FeaturesOf(std::move(tasks), target, profile);
  for (const std::string& problem : measured.problems) {
    TellError("tcc: warning: left out: {}\n", problem);
  }
  return measured;
}

// Leaves about `most` points, the same share of each task at even distances, one at least.
void KeepSome(size_t most, std::vector<TrainingTask>& tasks) {
  size_t points = 0;
  for (const TrainingTask& task : tasks) points += task.points.size();
  if (most == 0 || points <= most) return;
  for (TrainingTask& task : tasks) {
    size_t size = task.points.size(), kept = (size * most + points - 1) / points;
    std::vector<TrainingPoint> some;
    for (size_t i = 0; i < kept; ++i) some.push_back(task.points[i * size / kept]);
    task.points = std::move(some);
  }
}

void PrintReport(const MeasuredFeatures& judged, const LearnedModel& model, bool json) {
  QualityReport report(judged.tasks);
  report.Add("prior", judged.ByPrior());
  report.Add("model", judged.ByModel(model));
  if (json) {
    PrintJson("tcc.cost-model-eval/1", report.ToJson());
  } else {
    fmt::print("{}", report.ToText());
  }
}

// Returns the constants of --start, else of the target. For a GPU the row of the device counts that
// all records name, if it is known.
StatusOr<DeviceProfile> StartOf(const CostModelCommand& command,
                                const std::vector<MeasuredTask>& tasks, const Target& target) {
  if (!command.start.empty()) {
    TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(command.start));
    TCC_RETURN_IF_ERROR(ExpectModelFor(target, model, "--start " + command.start));
    return model.profile;
  }
  if (!IsCuda(target)) return DeviceProfileOf(target);
  std::set<std::string> devices;
  for (const MeasuredTask& task : tasks) {
    if (task.target == target.name) devices.insert(task.device);
  }
  std::string device = devices.size() == 1 ? *devices.begin() : "";
  return GpuProfileOf(GpuDescription{.sm = target.sm, .name = device});
}

// Fits the constants of the start to the tasks that are trained on.
StatusOr<DeviceProfile> ProfileFor(const CostModelCommand& command,
                                   const std::vector<MeasuredTask>& tasks, const Target& target,
                                   const DeviceProfile& start) {
  if (command.no_fit) return start;
  std::vector<MeasuredTask> trained;
  for (const MeasuredTask& task : tasks) {
    if (!IsHeldOut(task, command.held_out)) trained.push_back(task);
  }
  FitOptions options;
  options.progress = [&](int step, double loss) {
    if (step == 0) TellError("tcc: the prior: loss {:.4f}", loss);
    if (step + 1 == options.steps) TellError(", fitted {:.4f}\n", loss);
  };
  options.left_out = [](size_t points) { TellInfinite("fitting", points); };
  return FitProfile(trained, target, start, options);
}

// Trains networks that correct the prior.
StatusOr<LearnedModel> ModelOf(const CostModelCommand& command, const DeviceProfile& profile,
                               std::vector<TrainingTask> training) {
  KeepSome(static_cast<size_t>(command.most_points), training);
  TrainOptions options;
  options.seed = command.seed;
  options.epochs = command.epochs;
  options.members = command.members;
  options.on_prior = !command.without_prior;
  options.progress = [&](int member, int epoch, double loss) {
    if (epoch + 1 < options.epochs) return;
    TellError("tcc: member {} of {}: loss {:.4f}\n", member + 1, options.members, loss);
  };
  options.left_out = [](size_t points) { TellInfinite("training", points); };
  return Train(training, profile, options);
}

Status RunTrain(const CostModelCommand& command) {
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(std::vector<MeasuredTask> tasks, ReadTasks(command));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command, tasks));
  TCC_ASSIGN_OR_RETURN(DeviceProfile start, StartOf(command, tasks, target));
  auto held_out = [&](const MeasuredTask& task) { return IsHeldOut(task, command.held_out); };
  StatusOr<DeviceProfile> profile = ProfileFor(command, tasks, target, start);
  // Fitting fails, too, where no record can be replayed; the features say why.
  MeasuredFeatures measured =
      WithFeatures(std::move(tasks), target, profile.ok() ? *profile : start);
  TCC_RETURN_IF_ERROR(ExpectSomeReplay(measured));
  TCC_RETURN_IF_ERROR(profile.status());
  MeasuredFeatures judged = measured.Of(held_out);
  std::vector<TrainingTask> training =
      measured.Of([&](const MeasuredTask& task) { return !held_out(task); }).ToTraining();
  TCC_ASSIGN_OR_RETURN(LearnedModel model, ModelOf(command, *profile, std::move(training)));
  TCC_RETURN_IF_ERROR(WriteModel(model, command.output));
  PrintReport(judged, model, command.json);
  return OkStatus();
}

Status WritePlot(const MeasuredFeatures& judged, const LearnedModel& model,
                 const std::string& path) {
  std::string text = PredictionPlot(judged, model);
  return WriteFileAtomically(path, text);
}

Status RunEval(const CostModelCommand& command) {
  if (!command.plot.empty()) TCC_RETURN_IF_ERROR(CheckWritable(command.plot));
  TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(command.model));
  TCC_ASSIGN_OR_RETURN(std::vector<MeasuredTask> tasks, ReadTasks(command));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command, tasks));
  TCC_RETURN_IF_ERROR(ExpectModelFor(target, model, command.model));
  MeasuredFeatures measured = WithFeatures(std::move(tasks), target, model.profile);
  TCC_RETURN_IF_ERROR(ExpectSomeReplay(measured));
  MeasuredFeatures judged =
      measured.Of([&](const MeasuredTask& task) { return IsHeldOut(task, command.held_out); });
  if (!command.plot.empty()) TCC_RETURN_IF_ERROR(WritePlot(judged, model, command.plot));
  PrintReport(judged, model, command.json);
  return OkStatus();
}

Status RunInfo(const CostModelCommand& command) {
  TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(command.model));
  size_t features = FeatureRows(model.kind()).size();
  if (command.json) {
    nlohmann::ordered_json constants;
    for (const DeviceConstant& constant : ConstantsIn(model.profile)) {
      constants[std::string(constant.name)] = *constant.value;
    }
    double bound = model.members.empty() ? 0.0 : model.members[0].bound();
    nlohmann::ordered_json json = {
        {"target", model.target_kind()}, {"features", features}, {"members", model.members.size()},
        {"on_prior", model.on_prior},    {"bound", bound},       {"constants", constants}};
    PrintJson("tcc.cost-model-info/1", json);
    return OkStatus();
  }
  fmt::print("for          {}\n", model.target_kind());
  fmt::print("features     {} a nest\n", features);
  fmt::print("members      {} of {} parameters\n", model.members.size(),
             Mlp::ParameterCount(features));
  fmt::print("corrects     {}\n", model.on_prior ? "the prior" : "a mean, without a prior");
  for (const DeviceConstant& constant : ConstantsIn(model.profile)) {
    fmt::print("{:<19} {:>12.6g} {}\n", constant.name, *constant.value, constant.meaning);
  }
  return OkStatus();
}

constexpr char kFeaturesPage[] = R"(# Features of a schedule

`scripts/update_docs.sh` writes this page from the tables in `autodiff_features/features/feature_table.h`. Each row is
a number of one nest, the loops at the root of a kernel, as a formula over the free sizes of its schedule.
[cost_model.md](cost_model.md) tells what they are for.
)";

void PrintPage() {
  fmt::print("{}", kFeaturesPage);
  for (FeatureKind kind : {FeatureKind::kNest, FeatureKind::kLaunch}) {
    fmt::print("\n## {}\n\n| feature | unit | what it is |\n|---|---|---|\n",
               kind == FeatureKind::kNest ? "A nest on a CPU" : "A launch on a GPU");
    for (const FeatureRow& row : FeatureRows(kind)) {
      fmt::print("| `{}` | {} | {} |\n", row.name, row.unit, row.definition);
    }
  }
}

// Writes the features of measured points, whose prior has the constants of --start.
Status ExportFeatures(const CostModelCommand& command) {
  if (command.output.empty()) return UsageError("--records: expected -o, the file to write");
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(std::vector<MeasuredTask> tasks, ReadTasks(command));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command, tasks));
  TCC_ASSIGN_OR_RETURN(DeviceProfile profile, StartOf(command, tasks, target));
  MeasuredFeatures measured = WithFeatures(std::move(tasks), target, profile);
  TCC_RETURN_IF_ERROR(ExpectSomeReplay(measured));
  return WriteFileAtomically(command.output, FeaturesCsv(measured, FeatureKindOf(profile)));
}

Status RunFeatures(const CostModelCommand& command) {
  if (!command.records.empty()) return ExportFeatures(command);
  if (command.markdown) {
    PrintPage();
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command, {}));
  for (const FeatureRow& row : FeatureRows(FeatureKindOf(DeviceProfileOf(target)))) {
    fmt::print("{:<18} {:<18} {}\n", row.name, row.unit, row.definition);
  }
  return OkStatus();
}

constexpr char kRecordsHelp[] =
    "Measurements: what tcc db export writes, or JSON lines; also .xz and .zst";

void AddFeaturesOptions(CommandLine& line, CostModelCommand& command) {
  line.AddOption("--target", command.target,
                 "The CPU or GPU; default: the CPU of the records, or this one")
      .TypeName("TARGET");
  line.AddOption("--records", command.records, kRecordsHelp).TypeName("FILE");
  line.AddOption("-o,--output", command.output, "File to write the features of the records to: CSV")
      .TypeName("OUT.csv");
  line.AddOption("--start", command.start, "Cost model whose constants the prior has")
      .TypeName("MODEL");
  line.AddFlag("--markdown", command.markdown, "Print a page of the documentation");
}

void AddRecords(CommandLine& line, CostModelCommand& command) {
  line.AddOption("--records", command.records, kRecordsHelp).Required().TypeName("FILE");
  line.AddOption("--target", command.target,
                 "The CPU or GPU that they were measured on; default: the CPU of the records")
      .TypeName("TARGET");
  line.AddOption("--held-out", command.held_out,
                 "Share of the tasks that is not trained on but judged: 0 to 1")
      .TypeName("SHARE")
      .ShowDefault();
  line.AddFlag("--json", command.json, "Print JSON");
}

void AddTrainOptions(CommandLine& line, CostModelCommand& command) {
  AddRecords(line, command);
  line.AddOption("-o,--output", command.output, "File to write").Required().TypeName("MODEL");
  line.AddOption("--seed", command.seed, "Seed of the first member").TypeName("S").ShowDefault();
  line.AddOption("--epochs", command.epochs, "Times that all points are seen")
      .InRange(1, 100000)
      .TypeName("N")
      .ShowDefault();
  line.AddOption("--members", command.members, "Networks of the ensemble")
      .InRange(1, 64)
      .TypeName("N")
      .ShowDefault();
  line.AddOption("--most-points", command.most_points, "Train on about so many points; 0: all")
      .InRange(0, 1000000000)
      .TypeName("N");
  line.AddOption("--start", command.start,
                 "Cost model whose constants the fit starts from: tcc devices calibrate writes one")
      .TypeName("MODEL");
  line.AddFlag("--no-fit", command.no_fit, "Keep the constants of the prior as they are");
  line.AddFlag("--without-prior", command.without_prior, "Predict without the prior's seconds");
}

void AddEvalOptions(CommandLine& line, CostModelCommand& command) {
  line.AddOption("model", command.model, "Cost model").Required().TypeName("MODEL");
  AddRecords(line, command);
  line.AddOption("--plot", command.plot,
                 "Draw predicted against measured times of the judged tasks' points")
      .TypeName("OUT.svg");
}

void AddInfoOptions(CommandLine& line, CostModelCommand& command) {
  line.AddOption("model", command.model, "Cost model").Required().TypeName("MODEL");
  line.AddFlag("--json", command.json, "Print JSON");
}

struct Subcommand {
  const char* name;
  const char* summary;
  void (*add_options)(CommandLine& line, CostModelCommand& command);
  Status (*run)(const CostModelCommand& command);
};

constexpr Subcommand kSubcommands[] = {
    {"train", "Train a model on measurements", AddTrainOptions, RunTrain},
    {"eval", "Judge a model by measurements", AddEvalOptions, RunEval},
    {"info", "Show what a model is made of", AddInfoOptions, RunInfo},
    {"features", "List what is counted of a schedule", AddFeaturesOptions, RunFeatures},
};

}  // namespace

Action DeclareCostModel(CommandLine& line) {
  auto command = std::make_shared<CostModelCommand>();
  line.RequireOneCommand();
  std::vector<CommandLine> lines;
  for (const Subcommand& row : kSubcommands) {
    CommandLine& inner = lines.emplace_back(line.AddCommand(row.name, row.summary));
    row.add_options(inner, *command);
  }
  return [command, lines]() -> Status {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].given()) return kSubcommands[i].run(*command);
    }
    TCC_UNREACHABLE();
  };
}

}  // namespace tcc
