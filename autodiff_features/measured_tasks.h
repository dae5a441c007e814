#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autodiff_features/counts/run_settings.h"
#include "schedule/space/trace.h"

namespace tcc {

// A measured candidate as read from records.
struct MeasuredRecord {
  std::string task;   // equal texts are one task
  std::string name;   // the kernel's name, for people
  std::string fn;     // the kTensor variant, as text
  std::string trace;  // the sketch's trace, as text
  Decisions set;      // a value for each of its sizes
  double seconds = 0;
  double noise = 0;          // relative: closer times count as equal
  bool precise = true;       // false: timed by one run, because it was slow
  bool constructed = false;  // the candidate that is compiled without a search
  int threads = 1;
  std::string policy;  // the placement of operands: "warm", "rotate-64M"
  // The target that it was compiled for, and the machine that ran it; "" if a record does not say.
  std::string target = {};
  std::string device = {};
};

struct MeasuredPoint {
  size_t record = 0;  // its index among all records
  size_t sketch = 0;  // the index of the task's sketch
  Decisions set;
  double seconds = 0;
  double noise = 0;
  bool precise = true;
  bool constructed = false;
};

// A variant of a task and a trace for it.
struct MeasuredSketch {
  std::string fn;
  std::string trace;
};

// The comparable points of one task: on one device, for one target, on the same number of threads,
// with operands placed alike.
struct MeasuredTask {
  std::string key;
  std::string name;
  RunSettings settings;
  std::string policy;
  std::string target = {};
  std::string device = {};
  std::vector<MeasuredSketch> sketches;
  std::vector<MeasuredPoint> points;

  double BestSeconds() const;  // 0 without points that have a time
};

// Return the conditions that a policy's name stands for: "warm"; "rotate-weights-64M" and
// "in-place" begin with cold weights; "rotate-64M" with everything cold.
bool IsKnownPolicy(const std::string& policy);
RunSettings SettingsOf(const std::string& policy, int threads);

// Groups records, which may come in any order and in pieces. Tasks and sketches are in the order of
// their first record.
class MeasuredTasks {
 public:
  // Returns the number of the record.
  size_t Add(const MeasuredRecord& record);
  // Counts a record without a time, so that record numbers stay those of the lines.
  size_t Skip() { return records_++; }

  size_t records() const { return records_; }
  std::vector<MeasuredTask> Take() && { return std::move(tasks_); }

 private:
  size_t TaskOf(const MeasuredRecord& record);
  size_t SketchOf(size_t task, const MeasuredRecord& record);

  size_t records_ = 0;
  std::vector<MeasuredTask> tasks_;
  // By target, device, threads, policy and key.
  std::map<std::vector<std::string>, size_t> places_;
  std::vector<std::map<std::string, size_t>> sketch_places_;
};

// Returns whether a task is held out from training: for the share `held_out` of all keys, by their
// hash, so that a task is on one side whatever its threads, policy and device are.
bool IsHeldOut(const MeasuredTask& task, double held_out);

}  // namespace tcc
