#include "cli/measurement_json.h"

#include <nlohmann/json.hpp>

namespace tcc {

using Json = nlohmann::ordered_json;

Json SecondsJson(double seconds) {
  return seconds > 0 ? Json(seconds) : Json();
}

Json EnvironmentJson(const Environment& environment) {
  return {{"target", environment.target},   {"device", environment.device},
          {"threads", environment.threads}, {"measurer", environment.measurer},
          {"policy", environment.policy},   {"compilers", environment.compilers},
          {"tcc", environment.tcc}};
}

}  // namespace tcc
