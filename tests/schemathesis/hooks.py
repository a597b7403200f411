"""What OpenAPI cannot say about a valid request. A request that is meant to be wrong goes out as it was made."""

import unicodedata

import schemathesis


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.path == "/metrics/latest":
        # The newest values are those of some series, not of all.
        case.query = dict(case.query or {})
        if not any(case.query.get(name) for name in ("repo", "workload", "branch", "arch", "distro")):
            case.query["repo"] = "project"
    if isinstance(case.query, dict):
        make_query_valid(case.query)
    if case.path == "/v1/runs" and case.method.upper() == "POST" and isinstance(case.body, dict):
        make_run_valid(case.body)


def make_query_valid(query):
    # A cursor is valid only as the service gave it, and with the parameters that it came with.
    query.pop("cursor", None)
    # A dimension needs a metric beside it.
    if not query.get("metric_key"):
        query.pop("dim_key", None)


def seen(value):
    """The value without characters that are not seen, which no name may hold."""
    if isinstance(value, str):
        text = "".join(c for c in value if unicodedata.category(c) not in ("Cf", "Zl", "Zp"))
        return value if text == value else text.strip() or "x"
    if isinstance(value, list):
        return [seen(item) for item in value]
    if isinstance(value, dict):
        return {seen(name): seen(item) for name, item in value.items()}
    return value


def make_run_valid(run):
    run.update({name: seen(value) for name, value in run.items()})
    # A run stands where its commit stands, which is not in the future.
    if isinstance(run.get("run_date"), str) and run["run_date"][:4] > "2025":
        run["run_date"] = "2025" + run["run_date"][4:].replace("-02-29", "-02-28")
    metrics = run.get("metrics")
    if not isinstance(metrics, list):
        return
    # A metric stands once.
    by_name = {(metric["metric_key"], metric.get("dim_key") or ""): metric for metric in metrics}
    run["metrics"] = list(by_name.values())
    # A run that succeeded has a metric.
    if not by_name:
        run["succeeded"] = False
