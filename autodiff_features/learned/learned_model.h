#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff_features/cpu/cpu_profile.h"
#include "autodiff_features/learned/kernel_features.h"

namespace tcc {

// A prior with the networks that correct it.
struct LearnedModel {
  std::string target_kind = "cpu";
  CpuProfile profile;  // the prior's constants
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
  std::vector<Prediction> Predict(std::span<const KernelFeatures> kernels) const;
};

// Returns a model without members, which predicts the prior's seconds.
LearnedModel PriorAlone(const CpuProfile& profile);

}  // namespace tcc
