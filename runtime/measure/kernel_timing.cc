#include "runtime/measure/kernel_timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/integer_division.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr double kBatchSeconds = 1e-3;
constexpr double kTotalSeconds = 50e-3;
constexpr double kMaxCalls = 1e6;  // in a batch
constexpr size_t kMinBatches = 5;
constexpr size_t kMaxBatches = 20;
// That many batches this close to the least say that it is no accident.
constexpr int64_t kAgreeing = 3;
constexpr double kAgreement = 1.02;

// Calls in a batch; whole rounds through the copies where there are more calls than copies.
int64_t CallsOf(double seconds_per_call, int64_t copies) {
  double wanted = std::ceil(kBatchSeconds / std::max(seconds_per_call, kBatchSeconds / kMaxCalls));
  auto calls = std::max<int64_t>(static_cast<int64_t>(wanted), 1);
  return calls > copies ? RoundUp(calls, copies) : calls;
}

// A clock and the copy whose turn is next.
class Batches {
 public:
  Batches(int64_t copies, const std::function<Status(int64_t)>& launch)
      : copies_(copies), launch_(launch) {}

  // Seconds per call.
  StatusOr<double> Run(int64_t calls) {
    Stopwatch stopwatch;
    for (int64_t i = 0; i < calls; ++i) {
      TCC_RETURN_IF_ERROR(launch_(next_));
      if (++next_ == copies_) next_ = 0;
    }
    return stopwatch.Seconds() / static_cast<double>(calls);
  }

 private:
  int64_t copies_;
  int64_t next_ = 0;
  const std::function<Status(int64_t)>& launch_;
};

bool Agree(const std::vector<double>& means, double least) {
  return means.size() >= kMinBatches && std::ranges::count_if(means, [&](double mean) {
                                          return mean <= kAgreement * least;
                                        }) >= kAgreeing;
}

double MedianOf(std::vector<double> values) {
  size_t half = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(half));
  if (values.size() % 2 == 1) return values[half];
  double below = *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half));
  return (below + values[half]) / 2;
}

}  // namespace

StatusOr<KernelTiming> TimeKernel(int64_t copies, const std::function<Status(int64_t)>& launch,
                                  double expected) {
  Batches batches(copies, launch);
  double once = expected;
  // Short calls are told apart from the time to wake the threads up by one that finds them awake.
  if (once < kBatchSeconds) {
    TCC_ASSIGN_OR_RETURN(once, batches.Run(1));
  }
  size_t at_least = once > kTotalSeconds ? 1 : 2;
  double least = once, total = 0;
  std::vector<double> means;
  KernelTiming timing;
  while (means.size() < at_least ||
         (means.size() < kMaxBatches && total < kTotalSeconds && !Agree(means, least))) {
    int64_t calls = CallsOf(least, copies);
    TCC_ASSIGN_OR_RETURN(double mean, batches.Run(calls));
    means.push_back(mean);
    timing.calls += calls;
    total += mean * static_cast<double>(calls);
    least = *std::ranges::min_element(means);
  }
  timing.seconds = least;
  timing.spread = least > 0 ? (MedianOf(means) - least) / least : 0;
  return timing;
}

}  // namespace tcc
