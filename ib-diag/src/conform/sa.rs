//! Cases for a subnet administrator: answers, records, paths, groups, services, reports, transfers.

mod answers;
mod groups;
mod paths;
mod query;
mod records;
mod reports;
mod segments;
mod services;
mod transfer;
mod transfer_errors;

use super::Case;

pub(super) const FILES: &[&[Case]] = &[
    answers::CASES,
    records::CASES,
    paths::CASES,
    groups::CASES,
    services::CASES,
    reports::CASES,
    transfer::CASES,
    transfer_errors::CASES,
];
