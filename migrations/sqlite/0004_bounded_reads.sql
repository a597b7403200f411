-- Reads whose cost no longer grows with the table. Only indexes, a table and columns of our own are added,
-- so a service of the version before this one goes on working on the same database.

-- `live_window` finds a window: the runs of one series, tag and pipeline in order of date. `series` alone
-- leads a reference run, or one of a rare pipeline, past every other run of its series.
-- The other four answer a list of runs with one filter. Each ends with `run_date` so that a page needs no
-- sort. A list by architecture, distribution, class of hosts or success has no index of its own: few values
-- share all runs, and every index makes each upload dearer. The service examines a bounded number of runs there.
CREATE INDEX IF NOT EXISTS "live_window" ON "runs" ("workload", "branch", "arch", "distro", "tag", "pipeline", "run_date");
CREATE INDEX IF NOT EXISTS "of_workload" ON "runs" ("workload", "run_date");
CREATE INDEX IF NOT EXISTS "of_repo" ON "runs" ("repo", "run_date");
CREATE INDEX IF NOT EXISTS "of_branch" ON "runs" ("branch", "run_date");
CREATE INDEX IF NOT EXISTS "of_pipeline" ON "runs" ("pipeline", "run_date");

-- The reference runs, whose tag is not empty, once more: "any tag but the empty one" in order of date is
-- not a range of any index on `runs`. They are few beside the live runs. A row is written in the transaction
-- that writes its run. The columns are those of `runs`.
CREATE TABLE IF NOT EXISTS "reference_runs" (
  "run_id"   INTEGER NOT NULL PRIMARY KEY REFERENCES "runs" ("run_id"),
  "workload" TEXT    NOT NULL,
  "branch"   TEXT    NOT NULL,
  "arch"     TEXT    NOT NULL,
  "distro"   TEXT    NOT NULL,
  "tag"      TEXT    NOT NULL,
  "run_date" TEXT    NOT NULL
);

CREATE INDEX IF NOT EXISTS "reference_window" ON "reference_runs" ("workload", "branch", "arch", "distro", "run_date");
CREATE INDEX IF NOT EXISTS "reference_tag_window" ON "reference_runs" ("workload", "branch", "arch", "distro", "tag", "run_date");
CREATE INDEX IF NOT EXISTS "reference_tag" ON "reference_runs" ("tag", "run_date");

-- What the catalogue says of a metric, beside its name.
-- `run_id`, `run_date`, `value` and `wallclock` are those of the newest run that succeeded and has the metric.
-- They stand here so that a list of series searches no run. NULL: only failed runs have the metric.
-- `first_run_date` and `last_run_date` bound the dates of all runs that have it, failed ones included. They
-- may be wider than the runs are, when a run was replaced; they are never narrower. A window of a metric
-- that is measured no longer starts and ends there. NULL: nothing is known.
ALTER TABLE "series_metrics" ADD COLUMN "run_id" INTEGER NULL;
ALTER TABLE "series_metrics" ADD COLUMN "run_date" TEXT NULL;
ALTER TABLE "series_metrics" ADD COLUMN "value" TEXT NULL;
ALTER TABLE "series_metrics" ADD COLUMN "wallclock" BOOLEAN NULL;
ALTER TABLE "series_metrics" ADD COLUMN "first_run_date" TEXT NULL;
ALTER TABLE "series_metrics" ADD COLUMN "last_run_date" TEXT NULL;

-- Fills in what older versions left out. Each statement starts from what the one before it left, and may run
-- again while other services write: a newer run that they have entered stays.
INSERT OR IGNORE INTO "reference_runs" ("run_id", "workload", "branch", "arch", "distro", "tag", "run_date")
SELECT "run_id", "workload", "branch", "arch", "distro", "tag", "run_date"
FROM "runs"
WHERE "tag" <> '';

INSERT INTO "series_metrics"
  ("workload", "branch", "arch", "distro", "metric_key", "dim_key", "run_date", "first_run_date", "last_run_date")
SELECT "runs"."workload", "runs"."branch", "runs"."arch", "runs"."distro", "metrics"."metric_key", "metrics"."dim_key",
  MAX(CASE WHEN "runs"."succeeded" THEN "runs"."run_date" ELSE NULL END), MIN("runs"."run_date"), MAX("runs"."run_date")
FROM "runs"
INNER JOIN "metrics" ON "metrics"."run_id" = "runs"."run_id"
WHERE TRUE
GROUP BY "runs"."workload", "runs"."branch", "runs"."arch", "runs"."distro", "metrics"."metric_key", "metrics"."dim_key"
ON CONFLICT ("workload", "branch", "arch", "distro", "metric_key", "dim_key") DO UPDATE SET
  "run_date" = CASE WHEN "series_metrics"."run_date" IS NULL OR "excluded"."run_date" > "series_metrics"."run_date" THEN "excluded"."run_date" ELSE "series_metrics"."run_date" END,
  "first_run_date" = CASE WHEN "series_metrics"."first_run_date" IS NULL OR "excluded"."first_run_date" < "series_metrics"."first_run_date" THEN "excluded"."first_run_date" ELSE "series_metrics"."first_run_date" END,
  "last_run_date" = CASE WHEN "series_metrics"."last_run_date" IS NULL OR "excluded"."last_run_date" > "series_metrics"."last_run_date" THEN "excluded"."last_run_date" ELSE "series_metrics"."last_run_date" END;

UPDATE "series_metrics" SET "run_id" = (
  SELECT MAX("runs"."run_id")
  FROM "runs"
  INNER JOIN "metrics" ON "metrics"."run_id" = "runs"."run_id"
  WHERE "runs"."workload" = "series_metrics"."workload" AND "runs"."branch" = "series_metrics"."branch" AND "runs"."arch" = "series_metrics"."arch" AND "runs"."distro" = "series_metrics"."distro"
    AND "runs"."run_date" = "series_metrics"."run_date" AND "runs"."succeeded" = TRUE
    AND "metrics"."metric_key" = "series_metrics"."metric_key" AND "metrics"."dim_key" = "series_metrics"."dim_key")
WHERE "series_metrics"."run_date" IS NOT NULL;

UPDATE "series_metrics" SET "value" = (
  SELECT "metrics"."value" FROM "metrics"
  WHERE "metrics"."run_id" = "series_metrics"."run_id"
    AND "metrics"."metric_key" = "series_metrics"."metric_key" AND "metrics"."dim_key" = "series_metrics"."dim_key"), "wallclock" = (
  SELECT "metrics"."wallclock" FROM "metrics"
  WHERE "metrics"."run_id" = "series_metrics"."run_id"
    AND "metrics"."metric_key" = "series_metrics"."metric_key" AND "metrics"."dim_key" = "series_metrics"."dim_key")
WHERE "series_metrics"."run_id" IS NOT NULL;
