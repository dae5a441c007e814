#include "runtime/cpu/cpu_rates.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;

namespace {

// 0 stands for what could not be measured.
bool IsRateOrUnknown(double rate) {
  return rate == 0 || (std::isfinite(rate) && rate > 1e7 && rate < 1e15);
}

}  // namespace

TEST_CASE("Rates of this CPU are of the magnitude that CPUs have", "[runtime][cpu_rates]") {
  ThreadPool pool({.threads = 2});
  CpuRates rates = MeasureCpuRates(pool);
  CHECK(rates.hertz > 1e8);
  CHECK(rates.hertz < 1e11);
  CHECK(rates.fma_per_cycle >= 0);
  CHECK(rates.fma_per_cycle < 100);
  CHECK(rates.l1_bytes >= 1024);
  CHECK(rates.l2_bytes >= 1024);
  CHECK(rates.l3_bytes >= 0);
  CHECK(rates.l2_rate > 1e7);
  for (double rate : {rates.l2_rate, rates.l3_rate, rates.l3_all_rate, rates.memory_rate,
                      rates.memory_all_rate}) {
    CHECK(IsRateOrUnknown(rate));
  }
  CHECK((rates.l3_rate > 0) == (rates.l3_all_rate > 0));
  CHECK((rates.memory_rate > 0) == (rates.memory_all_rate > 0));
  CHECK(std::isfinite(rates.fork_seconds));
  CHECK((rates.fork_seconds > 0) == (pool.threads() > 1));
}

TEST_CASE("One thread has no seconds of a fork", "[runtime][cpu_rates]") {
  ThreadPool pool({.threads = 1});
  CpuRates rates = MeasureCpuRates(pool);
  CHECK(rates.fork_seconds == 0);
  CHECK(rates.l3_all_rate == rates.l3_rate);
  CHECK(rates.memory_all_rate == rates.memory_rate);
}
