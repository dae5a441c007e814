#pragma once

#include <cstdint>

// The tables of a database file, created once. A change takes a new kUserVersion and a migration.
namespace tcc {

// "TCCD", which distinguishes tcc's files from other SQLite files.
inline constexpr uint32_t kApplicationId = 0x54434344;
inline constexpr uint32_t kUserVersion = 1;

inline constexpr int64_t kSearchSeries = 0;  // measured one by one during a search
inline constexpr int64_t kComparisonSeries =
    1;  // measured in place, inside the network, at its end

// The prefix of the measurer's name of an imported record.
inline constexpr const char* kImportPrefix = "import:";

inline constexpr const char* kSchema = R"(
CREATE TABLE variant(
  key  TEXT PRIMARY KEY,         -- FunctionKey
  text TEXT NOT NULL             -- Print of the function
) STRICT;
CREATE TABLE workload(
  id            INTEGER PRIMARY KEY,
  key           TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL,
  first_variant TEXT NOT NULL REFERENCES variant,
  flops         REAL NOT NULL,
  moved_bytes   INTEGER
) STRICT;
CREATE TABLE environment(
  id        INTEGER PRIMARY KEY,
  key       TEXT NOT NULL UNIQUE,  -- SHA-256 of the fields
  tcc       TEXT NOT NULL,
  target    TEXT NOT NULL,
  device    TEXT NOT NULL,
  measurer  TEXT NOT NULL,
  threads   INTEGER NOT NULL,
  policy    TEXT NOT NULL,
  compilers TEXT NOT NULL
) STRICT;
CREATE TABLE sketch(
  id          INTEGER PRIMARY KEY,
  workload    INTEGER NOT NULL REFERENCES workload,
  variant_key TEXT NOT NULL REFERENCES variant,
  rules       TEXT NOT NULL,
  trace       TEXT NOT NULL,     -- Print of the trace
  key         TEXT NOT NULL,     -- SHA-256 of variant_key and trace
  UNIQUE(workload, key)
) STRICT;
CREATE TABLE candidate(
  id          INTEGER PRIMARY KEY,
  sketch      INTEGER NOT NULL REFERENCES sketch,
  decisions   TEXT NOT NULL,     -- "b0.i1.1=4 b0.i1.2=16", by name
  lowered_key TEXT,
  UNIQUE(sketch, decisions)
) STRICT;
CREATE INDEX candidate_lowered ON candidate(lowered_key);
CREATE TABLE measurement(
  id            INTEGER PRIMARY KEY,
  candidate     INTEGER NOT NULL REFERENCES candidate,
  environment   INTEGER NOT NULL REFERENCES environment,
  series        INTEGER NOT NULL DEFAULT 0,
  status        TEXT NOT NULL,
  seconds       REAL,            -- NULL where nothing was timed
  spread        REAL,
  calls         INTEGER,
  error         REAL,
  canary        REAL,
  build_seconds REAL,
  searcher      TEXT NOT NULL,
  message       TEXT NOT NULL,
  at            INTEGER NOT NULL, -- microseconds since 1970
  UNIQUE(candidate, environment, series)
) STRICT;
-- Candidates that are being built: rows of dead processes are suspects.
CREATE TABLE in_flight(
  candidate INTEGER PRIMARY KEY REFERENCES candidate,
  pid       INTEGER NOT NULL,
  batch     INTEGER NOT NULL
) STRICT;
)";

}  // namespace tcc
