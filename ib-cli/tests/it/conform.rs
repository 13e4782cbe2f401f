//! `ib conform`: its cases, its results and its report for JUnit.

use crate::{
    common,
    served::{Fabric, document, keys, temporary},
};

#[test]
fn conformance_cases_are_listed_run_one_by_one_and_written_for_junit() {
    let list = document(&common::ib(&["conform", "sma", "--list", "--json"], ""), 0);
    let cases = list["cases"].as_array().unwrap();
    assert_eq!(keys(&cases[0]), ["id", "title", "source"]);
    let fabric = Fabric::start("gen-ring-5");
    let file = temporary("junit.xml");
    let path = file.to_str().unwrap();
    let wanted = ["sma-101", "sma-308"];
    let mut arguments = vec!["conform", "sma", "--junit", path];
    wanted
        .iter()
        .for_each(|id| arguments.extend(["--case", id]));
    let run = fabric.json(0, &arguments);
    let cases = run["cases"].as_array().unwrap();
    let results: Vec<_> = cases
        .iter()
        .map(|case| {
            (
                case["id"].as_str().unwrap(),
                case["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(results, [("sma-101", "pass"), ("sma-308", "skip")]);
    assert_eq!(
        keys(&cases[0]),
        ["id", "title", "source", "result", "message"]
    );
    let junit = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(
        junit.contains("tests=\"2\" failures=\"0\" skipped=\"1\""),
        "{junit}"
    );
    let unknown = fabric.run(&["conform", "sma", "--case", "sma-999"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_conformance_case_that_fails_is_status_1() {
    // The manager that brought the subnet up has ended, so no manager is the master.
    let fabric = Fabric::start("gen-line-2");
    let file = temporary("junit-failure.xml");
    let path = file.to_str().unwrap();
    let run = fabric.json(1, &["conform", "sm", "--case", "sm-107", "--junit", path]);
    assert_eq!(run["cases"][0]["result"], "fail", "{run}");
    let junit = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let expected = "<testcase classname=\"IBA vol. 1, 14.4.1\" name=\"sm-107 The subnet has one master\">\
                    <failure message=\"0 masters\"/></testcase>";
    assert!(junit.contains(expected), "{junit}");
}
