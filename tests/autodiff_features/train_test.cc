#include "autodiff_features/learned/train.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "autodiff_features/learned/model_file.h"
#include "support/random.h"
#include "support/sha256.h"

namespace tcc {
namespace {

constexpr auto kBodies = static_cast<size_t>(Feature::kBodies);
constexpr auto kSecondsRow = static_cast<size_t>(Feature::kSeconds);

// Kernels of one nest whose time is the prior's times e^(0.3 sin x), where the row `bodies` is
// e^x - 1.
TrainingPoint PointAt(double x, double ln_prior) {
  TrainingPoint point;
  point.features.rows.assign(kNestFeatures, 0);
  point.features.rows[kBodies] = std::expm1(x);
  point.features.rows[kSecondsRow] = std::exp(ln_prior);
  point.features.ln_prior = ln_prior;
  point.ln_seconds = ln_prior + 0.3 * std::sin(x);
  point.noise = 0.01;
  return point;
}

std::vector<TrainingTask> SineTasks(size_t tasks, size_t points) {
  Random random(17);
  std::vector<TrainingTask> result;
  for (size_t t = 0; t < tasks; ++t) {
    TrainingTask& task = result.emplace_back();
    task.key = std::to_string(t);
    for (size_t p = 0; p < points; ++p) {
      task.points.push_back(PointAt(6 * random.Unit(), -8 + 0.5 * random.Normal()));
    }
  }
  return result;
}

TrainOptions Quick() {
  TrainOptions options;
  options.members = 2;
  options.epochs = 5;
  return options;
}

// A model file with one part of its header replaced, or of all before its checksum, which is right.
std::vector<uint8_t> Replaced(const std::vector<uint8_t>& bytes, const std::string& from,
                              const std::string& to) {
  std::string text(bytes.begin(), bytes.end() - sizeof(Sha256Digest));
  size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  text.replace(place, from.size(), to);
  std::vector<uint8_t> changed(text.begin(), text.end());
  Sha256Digest digest = Sha256(changed);
  changed.insert(changed.end(), digest.begin(), digest.end());
  return changed;
}

}  // namespace

TEST_CASE("A model learns what the prior leaves out", "[autodiff_features]") {
  std::vector<TrainingTask> tasks = SineTasks(10, 50);
  TrainOptions options;
  options.members = 1;
  options.epochs = 400;
  LearnedModel model = Train(tasks, {}, options).value();
  std::vector<KernelFeatures> kernels;
  std::vector<double> wanted;
  for (int i = 0; i < 60; ++i) {
    TrainingPoint point = PointAt(0.3 + 0.09 * i, -8.2);
    kernels.push_back(point.features);
    wanted.push_back(point.ln_seconds);
  }
  std::vector<LearnedModel::Prediction> predicted = model.Predict(kernels);
  double squares = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    squares += std::pow(predicted[i].ln_seconds - wanted[i], 2);
  }
  CHECK(std::sqrt(squares / 60) < 0.05);
}

TEST_CASE("The slopes of a task's loss are those of finite differences", "[autodiff_features]") {
  std::vector<TrainingPoint> points;
  Random random(4);
  for (int i = 0; i < 12; ++i) {
    points.push_back(PointAt(0, -8));
    points.back().ln_seconds = -8 + 1.5 * random.Unit();
    points.back().precise = i % 4 != 0;
  }
  std::vector<const TrainingPoint*> pointers;
  double best = 0;
  std::vector<double> predicted;
  for (const TrainingPoint& point : points) {
    pointers.push_back(&point);
    best = std::min(best, point.ln_seconds);
    predicted.push_back(point.ln_seconds + 0.7 * random.Normal());
  }
  TaskLoss loss = LossOf(pointers, best, predicted);
  for (size_t i = 0; i < predicted.size(); ++i) {
    constexpr double kStep = 1e-6;
    std::vector<double> above = predicted, below = predicted;
    above[i] += kStep;
    below[i] -= kStep;
    double difference =
        (LossOf(pointers, best, above).loss - LossOf(pointers, best, below).loss) / (2 * kStep);
    CHECK(loss.slopes[i] == Approx(difference).epsilon(1e-4).margin(1e-7));
  }
  CHECK(LossOf(pointers, best, predicted).loss > 0);
}

TEST_CASE("Slopes by rows are those of finite differences, also below 0", "[autodiff_features]") {
  KernelFeatures kernel;
  kernel.rows.assign(2 * kNestFeatures, 0.5);
  kernel.rows[kBodies] = -0.7;  // a smooth twin of a difference may be
  kernel.rows[kSecondsRow] = 2e-6;
  kernel.rows[kNestFeatures + kSecondsRow] = 5e-6;
  FeatureScale scale;
  scale.mean.assign(kNestFeatures, 0.1);
  scale.deviation.assign(kNestFeatures, 5);
  std::vector<double> inputs(2 * kNestFeatures), shares = {0.3, -1.2};
  Random random(6);
  for (double& input : inputs) input = random.Normal();
  auto sum = [&] {
    const KernelFeatures* one[] = {&kernel};
    NestBatch batch = BatchOf(scale, one);
    double total = 0;
    for (size_t i = 0; i < inputs.size(); ++i) total += inputs[i] * batch.inputs[i];
    return total + shares[0] * batch.shares[0] + shares[1] * batch.shares[1];
  };
  std::vector<double> slopes = RowSlopes(scale, kernel, inputs, shares);
  for (size_t row = 0; row < kernel.rows.size(); ++row) {
    const double before = kernel.rows[row], step = 1e-6 * std::abs(before);
    kernel.rows[row] = before + step;
    double above = sum();
    kernel.rows[row] = before - step;
    double difference = (above - sum()) / (2 * step);
    kernel.rows[row] = before;
    CHECK(slopes[row] == Approx(difference).epsilon(1e-4).margin(1e-6));
  }
  CHECK(slopes[kBodies] == 0);
}

TEST_CASE("Two trainings from one seed give the same bytes, another seed others",
          "[autodiff_features]") {
  std::vector<TrainingTask> tasks = SineTasks(6, 20);
  std::vector<uint8_t> first = ModelBytes(Train(tasks, {}, Quick()).value());
  CHECK(first == ModelBytes(Train(tasks, {}, Quick()).value()));
  TrainOptions other = Quick();
  other.seed = 100;
  CHECK(first != ModelBytes(Train(tasks, {}, other).value()));
}

TEST_CASE("Training without a measured point is an error", "[autodiff_features]") {
  std::vector<TrainingTask> tasks(3);
  CHECK_FALSE(Train(tasks, {}, {}).ok());
  CHECK_FALSE(Train({}, {}, {}).ok());
}

TEST_CASE("Points with NaN or infinity are left out of training and counted",
          "[autodiff_features]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<TrainingTask> tasks = SineTasks(6, 20), with_bad = tasks;
  TrainingPoint nan_row = PointAt(1, -8), infinite_row = nan_row, nan_prior = nan_row,
                no_time = nan_row;
  nan_row.features.rows[kBodies] = kNaN;
  infinite_row.features.rows[kSecondsRow] = kInfinity;
  nan_prior.features.ln_prior = kNaN;
  no_time.ln_seconds = -kInfinity;
  for (const TrainingPoint& bad : {nan_row, infinite_row, nan_prior, no_time}) {
    with_bad[2].points.push_back(bad);
    with_bad[5].points.insert(with_bad[5].points.begin(), bad);
  }
  TrainOptions options = Quick();
  size_t left_out = 0;
  options.left_out = [&](size_t points) { left_out += points; };
  std::vector<uint8_t> wanted = ModelBytes(Train(tasks, {}, options).value());
  CHECK(left_out == 0);
  CHECK(ModelBytes(Train(with_bad, {}, options).value()) == wanted);
  CHECK(left_out == 8);
  std::vector<TrainingTask> only_bad(1);
  only_bad[0].points = {nan_row, nan_prior};
  CHECK_FALSE(Train(only_bad, {}, options).ok());
  CHECK(left_out == 10);
}

TEST_CASE("Tasks without points are not drawn", "[autodiff_features]") {
  std::vector<TrainingTask> tasks = SineTasks(2, 20), among_empty(40);
  std::vector<uint8_t> wanted = ModelBytes(Train(tasks, {}, Quick()).value());
  among_empty[7] = tasks[0];
  among_empty[30] = tasks[1];
  CHECK(ModelBytes(Train(among_empty, {}, Quick()).value()) == wanted);
}

TEST_CASE("A model's file gives the same predictions and the same bytes again",
          "[autodiff_features]") {
  std::vector<TrainingTask> tasks = SineTasks(6, 20);
  for (bool on_prior : {true, false}) {
    TrainOptions options = Quick();
    options.on_prior = on_prior;
    LearnedModel model = Train(tasks, {}, options).value();
    std::vector<uint8_t> bytes = ModelBytes(model);
    LearnedModel read = ParseModel(bytes, "m").value();
    CHECK(ModelBytes(read) == bytes);
    std::vector<KernelFeatures> kernels = {tasks[0].points[0].features,
                                           tasks[1].points[3].features};
    std::vector<LearnedModel::Prediction> before = model.Predict(kernels);
    std::vector<LearnedModel::Prediction> after = read.Predict(kernels);
    for (size_t k = 0; k < kernels.size(); ++k) {
      CHECK(before[k].ln_seconds == after[k].ln_seconds);
      CHECK(before[k].deviation == after[k].deviation);
    }
  }
}

TEST_CASE("A prior that stands alone has a file, a mean without members has none",
          "[autodiff_features]") {
  std::vector<uint8_t> bytes = ModelBytes(PriorAlone({}));
  StatusOr<LearnedModel> read = ParseModel(bytes, "m");
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->members.empty());
  CHECK(ModelBytes(*read) == bytes);
  CHECK_FALSE(ParseModel(Replaced(bytes, "bound 0\n", "bound 2\n"), "m").ok());
  CHECK_FALSE(ParseModel(Replaced(bytes, "prior yes\n", "mean -8\n"), "m").ok());
}

TEST_CASE("A prior of a GPU of OpenCL's has a file that names its row", "[autodiff_features]") {
  const Target mali = *FindTarget("opencl-mali-t860");
  const std::vector<uint8_t> bytes = ModelBytes(PriorAlone(GpuProfileOf(mali)));
  StatusOr<LearnedModel> read = ParseModel(bytes, "m");
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->target_kind() == "opencl");
  CHECK(std::get<GpuProfile>(read->profile).device == "opencl-mali-t860");
  CHECK(std::get<GpuProfile>(read->profile).warps == GpuProfileOf(mali).warps);
  CHECK(ModelBytes(*read) == bytes);
  CHECK(ExpectModelFor(*FindTarget("opencl"), *read, "m").ok());
  CHECK(Message(ExpectModelFor(*FindTarget("sm_86"), *read, "m")) ==
        "m: a cost model of OpenCL's GPUs; expected one of GPUs for target 'sm_86'");
  CHECK_FALSE(ParseModel(Replaced(bytes, "row opencl-mali-t860\n", "row sm_86\n"), "m").ok());
}

TEST_CASE("A prior of a GPU has a file that keeps its constants", "[autodiff_features]") {
  GpuProfile profile = GpuProfileOf(90);
  profile.multiprocessors = 114;
  profile.memory_rate = 1.25e12;
  std::vector<uint8_t> bytes = ModelBytes(PriorAlone(profile));
  StatusOr<LearnedModel> read = ParseModel(bytes, "m");
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->target_kind() == "cuda");
  const auto& gpu = std::get<GpuProfile>(read->profile);
  CHECK(gpu.sm == 90);
  CHECK(gpu.multiprocessors == 114);
  CHECK(gpu.memory_rate == 1.25e12);
  CHECK(ModelBytes(*read) == bytes);
  CHECK(ExpectModelFor(*FindTarget("sm_86"), *read, "m").ok());
  CHECK(Message(ExpectModelFor(*FindTarget("x86-64-v3"), *read, "m")) ==
        "m: a cost model of GPUs; expected one of CPUs for target 'x86-64-v3'");
  for (const auto& [from, to] : std::initializer_list<std::pair<std::string, std::string>>{
           {"sm 90\n", "sm 91\n"},
           {"sm 90\n", ""},
           {"multiprocessors 114\n", "multiprocessors 0\n"},
           {"constant spill 2\n", "constant spill 0\n"},
           {"target cuda\n", "target cpu\n"},
           {"bound 0\nmembers 0\n", "bound 2\nmembers 1\n"}}) {
    INFO(to);
    CHECK_FALSE(ParseModel(Replaced(bytes, from, to), "m").ok());
  }
}

TEST_CASE("A damaged, cut off or foreign model file is refused by name", "[autodiff_features]") {
  std::vector<uint8_t> bytes = ModelBytes(Train(SineTasks(4, 10), {}, Quick()).value());
  for (size_t i = 0; i < bytes.size(); i += i < 4000 ? 1 : 997) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 4;
    StatusOr<LearnedModel> read = ParseModel(damaged, "some.model");
    REQUIRE_FALSE(read.ok());
    CHECK(Message(read.status()).find("some.model") != std::string::npos);
  }
  for (size_t size : {size_t{0}, size_t{3}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    CHECK_FALSE(ParseModel(std::span(bytes).first(size), "some.model").ok());
  }
  CHECK_FALSE(ParseModel({}, "some.model").ok());
}

TEST_CASE("A model file whose header says something else than was written is refused by name",
          "[autodiff_features]") {
  std::vector<uint8_t> bytes = ModelBytes(Train(SineTasks(4, 10), {}, Quick()).value());
  CHECK(ParseModel(Replaced(bytes, "target cpu\n", "target cpu\n"), "some.model").ok());
  struct Row {
    std::string from, to, message;
  };
  for (const Row& row : {
           Row{"target cpu\n", "target sm_86\n", "expected 'target cpu', got 'target sm_86'"},
           Row{"target cpu\n", "target cpu \n", "expected 'target cpu', got 'target cpu '"},
           Row{"prior yes\n", "prior no\n", "expected 'prior yes', got 'prior no'"},
           Row{"members 2\n", "members 1.9\n",
               "expected a whole number behind 'members', got 'members 1.9'"},
           Row{"members 2\n", "members  2\n", "expected a whole number behind 'members'"},
           Row{"members 2\n", "members 65\n", "to 64 members, got 65"},
           Row{"members 2\n", "members 2\nnote of mine\n",
               "expected the end of the header, got 'note of mine'"},
           Row{"members 2\n", "members 2\nmembers 2\n", "expected the end of the header"},
           Row{"bound 2\n", "bound 2 \n", "expected a number behind 'bound', got 'bound 2 '"},
           Row{"\n\n", "\n\n0123", "bytes of numbers"},
       }) {
    INFO(row.to);
    StatusOr<LearnedModel> read = ParseModel(Replaced(bytes, row.from, row.to), "some.model");
    REQUIRE_FALSE(read.ok());
    INFO(read.status());
    CHECK(Message(read.status()).starts_with("some.model: "));
    CHECK(Message(read.status()).find(row.message) != std::string::npos);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  CHECK_FALSE(ParseModel(longer, "some.model").ok());
}

}  // namespace tcc
