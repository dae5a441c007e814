#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "runtime/supervise/task_runner.h"
#include "search/measure/local_measurer.h"
#include "support/target.h"

// Tuners and workers on several machines that meet in a PostgreSQL database: a queue of candidates,
// and a cache of their results (docs/fleet.md). Without libpq, all functions but FleetSql return
// Unavailable.
namespace tcc {

struct FleetOptions {
  std::string url;  // "postgresql://USER@HOST/DATABASE", without a password
  std::function<void(const std::string&)> warn = nullptr;
  std::stop_token stop = {};
};

// A device that workers of the fleet measure on.
struct FleetDevice {
  ReadyMessage ready;
  // Makes a measurer, whose waits end when a stop is requested.
  std::function<StatusOr<std::unique_ptr<Measurer>>(const LocalMeasurerOptions&, std::stop_token)>
      measurer;
};

// Returns the fleet's device for the target whose description contains `device`; "": the only one.
// Its measurer is parallel. Unavailable: the server cannot be reached, its tables are of another
// version, or there is no such device. FailedPrecondition: the URL is malformed or has a password,
// or there are several devices; the message lists them.
StatusOr<FleetDevice> FindFleetDevice(const FleetOptions& options, const Target& target,
                                      const std::string& device);

struct FleetWorkerOptions {
  FleetOptions fleet;
  TaskRunnerOptions runner = {};
  double lease = 30;       // seconds after which another worker takes what a silent one holds
  double seconds = 0;      // no candidate begins later; 0: no limit
  bool idle_exit = false;  // whether an empty queue ends it
};

// Measures candidates of the fleet until a stop is requested. Unavailable: the server or the device
// is missing, or a task that runs elsewhere does not run here.
Status ServeFleet(const FleetWorkerOptions& options);

// Returns the SQL that makes the fleet's tables and the roles tcc_tuner and tcc_worker, which may
// do what a tuner and a worker need and nothing else. It may be run again.
std::string FleetSql();

}  // namespace tcc
