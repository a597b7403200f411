-- What is kept of a run beside the seed's columns, which stay as they are. One row for each run. A run that an
-- older version stored has none until it is voided, and reads as if all these columns were NULL.
--
-- `subject` is the first line of the commit's message. `parameters` is what the workload was told, as JSON in
-- canonical form, or NULL where there is none. `uploaded_by` and `token_id` are `sub` and `jti` of the token that
-- uploaded the run, at `uploaded_at`.
-- `voided_at` is NULL unless the run was taken back. A voided run has `runs.succeeded` = FALSE, so that no window
-- and no service of an older version counts it, and `voided_succeeded` keeps what it was before.
CREATE TABLE IF NOT EXISTS "run_details" (
  "run_id"           INTEGER NOT NULL PRIMARY KEY,
  "subject"          TEXT NULL,
  "parameters"       TEXT NULL,
  "uploaded_by"      TEXT NULL,
  "token_id"         TEXT NULL,
  "uploaded_at"      TEXT NULL,
  "voided_by"        TEXT NULL,
  "void_token_id"    TEXT NULL,
  "voided_at"        TEXT NULL,
  "void_reason"      TEXT NULL,
  "voided_succeeded" BOOLEAN NULL
);
