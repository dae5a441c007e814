#include "runtime/supervise/measuring_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "support/environment.h"
#include "support/stop.h"

namespace tcc {
namespace {

constexpr std::chrono::milliseconds kPollInterval{100};

void Say(const MeasuringLockOptions& options, const std::string& message) {
  if (options.say) options.say(message);
}

// The lock file, opened. Error: what keeps it from being written.
StatusOr<int> OpenLockFile(std::string device) {
  const std::string folder = CacheFolder();
  if (folder.empty()) {
    return InvalidInput("no cache folder: TCC_CACHE_DIR, XDG_CACHE_HOME and HOME are not set");
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidInput("cannot make '{}': {}", folder, error.message());
  std::ranges::replace(device, '/', '-');
  const std::string path = fmt::format("{}/measure-{}.lock", folder, device);
  // The holder's number replaces what the file holds; not in a file that a link leads to.
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) return InvalidInput("cannot write '{}': {}", path, strerror(errno));
  return file;
}

// True: taken. False: somebody else has it. Error: the file system has no locks.
StatusOr<bool> TryLock(int file) {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return InvalidInput("cannot lock '{}': {}", CacheFolder(), strerror(errno));
  }
  return true;
}

// "process 123"; the holder may not have said who it is yet.
std::string HolderOf(int file) {
  std::array<char, 32> text{};
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  std::string number(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : "process " + number;
}

// The lock holds whether or not its file can say for whom.
void NameHolder(int file) {
  const std::string line = std::to_string(getpid()) + "\n";
  [[maybe_unused]] const bool written =
      ftruncate(file, 0) == 0 && pwrite(file, line.data(), line.size(), 0) > 0;
}

// Sleeps for a poll interval, or until a stop is requested.
void Pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock held(mutex);
  wake.wait_for(held, stop, kPollInterval, [] { return false; });
}

}  // namespace

StatusOr<MeasuringLock> MeasuringLock::Acquire(const MeasuringLockOptions& options) {
  StatusOr<int> file = OpenLockFile(options.device);
  if (!file.ok()) {
    Say(options, "measuring without a lock: " + Message(file.status()));
    return MeasuringLock(-1);
  }
  MeasuringLock lock(*file);
  StatusOr<bool> taken = TryLock(lock.file_);
  if (taken.ok() && !*taken) {
    Say(options,
        fmt::format("waiting for {}, which is measuring on this machine", HolderOf(lock.file_)));
  }
  while (taken.ok() && !*taken) {
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    Pause(options.stop);
    taken = TryLock(lock.file_);
  }
  if (!taken.ok()) {
    Say(options, "measuring without a lock: " + Message(taken.status()));
    return MeasuringLock(-1);
  }
  NameHolder(lock.file_);
  return lock;
}

MeasuringLock::MeasuringLock(MeasuringLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

MeasuringLock::~MeasuringLock() {
  // The name stays in the file: a lock that was only waited for must not erase another's.
  if (file_ >= 0) close(file_);
}

}  // namespace tcc
