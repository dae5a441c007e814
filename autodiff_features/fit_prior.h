#pragma once

#include <span>
#include <variant>

#include "autodiff_features/fit_constants.h"
#include "support/device_profile.h"
#include "support/target.h"

namespace tcc {

// Fits the constants of the target's prior to the tasks that were measured on its kind of device,
// from `start` (FitConstants). The cache sizes and their usable share stay, and so do a GPU's
// numbers of what a multiprocessor can begin per cycle. A GPU's clock is known well: ten times the
// pull holds it.
StatusOr<DeviceProfile> FitProfile(std::span<const MeasuredTask> tasks, const Target& target,
                                   const DeviceProfile& start, const FitOptions& options);

// Does the same for a profile whose kind is known.
template <typename Profile>
StatusOr<Profile> FitProfile(std::span<const MeasuredTask> tasks, const Target& target,
                             const Profile& start, const FitOptions& options) {
  TCC_ASSIGN_OR_RETURN(DeviceProfile fitted,
                       FitProfile(tasks, target, DeviceProfile(start), options));
  return std::get<Profile>(fitted);
}

}  // namespace tcc
