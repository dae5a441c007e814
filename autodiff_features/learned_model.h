#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff_features/cpu_profile.h"
#include "autodiff_features/kernel_features.h"

namespace tcc {

// A prior with the networks that correct it.
struct LearnedModel {
  std::string target_kind = "cpu";
  CpuProfile profile;  // of the prior
  FeatureScale scale;
  std::vector<Mlp> members;  // an ensemble: trained alike from other seeds and samples
  bool on_prior = true;      // false: members predict by themselves, around `ln_mean`
  double ln_mean = 0;

  // ln seconds and the deviation of the members' predictions.
  struct Prediction {
    double ln_seconds = 0;
    double deviation = 0;
  };
  std::vector<Prediction> Predict(std::span<const KernelFeatures> kernels) const;
};

}  // namespace tcc
