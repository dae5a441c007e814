#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/status.h"

struct sqlite3;
struct sqlite3_stmt;

// The part of SQLite that search/database needs. Every error names the path of the database.
namespace tcc {

using SqlValue = std::variant<std::nullptr_t, int64_t, double, std::string>;
using SqlValues = std::vector<SqlValue>;

// The current row of a query. Columns count from 0; NULL reads as 0 or "".
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// The first bytes of a file, read without a lock and without changing anything.
struct SqliteHeader {
  int64_t file_bytes = 0;
  bool is_sqlite = false;  // whether the magic bytes are there
  uint32_t application_id = 0;
  uint32_t user_version = 0;
};
// Reads the header of a regular file. Reads through SQLite: closing a descriptor of our own would
// drop the locks that other connections of this process hold on the file (POSIX).
StatusOr<SqliteHeader> ReadSqliteHeader(const std::string& path);

enum class SqliteMode {
  kCreate,     // reads and writes, creates the file if there is none
  kQueryOnly,  // reads; may recover the write-ahead log and remove it at the end
  kReadOnly,   // reads, in a file that cannot be written
  kImmutable,  // reads a file that nobody changes, without locks and without the log
};

// An open database file, for one thread at a time.
class SqliteConnection {
 public:
  // Opens a file. SQLite reads nothing before the first statement, so that damage shows there.
  static StatusOr<SqliteConnection> Open(const std::string& path, SqliteMode mode);

  // Runs one statement to its end. Rows are ignored.
  Status Run(const std::string& sql, const SqlValues& values = {});
  // Runs several statements, separated by semicolons.
  Status RunScript(const std::string& sql);
  // Calls `row` for each row until it fails.
  Status Query(const std::string& sql, const SqlValues& values,
               const std::function<Status(const SqlRow&)>& row);
  // Return the first column of the first row; nullopt: there is no row, or it is NULL.
  StatusOr<std::optional<int64_t>> QueryInt(const std::string& sql, const SqlValues& values = {});
  StatusOr<std::optional<std::string>> QueryText(const std::string& sql,
                                                 const SqlValues& values = {});

  // Returns the number of rows that the last statement inserted, updated or deleted.
  int64_t changed_rows() const;
  bool is_read_only() const;
  const std::string& path() const { return path_; }

 private:
  struct CloseConnection {
    void operator()(sqlite3* connection) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  SqliteConnection() = default;
  StatusOr<Statement> Prepare(const std::string& sql);
  Status Bind(sqlite3_stmt* statement, const SqlValues& values);
  Status Error(int code) const;

  std::string path_;
  std::unique_ptr<sqlite3, CloseConnection> connection_;
  std::map<std::string, Statement> idle_;  // prepared but not running, by text; closed first
};

// A transaction by BEGIN IMMEDIATE: it holds the write lock from its beginning on. Rolled back
// unless committed.
class SqliteTransaction {
 public:
  static StatusOr<SqliteTransaction> Begin(SqliteConnection& connection);
  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  Status Commit();

 private:
  explicit SqliteTransaction(SqliteConnection& connection) : connection_(&connection) {}
  SqliteConnection* connection_;  // nullptr once it has ended
};

// Returns whether the status says that the file's content is not a sound database.
bool IsDamage(const Status& status);
// Returns whether the status says that another connection holds the lock.
bool IsBusy(const Status& status);

}  // namespace tcc
