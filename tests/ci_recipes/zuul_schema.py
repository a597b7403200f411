"""Holds Zuul's job files to the schemas that Zuul itself reads them by, and to each other."""

import pathlib
import sys

import yaml
from zuul import configloader
from zuul.lib.yamlutil import EncryptedLoader

PARSERS = {
    "job": configloader.JobParser.schema,
    "project": configloader.ProjectParser(None).schema,
    "secret": configloader.SecretParser(None).schema,
}


def check(recipe):
    """Every item of every file in `zuul.d`."""
    items = {kind: [] for kind in PARSERS}
    for path in sorted((recipe / "zuul.d").glob("*.yaml")):
        for item in yaml.load(path.read_text(encoding="utf-8"), EncryptedLoader):
            ((kind, content),) = item.items()
            PARSERS[kind](content)
            items[kind].append(content)

    jobs = {job["name"]: job for job in items["job"]}
    secrets = {secret["name"] for secret in items["secret"]}
    for job in jobs.values():
        configloader.NodeSetParser(None).anon_schema(job["nodeset"])
        for stage in ("pre-run", "run", "post-run"):
            if stage in job:
                assert (recipe / job[stage]).is_file(), f"{job['name']}: {job[stage]} is not there"
        named = {secret["secret"] for secret in job.get("secrets", [])}
        assert named <= secrets, f"{job['name']}: {named - secrets} are not there"
        assert not named or job.get("post-review"), f"{job['name']} has secrets before review"

    (project,) = items["project"]
    for pipeline in ("check", "gate", "promote"):
        for name in project[pipeline]["jobs"]:
            assert name in jobs, f"{pipeline}: {name} is not there"
            assert pipeline == "promote" or not jobs[name].get("secrets"), f"{pipeline}: {name} has secrets"
    print(f"{len(jobs)} jobs, {len(secrets)} secret, 1 project")


check(pathlib.Path(sys.argv[1]))
