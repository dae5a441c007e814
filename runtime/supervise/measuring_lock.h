#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "support/status.h"

namespace tcc {

struct MeasuringLockOptions {
  std::string device = "cpu";  // what is measured on: LockedDevice of its worker
  // Called once if another process holds the lock, and if no lock can be taken.
  std::function<void(const std::string&)> say = nullptr;
  std::stop_token stop = {};
};

// The right to measure on a device of this machine: a lock on CacheFolder()/measure-DEVICE.lock,
// held until the object or the process ends. The file names the process that holds it.
class MeasuringLock {
 public:
  // Waits for the lock. Cancelled: `stop` came first. If the cache folder cannot be written, the
  // result holds nothing: measuring beside another process beats not measuring.
  static StatusOr<MeasuringLock> Acquire(const MeasuringLockOptions& options);
  MeasuringLock(MeasuringLock&& other) noexcept;
  MeasuringLock& operator=(MeasuringLock&& other) = delete;
  ~MeasuringLock();

  bool held() const { return file_ >= 0; }

 private:
  explicit MeasuringLock(int file) : file_(file) {}

  int file_;  // -1: no lock
};

}  // namespace tcc
