#include "search/fleet/fleet.h"
#include "search/fleet/fleet_schema.h"

// What a build without libpq has of a fleet.
namespace tcc {
namespace {

Status NoFleet() {
  return Missing("this build has no fleet: libpq was not found, or TCC_FLEET is off");
}

}  // namespace

StatusOr<FleetDevice> FindFleetDevice(FleetOptions, const Target&, const std::string&) {
  return NoFleet();
}

Status ServeFleet(FleetWorkerOptions) {
  return NoFleet();
}

std::string FleetSql() {
  return std::string(kFleetSchema) + kFleetRoles;
}

}  // namespace tcc
