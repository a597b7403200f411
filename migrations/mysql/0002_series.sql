-- What would otherwise take a scan of every run: which series there are, with how many runs of
-- which repository, and which metrics a series ever had. Both are written in the transaction that
-- writes the run, so they never tell of another state than `runs` and `metrics` do.

CREATE TABLE IF NOT EXISTS `series_repos` (
  `workload`  VARCHAR(40)  NOT NULL,
  `branch`    VARCHAR(120) NOT NULL,
  `arch`      VARCHAR(20)  NOT NULL,
  `distro`    VARCHAR(40)  NOT NULL,
  `repo`      VARCHAR(80)  NOT NULL,
  `run_count` BIGINT       NOT NULL,
  PRIMARY KEY (`workload`, `branch`, `arch`, `distro`, `repo`)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Rows are only ever added: a metric that a series once had stays one that can be asked for.
CREATE TABLE IF NOT EXISTS `series_metrics` (
  `workload`   VARCHAR(40)  NOT NULL,
  `branch`     VARCHAR(120) NOT NULL,
  `arch`       VARCHAR(20)  NOT NULL,
  `distro`     VARCHAR(40)  NOT NULL,
  `metric_key` VARCHAR(80)  NOT NULL,
  `dim_key`    VARCHAR(120) NOT NULL,
  PRIMARY KEY (`workload`, `branch`, `arch`, `distro`, `metric_key`, `dim_key`)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
