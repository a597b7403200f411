use super::*;

/// The committed example, with what each key means.
const EXAMPLE: &str = include_str!("../../../deploy/measure/contract.toml");

fn faults(text: &str) -> Vec<String> {
    let faults = Contract::parse(text).expect_err("the text does not fit");
    faults.lines().collect()
}

/// The least that a contract says, with `from` in it replaced.
fn least(from: &str, to: &str) -> String {
    let text = "\
workload = \"perf\"
distro = \"trixie\"
[server]
image = \"mariadb:11.8\"
program = \"mariadbd\"
[load]
script = \"oltp_read_write\"
threads = 1
events = 100
tables = 1
table_size = 1000
";
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn the_example_says_what_it_comments_out() {
    let example = Contract::parse(EXAMPLE).unwrap();
    let is_setting = |line: &&str| line.contains(" = ") && !line.contains("perf-tracking measure ");
    let mut images = String::new();
    let whole: String = EXAMPLE
        .lines()
        .filter_map(|line| match line.strip_prefix("# ") {
            Some(setting) if is_setting(&setting) || setting == "[images]" => Some(setting),
            Some(_) => None,
            None => Some(line),
        })
        .map(|line| {
            images.push_str(line);
            format!("{line}\n")
        })
        .collect();
    assert!(images.contains("ready_seconds") && images.contains("[images]"));
    let mut whole = Contract::parse(&whole).unwrap_or_else(|faults| panic!("{faults:?}\n{whole}"));
    assert_eq!(whole.engine.take(), Some(Engine::Docker));
    assert_eq!(whole, example);
}

#[test]
fn what_is_left_out_has_a_default() {
    let contract = Contract::parse(&least("", "")).unwrap();
    assert_eq!(contract.count, Count::Load);
    assert_eq!(contract.engine, None);
    assert!(!contract.count_waits);
    assert_eq!(contract.host_class.to_string(), "callgrind");
    assert_eq!(contract.sizes, None);
    assert_eq!(contract.images, Images::default());
    assert_eq!(contract.server.ready, Duration::from_secs(900));
    assert_eq!(
        (contract.load.seed, contract.load.prepared_statements),
        (1, true)
    );
}

#[test]
fn all_that_makes_the_number_but_the_server_stands_in_the_document() {
    let contract = Contract::parse(&least(
        "1000",
        "2000\nseed = 7\nprepared_statements = false",
    ));
    let document = contract.unwrap().document("amd64".parse().unwrap());
    assert_eq!(
        serde_json::to_string(&document.parameters).unwrap(),
        r#"{"count":"load","events":100,"prepared_statements":false,"script":"oltp_read_write","seed":7,"table_size":2000,"tables":1,"threads":1}"#
    );
    assert!(!document.succeeded);
}

#[test]
fn the_wall_clock_pass_has_a_host_class_and_a_load_of_its_own() {
    let with = |table: &str| Contract::parse(&(least("", "") + "[wallclock]\n" + table));
    let arch = || "amd64".parse().unwrap();
    let none = Contract::parse(&least("", "")).unwrap();
    assert!(none.wall_clock_document(arch()).is_none());
    let contract = with("host_class = \"lab\"\nthreads = 4").unwrap();
    let document = contract.wall_clock_document(arch()).unwrap();
    assert_eq!(document.host_class.to_string(), "lab");
    assert_eq!(
        serde_json::to_string(&document.parameters).unwrap(),
        r#"{"events":100,"prepared_statements":true,"script":"oltp_read_write","seed":1,"table_size":1000,"tables":1,"threads":4}"#
    );
    let faults = with("host_class = \"callgrind\"").unwrap_err();
    let fault = faults.lines().next().unwrap().to_string();
    assert!(
        fault.contains("must not be that of the counted numbers"),
        "{fault}"
    );
}

#[test]
fn every_fault_is_told_with_its_place() {
    assert_eq!(
        faults(
            "workload = \"\"\nspeed = 1\ncount = \"all\"\n[server]\nimage = \"-v\"\nprogram = \"postgres\"\n\
             [load]\nscript = \"a b\"\nthreads = 0\nevents = \"1\"\ntable_size = 1.5\nseed = 0\n\
             [sizes]\nbinary = \"sbin/x\"\nplugins = \"/x/$(y)\"\n[images]\nserver = \"x\"\n"
        ),
        [
            "1:1: `distro` is missing",
            "1:12: `workload` must not be empty",
            "2:1: `speed` is no key of this table; it knows compose, count, count_waits, distro, engine, host_class, images, load, server, sizes, wallclock, workload",
            "3:9: `count` must be \"load\" or \"process\"",
            "5:9: `image` must be the name of an image, such as docker.io/library/mariadb:11.8",
            "6:11: `program` must be \"mariadbd\" or \"mysqld\" or \"drizzled\"",
            "7:1: `tables` is missing",
            "8:10: `script` must be a script of sysbench, such as oltp_read_write",
            "9:11: `threads` must be a whole number from 1 to 1000000000",
            "10:10: `events` must be a whole number from 1 to 1000000000",
            "11:14: `table_size` must be a whole number from 1 to 1000000000",
            "12:8: `seed` must be a whole number from 1 to 1000000000",
            "14:10: `binary` must be a file of the server's image, such as /usr/sbin/mariadbd",
            "15:11: `plugins` must be a pattern of files of the server's image, such as /usr/lib/mysql/plugin/*.so",
            "17:1: `server` is no key of this table; it knows callgrind, load, massif",
        ]
    );
}

#[test]
fn drizzle_has_neither_prepared_statements_nor_counts_of_waits() {
    let drizzle = |more: &str| least("\"mariadbd\"", "\"drizzled\"") + more;
    let contract = Contract::parse(&drizzle("")).unwrap();
    assert!(!contract.load.prepared_statements);
    let text = format!(
        "count_waits = true\n{}",
        drizzle("prepared_statements = true\n")
    );
    let faults = faults(&text).join("\n");
    assert!(
        faults.contains("`prepared_statements` must be false: Drizzle has no prepared"),
        "{faults}"
    );
    assert!(faults.contains("`count_waits` must be false"), "{faults}");
}

#[test]
fn options_of_the_server_are_words_and_make_the_numbers() {
    let options = |options: &str| {
        let program = "program = \"mariadbd\"";
        Contract::parse(&least(program, &format!("{program}\noptions = {options}")))
    };
    let contract = options(r#"["--plugin-remove=a", "--innodb.x=1"]"#).unwrap();
    let parameters = serde_json::to_string(&contract.parameters()).unwrap();
    assert!(
        parameters.contains(r#""server_options":"--plugin-remove=a --innodb.x=1""#),
        "{parameters}"
    );
    for wrong in [
        r#"["x"]"#,
        r#"["--a b"]"#,
        r#"["--a=$(b)"]"#,
        r#"["--"]"#,
        "1",
    ] {
        assert!(options(wrong).is_err(), "{wrong}");
    }
    let root = least("[server]", "[server]\nuser = \"root\"");
    assert!(faults(&root)[0].contains("other than root"));
}

#[test]
fn what_is_missing_is_told_at_once() {
    assert_eq!(
        faults(""),
        [
            "1:1: `distro` is missing",
            "1:1: `load` is missing",
            "1:1: `server` is missing",
            "1:1: `workload` is missing",
        ]
    );
    assert_eq!(faults("x = [")[0].split(':').next(), Some("1"));
}

#[test]
fn a_table_that_is_none_is_a_fault() {
    let text = least(
        "[server]\nimage = \"mariadb:11.8\"\nprogram = \"mariadbd\"\n",
        "server = 1\n",
    );
    assert_eq!(
        faults(&text),
        ["3:10: `server` must be a table, is a number"]
    );
    let text = least("[server]", "[sizes]\n[server]");
    assert_eq!(faults(&text), ["3:1: `binary` is missing"]);
}
