#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autodiff_features/learned/kernel_features.h"
#include "support/device_profile.h"
#include "support/status.h"

namespace tcc {

// Returns the table that describes the kernels of a device.
inline FeatureKind FeatureKindOf(const DeviceProfile& profile) {
  return IsOfGpu(profile) ? FeatureKind::kLaunch : FeatureKind::kNest;
}

// A prior with the networks that correct it.
struct LearnedModel {
  DeviceProfile profile;  // the prior's constants
  FeatureScale scale;
  // An ensemble, trained alike from different seeds and samples; empty if the prior stands alone.
  std::vector<Mlp> members;
  bool on_prior = true;  // false: members predict by themselves, around `ln_mean`
  double ln_mean = 0;

  // The mean of ln seconds and the deviation of the members' predictions.
  struct Prediction {
    double ln_seconds = 0;
    double deviation = 0;
  };
  FeatureKind kind() const { return FeatureKindOf(profile); }
  // "cpu", "cuda" or "opencl".
  std::string_view target_kind() const;
  std::vector<Prediction> Predict(std::span<const KernelFeatures> kernels) const;
};

// Returns a model without members, which predicts the prior's seconds.
LearnedModel PriorAlone(const DeviceProfile& profile);

// Checks that a model is of the target's kind of device, CPUs or the GPUs of an API; `name` is for
// the message.
Status ExpectModelFor(const Target& target, const LearnedModel& model, const std::string& name);

}  // namespace tcc
