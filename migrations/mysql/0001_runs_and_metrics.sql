-- Text compares byte for byte: commits, branches and metrics are names, not prose. Every statement
-- here may run twice, for DDL does not roll back and several services may start at once.

-- `change` is a reserved word. `tag` is never NULL, so that it can stand in the unique key. `series`
-- serves the window: its four columns are held equal and `run_date` is read backwards; the primary
-- key, which every secondary index carries, breaks ties.
CREATE TABLE IF NOT EXISTS `runs` (
  `run_id`     BIGINT       NOT NULL AUTO_INCREMENT,
  `workload`   VARCHAR(40)  NOT NULL,
  `repo`       VARCHAR(80)  NOT NULL,
  `branch`     VARCHAR(120) NOT NULL,
  `commit_sha` CHAR(40)     NOT NULL,
  `change`     VARCHAR(40)  NULL,
  `patchset`   VARCHAR(20)  NULL,
  `pipeline`   VARCHAR(40)  NOT NULL,
  `distro`     VARCHAR(40)  NOT NULL,
  `arch`       VARCHAR(20)  NOT NULL,
  `host_class` VARCHAR(40)  NOT NULL,
  `tag`        VARCHAR(80)  NOT NULL DEFAULT '',
  `run_date`   DATETIME     NOT NULL,
  `succeeded`  BOOLEAN      NOT NULL,
  PRIMARY KEY (`run_id`),
  UNIQUE KEY `ident` (`commit_sha`, `workload`, `branch`, `arch`, `distro`, `tag`),
  KEY `series` (`workload`, `branch`, `arch`, `distro`, `run_date`),
  KEY `recent` (`run_date`)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The key order is that of every read: the metrics of one run, or one metric of many runs.
CREATE TABLE IF NOT EXISTS `metrics` (
  `run_id`     BIGINT        NOT NULL,
  `metric_key` VARCHAR(80)   NOT NULL,
  `dim_key`    VARCHAR(120)  NOT NULL DEFAULT '',
  `value`      DECIMAL(20,4) NOT NULL,
  `wallclock`  BOOLEAN       NOT NULL DEFAULT FALSE,
  PRIMARY KEY (`run_id`, `metric_key`, `dim_key`),
  CONSTRAINT `metrics_of_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`run_id`)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
