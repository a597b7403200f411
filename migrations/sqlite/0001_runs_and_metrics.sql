-- Text compares byte for byte, which is SQLite's own rule. Lengths are held by the service.

-- `tag` is never NULL, so that it can stand in the unique key. `run_date` is UTC as
-- `YYYY-MM-DD HH:MM:SS`, whose order as text is that of time. AUTOINCREMENT never gives an id twice.
CREATE TABLE IF NOT EXISTS "runs" (
  "run_id"     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  "workload"   TEXT    NOT NULL,
  "repo"       TEXT    NOT NULL,
  "branch"     TEXT    NOT NULL,
  "commit_sha" TEXT    NOT NULL,
  "change"     TEXT    NULL,
  "patchset"   TEXT    NULL,
  "pipeline"   TEXT    NOT NULL,
  "distro"     TEXT    NOT NULL,
  "arch"       TEXT    NOT NULL,
  "host_class" TEXT    NOT NULL,
  "tag"        TEXT    NOT NULL DEFAULT '',
  "run_date"   TEXT    NOT NULL,
  "succeeded"  BOOLEAN NOT NULL,
  CONSTRAINT "ident" UNIQUE ("commit_sha", "workload", "branch", "arch", "distro", "tag")
);

-- Serves the window: four columns are held equal, `run_date` is read backwards, and the row's id,
-- which every index carries, breaks ties.
CREATE INDEX IF NOT EXISTS "series" ON "runs" ("workload", "branch", "arch", "distro", "run_date");

CREATE INDEX IF NOT EXISTS "recent" ON "runs" ("run_date");

-- `value` is the decimal as text: SQLite's own numbers are floats, which are not exact.
CREATE TABLE IF NOT EXISTS "metrics" (
  "run_id"     INTEGER NOT NULL REFERENCES "runs" ("run_id"),
  "metric_key" TEXT    NOT NULL,
  "dim_key"    TEXT    NOT NULL DEFAULT '',
  "value"      TEXT    NOT NULL,
  "wallclock"  BOOLEAN NOT NULL DEFAULT FALSE,
  PRIMARY KEY ("run_id", "metric_key", "dim_key")
) WITHOUT ROWID;
