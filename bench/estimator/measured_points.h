#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "bench/cpu/kernel_suite.h"
#include "lower/backend.h"
#include "search/database/database.h"
#include "search/measure/local_measurer.h"
#include "search/space/task_space.h"

namespace tcc {

// The database, target, code generator and threads that kernels are measured with.
struct MeasuringBench {
  // Opens the database. Error: the database's; a database that is missing where one is expected.
  static StatusOr<MeasuringBench> Open(const std::string& path, int threads, bool expected);

  Database database;
  Target target = {};
  Environment environment = {};
  int64_t environment_row = 0;
  std::unique_ptr<Backend> backend = nullptr;
};

// The times of a task's points in one environment, as a database keeps them.
class MeasuredPoints {
 public:
  // Reads the known points. All arguments outlive the result.
  static StatusOr<MeasuredPoints> Read(MeasuringBench& bench, const Workload& workload,
                                       TaskSpace& space);

  // Returns the measurement of a point; nullptr if it was not measured.
  const Measurement* Find(const SearchPoint& point) const;
  size_t size() const { return points_.size(); }
  // Returns the seconds of the fastest right point; 0 if there is none.
  double BestSeconds() const;

  // Builds, times and records the points that are not known. Each is timed in two passes, of which
  // the lesser time counts.
  Status Measure(std::span<const SearchPoint> points);

 private:
  MeasuredPoints(MeasuringBench& bench, const Workload& workload, TaskSpace& space)
      : bench_(&bench), workload_(&workload), space_(&space) {}

  Status OpenMeasurer();
  Status MeasureBatch(std::span<const SearchPoint> points);

  MeasuringBench* bench_;
  const Workload* workload_;
  TaskSpace* space_;
  int64_t row_ = 0;
  std::map<SearchPoint, Measurement> points_;
  std::unique_ptr<Measurer> measurer_;  // null before the first point
  double stop_beyond_ = 0;
};

}  // namespace tcc
