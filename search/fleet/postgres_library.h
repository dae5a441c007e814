#pragma once

#include <libpq-fe.h>

#include "support/status.h"

namespace tcc {

// The functions of libpq that a fleet needs. They are bound when a fleet is opened, so that nothing
// else needs the library.
struct PostgresLibrary {
  decltype(&PQclear) clear = nullptr;
  decltype(&PQconnectdbParams) connect = nullptr;
  decltype(&PQconninfoFree) free_options = nullptr;
  decltype(&PQconninfoParse) parse_options = nullptr;
  decltype(&PQconsumeInput) consume_input = nullptr;
  decltype(&PQdb) database = nullptr;
  decltype(&PQerrorMessage) error_message = nullptr;
  decltype(&PQexec) execute = nullptr;
  decltype(&PQexecParams) execute_with = nullptr;
  decltype(&PQfinish) finish = nullptr;
  decltype(&PQfreemem) free = nullptr;
  decltype(&PQgetvalue) value = nullptr;
  decltype(&PQhost) host = nullptr;
  decltype(&PQnotifies) notification = nullptr;
  decltype(&PQntuples) rows = nullptr;
  decltype(&PQresultErrorField) error_field = nullptr;
  decltype(&PQresultStatus) result_status = nullptr;
  decltype(&PQsetNoticeProcessor) on_notice = nullptr;
  decltype(&PQsocket) socket = nullptr;
  decltype(&PQstatus) status = nullptr;
  decltype(&PQunescapeBytea) unescape = nullptr;
};

// Opens libpq at the first call. Error (Unavailable): it is not installed.
const StatusOr<PostgresLibrary>& OpenPostgres();

}  // namespace tcc
