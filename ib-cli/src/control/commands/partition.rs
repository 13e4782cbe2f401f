//! `partition`: partitions of a running manager, until the configuration is read again.

use ib_mad::Instant;
use ib_sm::{MemberKind, Membership, Partition, Partitions, SubnetManager};
use ib_wire::Guid;
use serde_json::{Value, json};

use super::Reply;
use crate::output::{stderr::printable, table::Table};

const USAGE: &str =
    "expected `partition`, `partition add RULE`, `partition remove NAME|P_KEY [PORT_GUID]`";

pub(super) fn answer(sm: &mut SubnetManager, now: Instant, values: &str) -> Reply {
    let (word, rest) = values
        .split_once(char::is_whitespace)
        .unwrap_or((values, ""));
    let rest = rest.trim();
    match (word, rest) {
        ("" | "list", "") => list(&sm.config().partitions),
        ("add", rule) if !rule.is_empty() => add(sm, now, rule),
        ("remove", what) if !what.is_empty() => remove(sm, now, what),
        _ => Reply::refused(USAGE),
    }
}

/// Adds a rule as `partitions.conf` has it; the semicolon at its end may be left out, as shells take it for theirs.
fn add(sm: &mut SubnetManager, now: Instant, rule: &str) -> Reply {
    let rule = rule.trim_end_matches([';', ' ']);
    match sm.config().partitions.with_rules(&format!("{rule};")) {
        Ok(partitions) => change(sm, now, partitions),
        Err(error) => Reply::refused(format_args!(
            "`{}`, expected {}",
            error.found, error.expected
        )),
    }
}

fn remove(sm: &mut SubnetManager, now: Instant, what: &str) -> Reply {
    let partitions = &sm.config().partitions;
    let mut words = what.split_whitespace();
    let (name, member, None) = (words.next().unwrap_or_default(), words.next(), words.next())
    else {
        return Reply::refused(USAGE);
    };
    let Some(partition) = partitions.find(name) else {
        return Reply::refused(format_args!("there is no partition `{}`", printable(name)));
    };
    let base = partition.base;
    match member.map(str::parse::<Guid>) {
        None => match partitions.without(base) {
            Some(rest) => change(sm, now, rest),
            None => Reply::refused("the default partition always exists"),
        },
        Some(Ok(guid)) => match partitions.without_member(base, guid) {
            Some(rest) => change(sm, now, rest),
            None => Reply::refused(format_args!(
                "no rule of this partition names the port {guid}"
            )),
        },
        Some(Err(_)) => Reply::refused(USAGE),
    }
}

fn change(sm: &mut SubnetManager, now: Instant, partitions: Partitions) -> Reply {
    if partitions == sm.config().partitions {
        return Reply::said("nothing changes");
    }
    sm.set_partitions(now, partitions);
    Reply::said(
        "the partitions are written; put the rule into partitions.conf to keep it beyond a reload",
    )
}

fn list(partitions: &Partitions) -> Reply {
    let mut table = Table::new(["P_Key", "name", "IPoIB", "members"]);
    let mut documents = Vec::new();
    for partition in partitions.iter() {
        let members = members(partition);
        let key = format!("{:#06x}", partition.base);
        let words = members.iter().map(|(who, how)| format!("{who}={how}"));
        table.row([
            key.clone(),
            printable(&partition.name),
            if partition.ipoib.is_some() {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
            words.collect::<Vec<_>>().join(", "),
        ]);
        let members = members
            .iter()
            .map(|(who, how)| json!({ "member": who, "membership": how }));
        documents.push(json!({
            "p_key": partition.base, "name": partition.name, "ipoib": partition.ipoib.is_some(),
            "members": members.collect::<Vec<Value>>(),
        }));
    }
    Reply::table(&table, documents.into())
}

/// The members with the words of `partitions.conf`.
fn members(partition: &Partition) -> Vec<(String, &'static str)> {
    let how = |membership| match membership {
        Membership::Limited => "limited",
        Membership::Full => "full",
        Membership::Both => "both",
    };
    let kinds = partition.kinds.iter().map(|(kind, ranked)| {
        let kind = match kind {
            MemberKind::All => "ALL",
            MemberKind::Cas => "ALL_CAS",
            MemberKind::Switches => "ALL_SWITCHES",
            MemberKind::Routers => "ALL_ROUTERS",
            MemberKind::Own => "SELF",
        };
        (kind.to_owned(), how(ranked.membership))
    });
    let ports = partition.ports.iter().flat_map(|(guid, memberships)| {
        let each = memberships.iter();
        each.map(move |ranked| (guid.to_string(), how(ranked.membership)))
    });
    kinds.chain(ports).collect()
}
