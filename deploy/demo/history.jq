# Makes the runs of the demo out of two recorded measurements: one run a line, as `perf-tracking backfill` reads them.
#
# `primes.json` and `startup.json` are what `perf-tracking measure` wrote for deploy/ci/sample/sample.c, once as it
# stands and once with ROUNDS = 1. Everything else is scripted below: sixty commits, what each did to which metric, and
# a small difference from commit to commit that stands for all the edits that do not matter.
#
# Given: $primes and $startup, the documents; $until, the date of the newest commit in seconds since 1970.

# What commits did, from that commit on: `metric` is a pattern, `by` is a factor. `every` is the factor of each single
# commit, up to and including `last`: a drift. `on` is a pattern of "workload arch"; left out, it means all.
def effects: [
  {commit: 11, metric: "callgrind.(ir|estimated_cycles)", by: 0.912},
  {commit: 18, metric: "massif.*", by: 1.31},
  {commit: 24, metric: "callgrind.(ir|estimated_cycles|branch_mispredicts)", by: 1.074, on: "primes .*"},
  {commit: 25, metric: "massif.*", by: 0.71},
  {commit: 32, metric: "callgrind.(ir|estimated_cycles|branch_mispredicts)", by: 0.936, on: "primes .*"},
  {commit: 33, metric: "size.*", by: 1.12},
  {commit: 38, last: 60, metric: "callgrind.(ir|estimated_cycles)", every: 1.009, on: "startup .*"},
  {commit: 44, metric: "callgrind.l[1l]c?_misses", by: 1.22, on: "primes .*"},
  {commit: 51, metric: "callgrind.(ir|estimated_cycles)", by: 0.948, on: "primes .*"},
  {commit: 56, metric: "callgrind.(ir|estimated_cycles|branch_mispredicts)", by: 1.038, on: "primes amd64"}
];

# The subject lines; a commit that is not named here tidied something up.
def subjects: {
  "11": "Mark multiples from the square on",
  "18": "Keep the factors for later questions",
  "24": "Check the bounds of every access",
  "25": "Free the factors that nobody asks for",
  "32": "Check the bounds once a row",
  "33": "Add a usage text",
  "38": "Read the settings from a file at the start",
  "44": "Store one number a byte, for simplicity",
  "51": "Skip even numbers",
  "56": "Count with 64 bits <on every machine> & \"for ever\""
};
def tidied: ["Rename variables", "Correct a comment", "Split a long function", "Sort the headers", "Add a test", "Shorten a message"];

# Releases: reference runs under the name of the release.
def releases: {"15": "1.0", "31": "1.1", "49": "2.0"};

# The measuring image moved from bookworm to trixie; both measured the commits in between. Another compiler makes
# another program, so its numbers are a series of their own.
def distros: [
  {distro: "bookworm", first: 1, last: 36, factors: {}},
  {distro: "trixie", first: 33, last: 60, factors: {"callgrind": 0.981, "size": 1.034}}
];

# Only amd64 was measured. The numbers of arm64 are made up from them by these factors.
def arches: [
  {arch: "amd64", first: 1, factors: {}},
  {arch: "arm64", first: 21, factors: {"callgrind": 1.087, "size": 1.21}}
];

# Commit 42 has a run that failed. A run of commit 47 was measured on a broken host; the script `store` takes it back.
def failed: 42;
def broken_host: 47;

# A number from 0 to 1 that looks random, the same at each call for the same text (a hash of djb2's kind).
def noise: explode | reduce .[] as $c (5381; (. * 33 + $c) % 2147483648) | (. * 16807 % 2147483647) | (. * 48271 % 2147483647) / 2147483647;

# Digits of a commit's name, made from its number.
def sha: . as $n | [range(5)] | map("\($n) \(.)" | noise * 4294967295 | floor | [., 8] |
    [range(8) as $at | (.[0] / pow(16; $at) | floor % 16)] | map("0123456789abcdef"[.:. + 1]) | join("")) | join("");

def matches($pattern): test("^(" + $pattern + ")$");

def change($commit; $key; $place):
  reduce (effects[] | . as $effect | select($commit >= $effect.commit)
      | select($key | matches($effect.metric)) | select($place | matches($effect.on // ".*"))) as $effect
    (1; . * ($effect.by // pow($effect.every; ([$commit, $effect.last] | min) - $effect.commit + 1)));

# How far a metric moves for no reason, as a share of its value. Sizes, heaps and atomic operations repeat to the bit.
def unrest: {"callgrind.ir": 0.0006, "callgrind.estimated_cycles": 0.0009, "callgrind.branch_mispredicts": 0.006,
    "callgrind.l1_misses": 0.008, "callgrind.llc_misses": 0.004};

def value($commit; $workload; $arch; $distro):
  .metric_key as $key
  | ($key | split(".")[0]) as $tool
  | "\($workload) \($arch.arch)" as $place
  | ("\($commit) \($key) \($place) \($distro.distro)" | noise - 0.5) as $unrest
  | (.value * change($commit; $key; $place) * ($arch.factors[$tool] // 1) * ($distro.factors[$tool] // 1)
      * (1 + $unrest * (unrest[$key] // 0))
      * (if $commit == broken_host and $workload == "primes" and $arch.arch == "amd64" and $tool == "callgrind" then 1.6 else 1 end))
  | round;

# Two days and a half between commits, on no round hour.
def date($commit): $until - (60 - $commit) * 216000 - ("date \($commit)" | noise * 36000 | floor) * (if $commit == 60 then 0 else 1 end);

def run($document; $commit; $arch; $distro; $tag):
  ($commit == failed and $arch.arch == "amd64" and $document.workload == "primes" and $tag == "") as $failed
  | {
      workload: $document.workload, branch: "main", arch: $arch.arch, distro: $distro.distro, repo: "demo/sample",
      commit_sha: ($commit | sha), change: "\(100 + $commit)", pipeline: "promote", host_class: $document.host_class,
      tag: $tag, run_date: (date($commit) | todate),
      subject: (subjects["\($commit)"] // tidied[$commit % (tidied | length)]),
      parameters: {rounds: (if $document.workload == "startup" then 1 else 100 end)},
      succeeded: ($failed | not),
      metrics: (if $failed then [] else [$document.metrics[] | .value = value($commit; $document.workload; $arch; $distro)] end)
    };

range(1; 61) as $commit
| ($primes[0], $startup[0]) as $document
| arches[] as $arch | select($commit >= $arch.first)
| distros[] as $distro | select($commit >= $distro.first and $commit <= $distro.last)
| run($document; $commit; $arch; $distro; ("", (releases["\($commit)"] // empty)))
