#include "search/fleet/postgres_library.h"

#include <dlfcn.h>

#include "support/opened_library.h"

namespace tcc {
namespace {

constexpr const char* kName = "libpq.so.5";

constexpr Symbol<PostgresLibrary> kSymbols[] = {
    SymbolFor<&PostgresLibrary::clear>("PQclear"),
    SymbolFor<&PostgresLibrary::connect>("PQconnectdbParams"),
    SymbolFor<&PostgresLibrary::free_options>("PQconninfoFree"),
    SymbolFor<&PostgresLibrary::parse_options>("PQconninfoParse"),
    SymbolFor<&PostgresLibrary::consume_input>("PQconsumeInput"),
    SymbolFor<&PostgresLibrary::database>("PQdb"),
    SymbolFor<&PostgresLibrary::error_message>("PQerrorMessage"),
    SymbolFor<&PostgresLibrary::execute>("PQexec"),
    SymbolFor<&PostgresLibrary::execute_with>("PQexecParams"),
    SymbolFor<&PostgresLibrary::finish>("PQfinish"),
    SymbolFor<&PostgresLibrary::free>("PQfreemem"),
    SymbolFor<&PostgresLibrary::value>("PQgetvalue"),
    SymbolFor<&PostgresLibrary::host>("PQhost"),
    SymbolFor<&PostgresLibrary::notification>("PQnotifies"),
    SymbolFor<&PostgresLibrary::rows>("PQntuples"),
    SymbolFor<&PostgresLibrary::error_field>("PQresultErrorField"),
    SymbolFor<&PostgresLibrary::result_status>("PQresultStatus"),
    SymbolFor<&PostgresLibrary::on_notice>("PQsetNoticeProcessor"),
    SymbolFor<&PostgresLibrary::socket>("PQsocket"),
    SymbolFor<&PostgresLibrary::status>("PQstatus"),
    SymbolFor<&PostgresLibrary::unescape>("PQunescapeBytea"),
};

StatusOr<PostgresLibrary> Open() {
  void* handle = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Missing("{} was not found, and a fleet needs it; install it (Debian: libpq5)", kName);
  }
  return BindAll(OpenedLibrary{handle, kName}, kSymbols, "libpq of PostgreSQL 12 or newer");
}

}  // namespace

const StatusOr<PostgresLibrary>& OpenPostgres() {
  static const StatusOr<PostgresLibrary> library = Open();
  return library;
}

}  // namespace tcc
