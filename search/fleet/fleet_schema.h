#pragma once

// The tables of a fleet. All times are the server's.
namespace tcc {

inline constexpr int kFleetVersion = 1;  // of the tables

// Makes the tables unless they are there, in one transaction. The lock lets one of two first users
// wait for the other.
inline constexpr const char* kFleetSchema = R"(BEGIN;
SELECT pg_advisory_xact_lock(84678667);
CREATE SCHEMA IF NOT EXISTS tcc_fleet;
CREATE TABLE IF NOT EXISTS tcc_fleet.version(version int PRIMARY KEY);
INSERT INTO tcc_fleet.version SELECT 1 WHERE NOT EXISTS (SELECT FROM tcc_fleet.version);
-- What workers measure on. Tuners and workers of another protocol do not see each other.
CREATE TABLE IF NOT EXISTS tcc_fleet.device(
  id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  text     text NOT NULL,
  protocol int NOT NULL,
  ready    bytea NOT NULL,   -- ReadyMessage
  UNIQUE (text, protocol));
-- Artefacts by their SHA-256.
CREATE TABLE IF NOT EXISTS tcc_fleet.blob(
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  bytes  bytea NOT NULL);
-- What the candidates of one kernel have in common; the digest is that of message and reference.
CREATE TABLE IF NOT EXISTS tcc_fleet.task(
  digest    bytea PRIMARY KEY CHECK (length(digest) = 32),
  name      text NOT NULL,
  message   bytea NOT NULL,  -- TaskMessage without its artefact
  reference bytea NOT NULL REFERENCES tcc_fleet.blob);
-- A candidate to measure. Nobody takes one that no tuner wants any more.
CREATE TABLE IF NOT EXISTS tcc_fleet.job(
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  device       int NOT NULL REFERENCES tcc_fleet.device,
  task         bytea NOT NULL REFERENCES tcc_fleet.task,
  artefact     bytea NOT NULL REFERENCES tcc_fleet.blob,
  stop_beyond  float8 NOT NULL,
  wanted_until timestamptz NOT NULL,
  state        text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'leased', 'done')),
  attempts     int NOT NULL DEFAULT 0,
  worker       text,
  lease_until  timestamptz,
  UNIQUE (device, task, artefact));
CREATE INDEX IF NOT EXISTS job_open ON tcc_fleet.job (device, id) WHERE state <> 'done';
CREATE INDEX IF NOT EXISTS job_of_task ON tcc_fleet.job (device, task, id) WHERE state <> 'done';
CREATE INDEX IF NOT EXISTS job_leased ON tcc_fleet.job (worker) WHERE state = 'leased';
CREATE TABLE IF NOT EXISTS tcc_fleet.result(
  job     bigint PRIMARY KEY REFERENCES tcc_fleet.job,
  status  text NOT NULL,
  seconds float8 NOT NULL,
  spread  float8 NOT NULL,
  calls   bigint NOT NULL,
  error   float8 NOT NULL,
  canary  float8 NOT NULL,
  message text NOT NULL,
  worker  text NOT NULL,
  at      timestamptz NOT NULL DEFAULT now());
COMMIT;
)";

// Makes the roles of tuners and workers, which users become members of.
inline constexpr const char* kFleetRoles = R"(DO $$ BEGIN
  CREATE ROLE tcc_tuner NOLOGIN;
EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN
  CREATE ROLE tcc_worker NOLOGIN;
EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT USAGE ON SCHEMA tcc_fleet TO tcc_tuner, tcc_worker;
GRANT SELECT ON tcc_fleet.version, tcc_fleet.device TO tcc_tuner, tcc_worker;
GRANT INSERT ON tcc_fleet.blob, tcc_fleet.task TO tcc_tuner;
GRANT SELECT (id, device, task, artefact, wanted_until, state, lease_until),
      INSERT (device, task, artefact, stop_beyond, wanted_until), UPDATE (wanted_until)
   ON tcc_fleet.job TO tcc_tuner;
GRANT SELECT ON tcc_fleet.result TO tcc_tuner;
GRANT INSERT (text, protocol, ready) ON tcc_fleet.device TO tcc_worker;
GRANT SELECT ON tcc_fleet.blob, tcc_fleet.task, tcc_fleet.job TO tcc_worker;
GRANT UPDATE (state, attempts, worker, lease_until) ON tcc_fleet.job TO tcc_worker;
GRANT SELECT (job), INSERT (job, status, seconds, spread, calls, error, canary, message, worker)
   ON tcc_fleet.result TO tcc_worker;
)";

}  // namespace tcc
