#include "search/database/database_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "search/database/schema.h"
#include "support/file.h"

namespace tcc {
namespace {

constexpr int64_t kHeaderBytes = 100;  // of every SQLite file

// Which file a path leads to.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0) return std::nullopt;
  return FileIdentity{there.st_dev, there.st_ino};
}

Status CheckHeader(const std::string& path, const SqliteHeader& header) {
  if (!header.is_sqlite) {
    return InvalidInput("'{}' is not a database of tcc: it is no SQLite file", path);
  }
  if (header.application_id != kApplicationId) {
    return InvalidInput("'{}' is not a database of tcc: it is a SQLite file of another program",
                        path);
  }
  if (header.user_version > kUserVersion) {
    return InvalidInput(
        "database '{}' was made by a newer tcc: its format is {}, this one knows {}", path,
        header.user_version, kUserVersion);
  }
  return OkStatus();
}

Status CheckReadable(const std::string& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0) {
    return InvalidInput("cannot read database '{}': {}", path, std::strerror(errno));
  }
  if (S_ISDIR(there.st_mode)) {
    return InvalidInput("cannot read database '{}': it is a folder", path);
  }
  if (!S_ISREG(there.st_mode)) {
    return InvalidInput("cannot read database '{}': it is not a regular file", path);
  }
  TCC_ASSIGN_OR_RETURN(SqliteHeader header, ReadSqliteHeader(path));
  if (header.file_bytes == 0) {
    return InvalidInput("'{}' is not a database of tcc: it is empty", path);
  }
  return CheckHeader(path, header);
}

// Whether a writer has left changes beside the file.
bool HasLog(const std::string& path) {
  std::error_code error;
  uintmax_t bytes = std::filesystem::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

// A killed process may have left a file that is empty but for its header.
Status MakeTables(SqliteConnection& connection) {
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> tables,
                       connection.QueryInt("SELECT count(*) FROM sqlite_master"));
  if (tables > 0) return OkStatus();
  // Another process may be making them at this moment.
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection));
  TCC_ASSIGN_OR_RETURN(tables, connection.QueryInt("SELECT count(*) FROM sqlite_master"));
  if (tables > 0) return OkStatus();
  TCC_RETURN_IF_ERROR(connection.RunScript(kSchema));
  TCC_RETURN_IF_ERROR(connection.RunScript(fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kUserVersion)));
  return transaction.Commit();
}

// The header gets its application_id in the first transaction, before the file has a log, so that
// ReadSqliteHeader always finds it. SQLite does not wait for the lock that the change to a log
// needs.
Status UseLog(SqliteConnection& connection) {
  constexpr int kTries = 300;
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = connection.Run("PRAGMA journal_mode = WAL");
    if (status.ok() || !IsBusy(status)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  TCC_RETURN_IF_ERROR(status);
  // In a log NORMAL survives the end of the process by any signal; FULL, the end of the machine.
  return connection.Run("PRAGMA synchronous = NORMAL");
}

Status CheckSound(SqliteConnection& connection, bool& damaged) {
  StatusOr<std::optional<std::string>> verdict = connection.QueryText("PRAGMA quick_check(1)");
  damaged = verdict.ok() ? *verdict != "ok" : IsDamage(verdict.status());
  if (damaged && verdict.ok()) {
    return InvalidInput("database '{}' is damaged: {}", connection.path(), verdict->value_or(""));
  }
  return verdict.status();
}

StatusOr<SqliteConnection> TryOpenForWriting(const std::string& path, bool& damaged) {
  TCC_RETURN_IF_ERROR(CheckWritable(path));
  if (IdentityOf(path)) {
    TCC_ASSIGN_OR_RETURN(SqliteHeader header, ReadSqliteHeader(path));
    damaged = header.is_sqlite && header.file_bytes < kHeaderBytes;
    if (damaged) {
      return InvalidInput("database '{}' is damaged: it has {} bytes", path, header.file_bytes);
    }
    if (header.file_bytes > 0) TCC_RETURN_IF_ERROR(CheckHeader(path, header));
  }
  TCC_ASSIGN_OR_RETURN(SqliteConnection connection,
                       SqliteConnection::Open(path, SqliteMode::kCreate));
  if (connection.is_read_only()) {
    return InvalidInput("cannot write database '{}': it is read-only", path);
  }
  Status status = MakeTables(connection);
  if (status.ok()) status = UseLog(connection);
  damaged = IsDamage(status);
  if (status.ok()) status = CheckSound(connection, damaged);
  if (!status.ok()) return status;
  return connection;
}

// Renames the file and its log. Processes that find one file damaged take turns, and `damaged`
// tells the file that was found so from the new one of another process. Returns the new name;
// nullopt: another process has done it.
StatusOr<std::optional<std::string>> SetAside(const std::string& path, FileIdentity damaged) {
  std::error_code error;
  std::string file = std::filesystem::canonical(path, error).string();
  int descriptor = error ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return InvalidInput("cannot set damaged database '{}' aside", path);
  std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor,
                                                          [](const int* fd) { ::close(*fd); });
  ::flock(descriptor, LOCK_EX);
  if (IdentityOf(file) != damaged) return std::nullopt;

  std::string aside;
  for (int n = 1; aside.empty() || ::access(aside.c_str(), F_OK) == 0; ++n) {
    aside = fmt::format("{}.damaged-{}", file, n);
  }
  // The file comes last: without it a killed process would leave a log that is taken for a new
  // file's.
  for (const char* suffix : {"-wal", "-shm", ""}) {
    if (std::rename((file + suffix).c_str(), (aside + suffix).c_str()) != 0 && errno != ENOENT) {
      return InvalidInput("cannot rename damaged database '{}' to '{}': {}", path, aside,
                          std::strerror(errno));
    }
  }
  return aside;
}

}  // namespace

StatusOr<OpenedDatabase> OpenDatabaseForReading(const std::string& path) {
  TCC_RETURN_IF_ERROR(CheckReadable(path));
  Status refused;
  for (SqliteMode mode : {SqliteMode::kQueryOnly, SqliteMode::kReadOnly, SqliteMode::kImmutable}) {
    if (mode == SqliteMode::kImmutable && HasLog(path)) {
      return Annotate(refused, fmt::format("'{0}-wal' holds changes of '{0}' that cannot be read "
                                           "where the folder is read-only",
                                           path));
    }
    StatusOr<SqliteConnection> connection = SqliteConnection::Open(path, mode);
    Status status = connection.status();
    if (status.ok()) status = connection->Run("SELECT count(*) FROM sqlite_master");
    if (status.ok()) return OpenedDatabase{*std::move(connection), {}};
    if (IsDamage(status) || IsBusy(status)) return status;
    if (refused.ok()) refused = status;
  }
  return refused;
}

StatusOr<OpenedDatabase> OpenDatabaseForWriting(const std::string& path) {
  std::vector<std::string> warnings;
  constexpr int kTries = 3;  // a new file is sound, so that the second one succeeds
  for (int i = 0;; ++i) {
    std::optional<FileIdentity> identity = IdentityOf(path);
    bool damaged = false;
    StatusOr<SqliteConnection> connection = TryOpenForWriting(path, damaged);
    if (connection.ok()) return OpenedDatabase{*std::move(connection), std::move(warnings)};
    if (!damaged || !identity || i + 1 == kTries) return connection.status();

    TCC_ASSIGN_OR_RETURN(std::optional<std::string> aside, SetAside(path, *identity));
    if (!aside) continue;
    warnings.push_back(fmt::format("{}; it is kept as '{}', and a new one is begun",
                                   Message(connection.status()), *aside));
  }
}

}  // namespace tcc
