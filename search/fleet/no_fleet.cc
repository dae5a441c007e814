#include "search/fleet/fleet.h"
#include "search/fleet/fleet_schema.h"

// A build without libpq has no fleet.
namespace tcc {

StatusOr<FleetDevice> FindFleetDevice(const FleetOptions&, const Target&, const std::string&) {
  return ServeFleet({});
}

Status ServeFleet(const FleetWorkerOptions&) {
  return Missing("this build has no fleet: libpq was not found, or TCC_FLEET is off");
}

std::string FleetSql() {
  return std::string(kFleetSchema) + kFleetRoles;
}

}  // namespace tcc
