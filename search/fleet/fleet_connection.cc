#include "search/fleet/fleet_connection.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

#include "search/fleet/fleet_schema.h"
#include "search/fleet/postgres_library.h"
#include "support/stop.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// FleetConnection::Open has opened it.
const PostgresLibrary& Pq() {
  return *OpenPostgres();
}

constexpr double kPatienceSeconds = 300;    // without a connection: servers are restarted in less
constexpr double kLongestPauseSeconds = 5;  // between two tries
// The steps in which a pause looks for a stop.
constexpr auto kPauseStep = std::chrono::milliseconds(50);

void Pause(double seconds, const std::stop_token& stop) {
  for (Stopwatch watch; watch.Seconds() < seconds && !stop.stop_requested();) {
    std::this_thread::sleep_for(kPauseStep);
  }
}

// Fails without showing the URL, where a malformed one may have its password anywhere.
Status ExpectUrl(const std::string& url) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      Pq().parse_options(url.c_str(), nullptr), Pq().free_options);
  if (!parsed || (!url.starts_with("postgresql://") && !url.starts_with("postgres://"))) {
    return UsageError("--fleet: expected postgresql://USER@HOST:PORT/DATABASE");
  }
  for (const PQconninfoOption* option = parsed.get(); option->keyword; ++option) {
    if (option->val && std::string_view(option->keyword).ends_with("password")) {
      return UsageError(
          "--fleet: the URL has a password, which every user of the machine can read; expected it "
          "in PGPASSWORD or ~/.pgpass");
    }
  }
  return OkStatus();
}

// The classes of errors of a server that goes down, and of a statement that it chose to end a
// deadlock.
constexpr const char* kServerLeaves = "57P";
constexpr const char* kRolledBack = "40";

bool IsOf(const PGresult* result, const char* error_class) {
  const char* state = Pq().error_field(result, PG_DIAG_SQLSTATE);
  return state && std::string_view(state).starts_with(error_class);
}

}  // namespace

int SqlRows::size() const {
  return Pq().rows(result_.get());
}

std::string SqlRows::Text(int row, int column) const {
  return Pq().value(result_.get(), row, column);
}

int64_t SqlRows::Int(int row, int column) const {
  return std::strtoll(Pq().value(result_.get(), row, column), nullptr, 10);
}

// Independent of the locale, as strtod is not.
double SqlRows::Real(int row, int column) const {
  double number = 0;
  const char* text = Pq().value(result_.get(), row, column);
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::vector<uint8_t> SqlRows::Bytes(int row, int column) const {
  size_t size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(Pq().value(result_.get(), row, column));
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(Pq().unescape(text, &size),
                                                              Pq().free);
  return {bytes.get(), bytes.get() + size};
}

void FleetConnection::Close::operator()(pg_conn* connection) const {
  Pq().finish(connection);
}

std::string FleetConnection::name() const {
  return fmt::format("fleet '{}/{}'", Pq().host(connection_.get()),
                     Pq().database(connection_.get()));
}

// The server's words, in one line.
Status FleetConnection::Refused() const {
  std::string message = Pq().error_message(connection_.get());
  while (message.ends_with('\n')) message.pop_back();
  std::ranges::replace(message, '\n', ' ');
  return Missing("{}: {}", name(), message);
}

StatusOr<std::unique_ptr<FleetConnection>> FleetConnection::Open(FleetOptions options) {
  TCC_RETURN_IF_ERROR(OpenPostgres().status());
  TCC_RETURN_IF_ERROR(ExpectUrl(options.url));
  std::unique_ptr<FleetConnection> connection(new FleetConnection(std::move(options)));
  TCC_RETURN_IF_ERROR(connection->Connect());
  TCC_RETURN_IF_ERROR(connection->Prepare());
  return connection;
}

// A server that vanishes without a word is noticed within two minutes.
Status FleetConnection::Connect() {
  constexpr const char* kNames[] = {
      "dbname",          "application_name",    "client_encoding",  "connect_timeout",
      "keepalives_idle", "keepalives_interval", "tcp_user_timeout", nullptr};
  const char* const values[] = {
      options_.url.c_str(), "tcc", "UTF8", "10", "60", "20", "100000", nullptr};
  connection_.reset(Pq().connect(kNames, values, /*expand_dbname=*/1));
  if (Pq().status(connection_.get()) != CONNECTION_OK) return Refused();
  Pq().on_notice(connection_.get(), [](void*, const char*) {}, nullptr);
  TCC_RETURN_IF_ERROR(Script("SET search_path TO tcc_fleet"));
  return channel_.empty() ? OkStatus() : Script("LISTEN " + channel_);
}

Status FleetConnection::ConnectAgain() {
  Status status = Refused();
  if (options_.warn) options_.warn(Message(status) + "; connecting again");
  // The machines of a fleet do not all come back at the same moment.
  double pause = 0.1 + 0.01 * (getpid() % 10);
  for (Stopwatch watch; watch.Seconds() < kPatienceSeconds;) {
    TCC_RETURN_IF_ERROR(StopIfRequested(options_.stop));
    status = Connect();
    if (status.ok()) return status;
    Pause(pause, options_.stop);
    pause = std::min(2 * pause, kLongestPauseSeconds);
  }
  return status;
}

Status FleetConnection::Script(const std::string& sql) {
  const std::shared_ptr<PGresult> result(Pq().execute(connection_.get(), sql.c_str()), Pq().clear);
  const ExecStatusType status = Pq().result_status(result.get());
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? OkStatus() : Refused();
}

// Makes the tables unless they are there, and looks at their version.
Status FleetConnection::Prepare() {
  const std::string find = "SELECT to_regclass('tcc_fleet.version') IS NOT NULL";
  TCC_ASSIGN_OR_RETURN(SqlRows there, Run(find));
  if (there.Text(0, 0) != "t") {
    if (const Status made = Script(kFleetSchema); !made.ok()) {
      return Missing("{}; `tcc worker --sql` prints what makes the tables", Message(made));
    }
  }
  TCC_ASSIGN_OR_RETURN(SqlRows version, Run("SELECT max(version) FROM version"));
  if (version.Int(0, 0) == kFleetVersion) return OkStatus();
  return Missing("{}: its tables are of version {}; this tcc has version {}", name(),
                 version.Int(0, 0), kFleetVersion);
}

StatusOr<SqlRows> FleetConnection::Run(const std::string& sql,
                                       const std::vector<SqlParameter>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const SqlParameter& parameter : parameters) {
    values.push_back(parameter.bytes.c_str());
    lengths.push_back(static_cast<int>(parameter.bytes.size()));
    formats.push_back(parameter.is_binary ? 1 : 0);
  }
  while (true) {
    const std::shared_ptr<PGresult> result(
        Pq().execute_with(connection_.get(), sql.c_str(), static_cast<int>(parameters.size()),
                          nullptr, values.data(), lengths.data(), formats.data(),
                          /*resultFormat=*/0),
        Pq().clear);
    const ExecStatusType status = Pq().result_status(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return SqlRows(result);
    const bool is_lost =
        Pq().status(connection_.get()) != CONNECTION_OK || IsOf(result.get(), kServerLeaves);
    if (!is_lost && !IsOf(result.get(), kRolledBack)) return Refused();
    if (is_lost) TCC_RETURN_IF_ERROR(ConnectAgain());
  }
}

Status FleetConnection::Listen(const std::string& channel) {
  channel_ = channel;
  return Run("LISTEN " + channel_).status();
}

// A connection that is lost ends the wait, and is made again by the next statement.
void FleetConnection::Wait(double seconds) {
  pollfd socket{.fd = Pq().socket(connection_.get()), .events = POLLIN, .revents = 0};
  bool told = false;
  while (PGnotify* notice = Pq().notification(connection_.get())) {
    Pq().free(notice);
    told = true;
  }
  if (told || socket.fd < 0) return;
  poll(&socket, 1, static_cast<int>(seconds * 1e3));
  Pq().consume_input(connection_.get());
  while (PGnotify* notice = Pq().notification(connection_.get())) Pq().free(notice);
}

}  // namespace tcc
