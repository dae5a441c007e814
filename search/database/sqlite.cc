#include "search/database/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr int kBusyMilliseconds = 30000;
// Carries the result code of SQLite, for IsDamage and IsBusy.
constexpr const char* kCodePayload = "tcc/sqlite-code";

Status WithCode(Status status, int code) {
  std::string text = std::to_string(code);
  status.SetPayload(kCodePayload, absl::Cord(absl::string_view(text)));
  return status;
}

int CodeOf(const Status& status) {
  auto payload = status.GetPayload(kCodePayload);
  return payload ? std::stoi(std::string(*payload)) : SQLITE_OK;
}

// A file name may look like one of SQLite's own (":memory:", "").
std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? "./" + path : absolute.string();
}

std::string ImmutableUri(const std::string& path) {
  std::string uri = "file:";
  for (unsigned char c : AbsolutePath(path)) {
    bool plain = std::isalnum(c) || std::strchr("/-_.", c);
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02x}", c);
  }
  return uri + "?immutable=1";
}

int FlagsOf(SqliteMode mode) {
  switch (mode) {
    case SqliteMode::kCreate:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case SqliteMode::kQueryOnly:
      return SQLITE_OPEN_READWRITE;
    case SqliteMode::kReadOnly:
      return SQLITE_OPEN_READONLY;
    case SqliteMode::kImmutable:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  }
  TCC_UNREACHABLE();
}

uint32_t BigEndian(std::span<const unsigned char> bytes) {
  uint32_t value = 0;
  for (unsigned char byte : bytes) value = value << 8 | byte;
  return value;
}

// `system_error` is errno where the system refused something, else 0.
Status SqliteError(const std::string& path, int code, const std::string& reason, int system_error) {
  int primary = code & 0xff;
  bool full = primary == SQLITE_FULL ||
              (primary == SQLITE_IOERR && (system_error == ENOSPC || system_error == EDQUOT));
  if (full) {
    Status status = absl::ResourceExhaustedError(
        fmt::format("cannot write database '{}': no space left ({})", path, reason));
    return WithCode(status, code);
  }
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
    return WithCode(InvalidInput("database '{}' is damaged: {}", path, reason), code);
  }
  if (primary == SQLITE_READONLY) {
    return WithCode(InvalidInput("cannot write database '{}': {}", path, reason), code);
  }
  std::string system = system_error ? fmt::format(" ({})", std::strerror(system_error)) : "";
  return WithCode(InvalidInput("database '{}': {}{}", path, reason, system), code);
}

int BindValue(sqlite3_stmt* statement, int place, const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, place, *number);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return sqlite3_bind_double(statement, place, *real);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, place);
}

}  // namespace

int64_t SqlRow::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double SqlRow::Real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string SqlRow::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (!text) return "";
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

bool SqlRow::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void SqliteConnection::CloseConnection::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

void SqliteConnection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

StatusOr<SqliteHeader> ReadSqliteHeader(const std::string& path) {
  sqlite3* opened = nullptr;
  int code = sqlite3_open_v2(ImmutableUri(path).c_str(), &opened, FlagsOf(SqliteMode::kImmutable),
                             nullptr);
  std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> connection(opened, &sqlite3_close_v2);
  sqlite3_file* file = nullptr;
  if (code == SQLITE_OK) {
    code =
        sqlite3_file_control(opened, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  }
  std::array<unsigned char, 100> bytes{};
  sqlite3_int64 size = 0;
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  if (code == SQLITE_OK && size > 0) code = file->pMethods->xRead(file, bytes.data(), 100, 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) {
    int system_error = opened ? sqlite3_system_errno(opened) : 0;
    return SqliteError(path, code, sqlite3_errstr(code), system_error);
  }
  SqliteHeader header;
  header.file_bytes = size;
  header.is_sqlite = std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
  header.user_version = BigEndian(std::span(bytes).subspan(60, 4));
  header.application_id = BigEndian(std::span(bytes).subspan(68, 4));
  return header;
}

StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path, SqliteMode mode) {
  SqliteConnection result;
  result.path_ = path;
  std::string name = mode == SqliteMode::kImmutable ? ImmutableUri(path) : AbsolutePath(path);
  sqlite3* opened = nullptr;
  int code = sqlite3_open_v2(name.c_str(), &opened, FlagsOf(mode), nullptr);
  result.connection_.reset(opened);
  if (code != SQLITE_OK) return result.Error(code);

  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  // A file from elsewhere may hold triggers and views.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  if (mode == SqliteMode::kQueryOnly) TCC_RETURN_IF_ERROR(result.Run("PRAGMA query_only = 1"));
  return result;
}

Status SqliteConnection::Error(int code) const {
  if (!connection_) return SqliteError(path_, code, sqlite3_errstr(code), 0);
  int primary = code & 0xff;
  bool from_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  int system_error = from_system ? sqlite3_system_errno(connection_.get()) : 0;
  return SqliteError(path_, code, sqlite3_errmsg(connection_.get()), system_error);
}

StatusOr<SqliteConnection::Statement> SqliteConnection::Prepare(const std::string& sql) {
  if (auto idle = idle_.extract(sql)) return std::move(idle.mapped());
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(connection_.get(), sql.c_str(), static_cast<int>(sql.size() + 1),
                                &statement, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Statement(statement);
}

Status SqliteConnection::Bind(sqlite3_stmt* statement, const SqlValues& values) {
  TCC_CHECK(sqlite3_bind_parameter_count(statement) == static_cast<int>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    int code = BindValue(statement, static_cast<int>(i + 1), values[i]);
    if (code != SQLITE_OK) return Error(code);
  }
  return OkStatus();
}

Status SqliteConnection::Query(const std::string& sql, const SqlValues& values,
                               const std::function<Status(const SqlRow&)>& row) {
  TCC_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  TCC_RETURN_IF_ERROR(Bind(statement.get(), values));
  int code = sqlite3_step(statement.get());
  for (; code == SQLITE_ROW; code = sqlite3_step(statement.get())) {
    TCC_RETURN_IF_ERROR(row(SqlRow(statement.get())));
  }
  if (code != SQLITE_DONE) return Error(code);
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  idle_.emplace(sql, std::move(statement));
  return OkStatus();
}

Status SqliteConnection::Run(const std::string& sql, const SqlValues& values) {
  return Query(sql, values, [](const SqlRow&) { return OkStatus(); });
}

Status SqliteConnection::RunScript(const std::string& sql) {
  int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : Error(code);
}

StatusOr<std::optional<int64_t>> SqliteConnection::QueryInt(const std::string& sql,
                                                            const SqlValues& values) {
  std::optional<int64_t> result;
  bool first = true;
  TCC_RETURN_IF_ERROR(Query(sql, values, [&](const SqlRow& row) {
    if (std::exchange(first, false) && !row.IsNull(0)) result = row.Int(0);
    return OkStatus();
  }));
  return result;
}

StatusOr<std::optional<std::string>> SqliteConnection::QueryText(const std::string& sql,
                                                                 const SqlValues& values) {
  std::optional<std::string> result;
  bool first = true;
  TCC_RETURN_IF_ERROR(Query(sql, values, [&](const SqlRow& row) {
    if (std::exchange(first, false) && !row.IsNull(0)) result = row.Text(0);
    return OkStatus();
  }));
  return result;
}

int64_t SqliteConnection::changed_rows() const {
  return sqlite3_changes64(connection_.get());
}

bool SqliteConnection::is_read_only() const {
  return sqlite3_db_readonly(connection_.get(), "main") == 1;
}

StatusOr<SqliteTransaction> SqliteTransaction::Begin(SqliteConnection& connection) {
  TCC_RETURN_IF_ERROR(connection.Run("BEGIN IMMEDIATE"));
  return SqliteTransaction(connection);
}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

SqliteTransaction::~SqliteTransaction() {
  // SQLite has rolled back by itself after a full disk, and says so; there is nobody to tell.
  if (connection_) connection_->RunScript("ROLLBACK").IgnoreError();
}

Status SqliteTransaction::Commit() {
  TCC_RETURN_IF_ERROR(connection_->Run("COMMIT"));
  connection_ = nullptr;
  return OkStatus();
}

bool IsDamage(const Status& status) {
  int primary = CodeOf(status) & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

bool IsBusy(const Status& status) {
  int primary = CodeOf(status) & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

}  // namespace tcc
