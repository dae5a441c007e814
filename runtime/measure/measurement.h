#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tcc {

// The outcome of measuring a candidate kernel.
enum class MeasureStatus : uint8_t {
  kOk,            // right and timed
  kSlow,          // right, but longer than was asked for: timed by the runs that checked it
  kRefused,       // the schedule is illegal or beyond the target's limits; nothing was built
  kBuildFailed,   // lowering or the code generator failed
  kLaunchFailed,  // the artefact did not load, or the kernel returned an error
  kFault,         // a signal or an exit ended the worker
  kHang,          // the worker did not answer before its deadline and was killed
  kOutOfMemory,   // the kernel could not allocate its scratch memory
  kWrong,         // a result differs from the reference's by more than its bound, or a byte outside
                  // of the results was written
  kFlaky,         // two runs on equal operands gave different verdicts
};

// Returns "ok", "slow", "refused", "build-failed", ..., as in the database and in reports.
std::string_view NameOf(MeasureStatus status);
std::optional<MeasureStatus> FindMeasureStatus(std::string_view name);

// Returns whether measurements with this status have a time: the candidate was right.
inline bool HasTime(MeasureStatus status) {
  return status == MeasureStatus::kOk || status == MeasureStatus::kSlow;
}

struct Measurement {
  MeasureStatus status = MeasureStatus::kOk;
  double seconds = 0;        // per call: the least mean of the batches; 0 where nothing was timed
  double spread = 0;         // (median - least) / least over the batches
  int64_t calls = 0;         // timed calls
  double error = 0;          // of the worst element, in units of its bound
  double canary = 0;         // GFLOP/s of RunFmaLoop right before the timing
  std::string message = {};  // says why for every status but kOk
};

}  // namespace tcc
