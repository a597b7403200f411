-- What would otherwise take a scan of every run: which series there are, with how many runs of
-- which repository, and which metrics a series ever had. Both are written in the transaction that
-- writes the run, so they never tell of another state than `runs` and `metrics` do.

-- Not `series`, which is the name of an index.
CREATE TABLE IF NOT EXISTS "series_repos" (
  "workload"  TEXT    NOT NULL,
  "branch"    TEXT    NOT NULL,
  "arch"      TEXT    NOT NULL,
  "distro"    TEXT    NOT NULL,
  "repo"      TEXT    NOT NULL,
  "run_count" INTEGER NOT NULL,
  PRIMARY KEY ("workload", "branch", "arch", "distro", "repo")
) WITHOUT ROWID;

-- Rows are only ever added: a metric that a series once had stays one that can be asked for.
CREATE TABLE IF NOT EXISTS "series_metrics" (
  "workload"   TEXT NOT NULL,
  "branch"     TEXT NOT NULL,
  "arch"       TEXT NOT NULL,
  "distro"     TEXT NOT NULL,
  "metric_key" TEXT NOT NULL,
  "dim_key"    TEXT NOT NULL,
  PRIMARY KEY ("workload", "branch", "arch", "distro", "metric_key", "dim_key")
) WITHOUT ROWID;
