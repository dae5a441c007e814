#include "runtime/measure/measurement_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tcc {

nlohmann::ordered_json MeasurementFields(const Measurement& measurement) {
  nlohmann::ordered_json fields = {{"status", NameOf(measurement.status)}};
  if (measurement.seconds != 0) fields["seconds"] = measurement.seconds;
  fields.update({{"spread", measurement.spread},
                 {"calls", measurement.calls},
                 {"error", measurement.error},
                 {"canary", measurement.canary},
                 {"message", measurement.message}});
  return fields;
}

StatusOr<Measurement> MeasurementIn(const JsonFields& fields) {
  Measurement measured;
  TCC_ASSIGN_OR_RETURN(std::string name, fields.Text("status"));
  std::optional<MeasureStatus> status = FindMeasureStatus(name);
  if (!status) return InvalidInput("status '{}' is not known", name);
  measured.status = *status;
  bool timed = *status == MeasureStatus::kOk || fields.Has("seconds");
  if (timed) {
    TCC_ASSIGN_OR_RETURN(measured.seconds, fields.Number("seconds"));
  }
  if (timed && measured.seconds <= 0) {
    return InvalidInput("field 'seconds' is {}; expected more than 0", measured.seconds);
  }
  TCC_ASSIGN_OR_RETURN(measured.spread, fields.Amount("spread"));
  TCC_ASSIGN_OR_RETURN(measured.calls, fields.Count("calls"));
  TCC_ASSIGN_OR_RETURN(measured.error, fields.Amount("error"));
  TCC_ASSIGN_OR_RETURN(measured.canary, fields.Amount("canary"));
  TCC_ASSIGN_OR_RETURN(measured.message, fields.Text("message"));
  return measured;
}

}  // namespace tcc
