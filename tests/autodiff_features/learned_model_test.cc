#include "autodiff_features/learned/learned_model.h"

#include <catch2/catch.hpp>

namespace tcc {
namespace {

TEST_CASE("A model without members predicts the prior's seconds exactly", "[autodiff_features]") {
  CpuProfile profile;
  profile.hertz = 1e9;
  LearnedModel model = PriorAlone(profile);
  std::vector<KernelFeatures> kernels(300);
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].rows.assign(kNestFeatures * (1 + k % 3), 1.0);
    kernels[k].ln_prior = -12.5 + 0.01 * static_cast<double>(k);
  }
  std::vector<LearnedModel::Prediction> predictions = model.Predict(kernels);
  REQUIRE(predictions.size() == kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    CHECK(predictions[k].ln_seconds == kernels[k].ln_prior);
    CHECK(predictions[k].deviation == 0);
  }
  CHECK(std::get<CpuProfile>(model.profile).hertz == 1e9);
}

}  // namespace
}  // namespace tcc
