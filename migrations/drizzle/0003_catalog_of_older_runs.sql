-- Runs that were stored before there was a catalog are entered in it. A row that is there already is
-- right: whoever wrote it also counted, and may be serving while this runs again.

INSERT IGNORE INTO `series_repos` (`workload`, `branch`, `arch`, `distro`, `repo`, `run_count`)
SELECT `workload`, `branch`, `arch`, `distro`, `repo`, COUNT(*)
FROM `runs`
GROUP BY `workload`, `branch`, `arch`, `distro`, `repo`;

INSERT IGNORE INTO `series_metrics` (`workload`, `branch`, `arch`, `distro`, `metric_key`, `dim_key`)
SELECT DISTINCT `runs`.`workload`, `runs`.`branch`, `runs`.`arch`, `runs`.`distro`, `metrics`.`metric_key`, `metrics`.`dim_key`
FROM `runs`
INNER JOIN `metrics` ON `metrics`.`run_id` = `runs`.`run_id`;
