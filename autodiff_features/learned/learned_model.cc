#include "autodiff_features/learned/learned_model.h"

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

// Kernels that go through a network together.
constexpr size_t kTogether = 256;

}  // namespace

std::vector<LearnedModel::Prediction> LearnedModel::Predict(
    std::span<const KernelFeatures> kernels) const {
  std::vector<Prediction> predictions;
  for (size_t first = 0; first < kernels.size(); first += kTogether) {
    size_t count = std::min(kTogether, kernels.size() - first);
    std::vector<const KernelFeatures*> some;
    for (size_t k = first; k < first + count; ++k) some.push_back(&kernels[k]);
    NestBatch batch;
    if (!members.empty()) batch = BatchOf(scale, some);
    std::vector<double> sums(count, 0), squares(count, 0);
    for (const Mlp& member : members) {
      std::vector<double> corrections = member.Forward(batch);
      for (size_t k = 0; k < count; ++k) {
        sums[k] += corrections[k];
        squares[k] += corrections[k] * corrections[k];
      }
    }
    double size = static_cast<double>(std::max<size_t>(members.size(), 1));
    for (size_t k = 0; k < count; ++k) {
      double mean = sums[k] / size;
      double variance = std::max(squares[k] / size - mean * mean, 0.0);
      if (some[k]->rows.empty()) {
        predictions.push_back({some[k]->ln_prior, 0});
        continue;
      }
      double base = on_prior ? some[k]->ln_prior : ln_mean;
      predictions.push_back({base + mean, std::sqrt(variance)});
    }
  }
  return predictions;
}

namespace {

constexpr std::string_view kCpuKind = "cpu", kCudaKind = "cuda", kOpenClKind = "opencl";

std::string_view KindOf(const DeviceProfile& profile) {
  const auto* gpu = std::get_if<GpuProfile>(&profile);
  if (gpu == nullptr) return kCpuKind;
  return gpu->sm == 0 ? kOpenClKind : kCudaKind;
}

}  // namespace

std::string_view LearnedModel::target_kind() const {
  return KindOf(profile);
}

LearnedModel PriorAlone(const DeviceProfile& profile) {
  LearnedModel model;
  model.profile = profile;
  model.scale = FeatureScale::Of(model.kind(), {});  // a file of such a model has one
  return model;
}

Status ExpectModelFor(const Target& target, const LearnedModel& model, const std::string& name) {
  const std::string_view kind = KindOf(DeviceProfileOf(target));
  if (kind == model.target_kind()) return OkStatus();
  const auto devices = [](std::string_view of) {
    return of == kCpuKind ? "CPUs" : of == kCudaKind ? "GPUs" : "OpenCL's GPUs";
  };
  return UsageError("{}: a cost model of {}; expected one of {} for target '{}'", name,
                    devices(model.target_kind()), devices(kind), target.name);
}

}  // namespace tcc
