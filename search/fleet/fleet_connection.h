#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/fleet/fleet.h"

struct pg_conn;
struct pg_result;

// The part of libpq that a fleet needs. Every error is Unavailable and names host and database.
namespace tcc {

// A value for $1, $2, ... of a statement. It converts silently, for lists of values.
struct SqlParameter {
  // NOLINTBEGIN(google-explicit-constructor)
  SqlParameter(std::string text) : bytes(std::move(text)) {}
  SqlParameter(int64_t number) : bytes(std::to_string(number)) {}
  SqlParameter(double number) : bytes(fmt::format("{}", number)) {}
  SqlParameter(std::span<const uint8_t> blob) : bytes(blob.begin(), blob.end()), is_binary(true) {}
  // NOLINTEND(google-explicit-constructor)

  std::string bytes;
  bool is_binary = false;
};

// The rows that a statement returned. Columns count from 0; NULL reads as 0, "" or no bytes.
class SqlRows {
 public:
  explicit SqlRows(std::shared_ptr<pg_result> result) : result_(std::move(result)) {}
  int size() const;
  std::string Text(int row, int column) const;
  int64_t Int(int row, int column) const;
  double Real(int row, int column) const;
  std::vector<uint8_t> Bytes(int row, int column) const;

 private:
  std::shared_ptr<pg_result> result_;
};

// A connection for one thread at a time, which is made again when it is lost.
class FleetConnection {
 public:
  // Connects and makes the fleet's tables where there are none. No second try is made.
  static StatusOr<std::unique_ptr<FleetConnection>> Open(FleetOptions options);

  // Runs one statement. It is run again where the connection was lost meanwhile, so that it must
  // have the same effect when it is run twice. Cancelled: a stop was requested before there was a
  // connection again. Unavailable: there was none for minutes, or the server refuses the statement.
  StatusOr<SqlRows> Run(const std::string& sql, const std::vector<SqlParameter>& parameters = {});
  // Listens to notifications on the channel, a plain word.
  Status Listen(const std::string& channel);
  // Waits for a notification, `seconds` at most. Notifications are hints: some are lost.
  void Wait(double seconds);

  const FleetOptions& options() const { return options_; }
  void set_stop(std::stop_token stop) { options_.stop = std::move(stop); }
  // Returns "fleet 'HOST/DATABASE'".
  std::string name() const;

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };

  explicit FleetConnection(FleetOptions options) : options_(std::move(options)) {}
  Status Connect();
  Status ConnectAgain();
  Status Prepare();
  Status Script(const std::string& sql);
  Status Refused() const;

  FleetOptions options_;
  std::unique_ptr<pg_conn, Close> connection_;
  std::string channel_;
};

}  // namespace tcc
