#include "compiler/schedule_folder.h"

#include <filesystem>

#include "support/file.h"

namespace tcc {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".trace";

StatusOr<Schedules> ReadSchedules(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator files(folder, error);
  if (error) return InvalidInput("{}: {}; expected a folder of schedules", folder, error.message());
  Schedules schedules;
  std::string other;  // a file that is no schedule
  for (const fs::directory_entry& file : files) {
    if (file.path().extension() != kExtension) {
      other = file.path().filename().string();
      continue;
    }
    TCC_ASSIGN_OR_RETURN(SharedBytes bytes, MapFile(file.path().string()));
    StatusOr<Schedule> schedule =
        ParseSchedule(std::string(bytes.bytes.begin(), bytes.bytes.end()));
    if (!schedule.ok()) return Annotate(schedule.status(), file.path().string());
    schedules.emplace(file.path().stem().string(), *std::move(schedule));
  }
  if (schedules.empty() && !other.empty()) {
    return InvalidInput("{}: expected schedules in files NAME{}, found '{}'", folder, kExtension,
                        other);
  }
  return schedules;
}

Status WriteSchedules(const std::string& folder, const KernelSet& kernels) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return InvalidInput("{}: {}", folder, error.message());
  for (const KernelStages& kernel : kernels.kernels) {
    std::string text = Print(kernel.schedule);
    fs::path path = fs::path(folder) / (kernel.symbol + kExtension);
    TCC_RETURN_IF_ERROR(WriteFileAtomically(path.string(), text));
  }
  return OkStatus();
}

}  // namespace tcc
