#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/measure/measurement.h"
#include "support/json_fields.h"

namespace tcc {

// Returns a measurement as fields of a JSON object: status, seconds where it has a time, spread,
// calls, error, canary, message.
nlohmann::ordered_json MeasurementFields(const Measurement& measurement);

// Reads the same fields. Errors (InvalidArgument) name the field.
StatusOr<Measurement> MeasurementIn(const JsonFields& fields);

}  // namespace tcc
