//! MCMemberRecord: joining, creating and leaving multicast groups (IBA vol. 1, 15.2.5.17).

use ib_mad::Method;
use ib_sa::{JoinState, McMemberComponents, McMemberRecord, Selector};
use ib_wire::{Gid, Guid, Mtu, PKey, QKey, Sl};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, fail},
    case,
};

const JOIN: &str = "IBA vol. 1, 15.2.5.17";

/// The group that the cases create: transient, link-local.
const GROUP: Gid = Gid([
    0xff, 0x12, 0xc0, 0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34,
]);
/// The group that every IPoIB port of the default partition joins.
const BROADCAST: Gid = Gid([
    0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
]);
const JOINING: McMemberComponents = McMemberComponents::MGID
    .union(McMemberComponents::PORT_GID)
    .union(McMemberComponents::JOIN_STATE);
const CREATING: McMemberComponents = JOINING
    .union(McMemberComponents::P_KEY)
    .union(McMemberComponents::Q_KEY)
    .union(McMemberComponents::SL)
    .union(McMemberComponents::FLOW_LABEL)
    .union(McMemberComponents::TCLASS);

pub(super) const CASES: &[Case] = &[
    case(
        "sa-201",
        "The IPoIB broadcast group of the default partition is there",
        "RFC 4391, 4; IBA vol. 1, 15.2.5.17",
        |bench| {
            bench
                .good::<McMemberRecord>(Method::GET, &named(BROADCAST), McMemberComponents::MGID)
                .map(|_| ())
        },
    ),
    case("sa-202", "A group has a multicast LID", JOIN, |bench| {
        joined(bench, |_, record| {
            ensure!(record.mlid().is_multicast(), "MLID {}", record.mlid());
            Ok(())
        })
    }),
    case(
        "sa-203",
        "The answer to a join shows group, member and join state",
        JOIN,
        |bench| {
            let own = bench.own_gid()?;
            joined_with(bench, JoinState::FULL_MEMBER, |_, record| {
                ensure!(
                    record.mgid() == GROUP && record.port_gid() == own,
                    "another group or member"
                );
                ensure!(
                    record.join_state() == JoinState::FULL_MEMBER,
                    "join state {:?}",
                    record.join_state()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-204",
        "The answer to a join shows P_Key, Q_Key and SL of the group",
        JOIN,
        |bench| {
            joined(bench, |_, record| {
                ensure!(record.p_key().base() == 0x7fff, "P_Key {}", record.p_key());
                ensure!(record.q_key() == QKey(0x1234), "another Q_Key");
                ensure!(record.sl() == Sl::ZERO, "SL {}", record.sl());
                Ok(())
            })
        },
    ),
    case(
        "sa-205",
        "A group that was created is found by its MGID",
        JOIN,
        |bench| {
            joined(bench, |bench, record| {
                let found: McMemberRecord =
                    bench.good(Method::GET, &named(GROUP), McMemberComponents::MGID)?;
                ensure!(
                    found.mlid() == record.mlid(),
                    "MLID {}, expected {}",
                    found.mlid(),
                    record.mlid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-206",
        "A group goes with its last full member",
        JOIN,
        |bench| {
            joined(bench, |_, _| Ok(()))?;
            bench.refused_with(
                Method::GET,
                &named(GROUP),
                McMemberComponents::MGID,
                &[0x0300],
            )
        },
    ),
    case(
        "sa-207",
        "A second join of the same member gives the same MLID",
        JOIN,
        |bench| {
            joined(bench, |bench, record| {
                let again = member(bench.own_gid()?);
                let again: McMemberRecord = bench.good(Method::SET, &again, CREATING)?;
                ensure!(
                    again.mlid() == record.mlid(),
                    "MLID {}, then {}",
                    record.mlid(),
                    again.mlid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-208",
        "Creation without a P_Key is refused with 0x0600",
        JOIN,
        |bench| lacks(bench, McMemberComponents::P_KEY),
    ),
    case(
        "sa-209",
        "Creation without a Q_Key is refused with 0x0600",
        JOIN,
        |bench| lacks(bench, McMemberComponents::Q_KEY),
    ),
    case(
        "sa-210",
        "Creation without an SL is refused with 0x0600",
        JOIN,
        |bench| lacks(bench, McMemberComponents::SL),
    ),
    case(
        "sa-211",
        "Creation without a FlowLabel is refused with 0x0600",
        JOIN,
        |bench| lacks(bench, McMemberComponents::FLOW_LABEL),
    ),
    case(
        "sa-212",
        "Creation without a TClass is refused with 0x0600",
        JOIN,
        |bench| lacks(bench, McMemberComponents::TCLASS),
    ),
    case(
        "sa-213",
        "A join without a JoinState is refused",
        JOIN,
        |bench| {
            refuses(
                bench,
                |record| record.set_join_state(JoinState::empty()),
                CREATING,
            )
        },
    ),
    case(
        "sa-214",
        "A NonMember does not create a group",
        JOIN,
        |bench| {
            refuses(
                bench,
                |record| record.set_join_state(JoinState::NON_MEMBER),
                CREATING,
            )
        },
    ),
    case(
        "sa-215",
        "A SendOnlyNonMember does not create a group",
        JOIN,
        |bench| {
            refuses(
                bench,
                |record| record.set_join_state(JoinState::SEND_ONLY_NON_MEMBER),
                CREATING,
            )
        },
    ),
    case("sa-216", "A unicast GID is no group", JOIN, |bench| {
        let own = bench.own_gid()?;
        refuses(bench, |record| record.set_mgid(own), CREATING)
    }),
    case(
        "sa-217",
        "A PortGID that no port has does not join",
        JOIN,
        |bench| {
            let prefix = bench.own_gid()?.prefix();
            refuses(
                bench,
                |record| record.set_port_gid(Gid::new(prefix, Guid(0x0123_4567_89ab_cdef))),
                CREATING,
            )
        },
    ),
    case(
        "sa-218",
        "A join with another Q_Key than the group's is refused",
        JOIN,
        |bench| {
            mismatch(
                bench,
                |record| record.set_q_key(QKey(0x4321)),
                McMemberComponents::Q_KEY,
            )
        },
    ),
    case(
        "sa-219",
        "A join with another P_Key than the group's is refused",
        JOIN,
        |bench| {
            mismatch(
                bench,
                |record| record.set_p_key(PKey(0x9234)),
                McMemberComponents::P_KEY,
            )
        },
    ),
    case(
        "sa-220",
        "A join that wants a greater MTU than any is refused",
        JOIN,
        |bench| {
            mismatch(
                bench,
                |record| {
                    record
                        .set_mtu_selector(Selector::GREATER_THAN)
                        .set_mtu(Mtu::MTU_4096)
                },
                McMemberComponents::MTU_SELECTOR | McMemberComponents::MTU,
            )
        },
    ),
    case(
        "sa-221",
        "Join states of one member are added",
        JOIN,
        |bench| {
            joined(bench, |bench, _| {
                let mut more = member(bench.own_gid()?);
                more.set_join_state(JoinState::NON_MEMBER);
                let record: McMemberRecord = bench.good(Method::SET, &more, JOINING)?;
                let both = JoinState::FULL_MEMBER | JoinState::NON_MEMBER;
                ensure!(
                    record.join_state() == both,
                    "join state {:?}",
                    record.join_state()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-222",
        "A Delete takes away the join states that it names",
        JOIN,
        |bench| {
            joined(bench, |bench, _| {
                let mut more = member(bench.own_gid()?);
                more.set_join_state(JoinState::NON_MEMBER);
                bench.good::<McMemberRecord>(Method::SET, &more, JOINING)?;
                bench.good::<McMemberRecord>(Method::DELETE, &more, JOINING)?;
                // The full member is still there, and so is the group.
                bench
                    .good::<McMemberRecord>(Method::GET, &named(GROUP), McMemberComponents::MGID)
                    .map(|_| ())
            })
        },
    ),
    case(
        "sa-223",
        "A Delete of who is no member is refused",
        JOIN,
        |bench| {
            let record = member(bench.own_gid()?);
            let answer = bench.record(Method::DELETE, &record, JOINING)?;
            ensure!(answer.is_err(), "the Delete is carried out");
            Ok(())
        },
    ),
    case(
        "sa-224",
        "A Delete is answered with DeleteResp",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let own = bench.own_gid()?;
            bench.good::<McMemberRecord>(Method::SET, &member(own), CREATING)?;
            let request = ib_sa::SaMad::query(Method::DELETE, &member(own), JOINING);
            let answer = bench.sa_answer(&request)?;
            ensure!(
                answer.method() == Method::DELETE_RESP,
                "method {}",
                answer.method()
            );
            Ok(())
        },
    ),
    case(
        "sa-225",
        "A group without an MGID gets one",
        JOIN,
        |bench| {
            let mut record = member(bench.own_gid()?);
            record.set_mgid(Gid([0; 16]));
            let made: McMemberRecord = bench.good(Method::SET, &record, CREATING)?;
            let mgid = made.mgid();
            record.set_mgid(mgid);
            let left = bench.record(Method::DELETE, &record, JOINING)?;
            ensure!(mgid.is_multicast(), "MGID {mgid}");
            ensure!(left.is_ok(), "the group cannot be left");
            Ok(())
        },
    ),
    case("sa-226", "Two groups have two MGIDs", JOIN, |bench| {
        joined(bench, |bench, _| {
            let mut other = member(bench.own_gid()?);
            let mut mgid = GROUP;
            mgid.0 = u128::from_be_bytes(mgid.0).wrapping_add(1).to_be_bytes();
            other.set_mgid(mgid);
            let made: McMemberRecord = bench.good(Method::SET, &other, CREATING)?;
            bench.good::<McMemberRecord>(Method::DELETE, &other, JOINING)?;
            ensure!(made.mgid() == mgid, "MGID {}", made.mgid());
            Ok(())
        })
    }),
];

fn named(mgid: Gid) -> McMemberRecord {
    let mut record = McMemberRecord::default();
    record.set_mgid(mgid);
    record
}

/// A record that creates the group, or joins it, as a full member.
fn member(own: Gid) -> McMemberRecord {
    let mut record = named(GROUP);
    record
        .set_port_gid(own)
        .set_p_key(PKey(0xffff))
        .set_q_key(QKey(0x1234))
        .set_join_state(JoinState::FULL_MEMBER);
    record
}

fn joined(bench: &mut Bench<'_>, body: fn(&mut Bench<'_>, &McMemberRecord) -> Outcome) -> Outcome {
    joined_with(bench, JoinState::FULL_MEMBER, body)
}

/// Creates the group, runs the body, and leaves the group.
fn joined_with(
    bench: &mut Bench<'_>,
    state: JoinState,
    body: impl FnOnce(&mut Bench<'_>, &McMemberRecord) -> Outcome,
) -> Outcome {
    let mut record = member(bench.own_gid()?);
    record.set_join_state(state);
    let made = bench.good(Method::SET, &record, CREATING)?;
    let outcome = body(bench, &made);
    let left = bench.record(Method::DELETE, &record, JOINING)?;
    outcome?;
    match left {
        Ok(_) => Ok(()),
        Err(status) => fail(alloc::format!("the group cannot be left: status {status}")),
    }
}

fn lacks(bench: &mut Bench<'_>, component: McMemberComponents) -> Outcome {
    let record = member(bench.own_gid()?);
    let mask = CREATING.difference(component);
    let answer = bench.record(Method::SET, &record, mask)?;
    judge(bench, &record, answer, &[0x0600])
}

fn refuses(
    bench: &mut Bench<'_>,
    change: impl FnOnce(&mut McMemberRecord) -> &mut McMemberRecord,
    mask: McMemberComponents,
) -> Outcome {
    let mut record = member(bench.own_gid()?);
    change(&mut record);
    let answer = bench.record(Method::SET, &record, mask)?;
    judge(bench, &record, answer, &[0x0200, 0x0500])
}

/// Judges a join with a value that differs from the group's.
fn mismatch(
    bench: &mut Bench<'_>,
    change: fn(&mut McMemberRecord) -> &mut McMemberRecord,
    component: McMemberComponents,
) -> Outcome {
    joined_with(bench, JoinState::FULL_MEMBER, |bench, _| {
        let mut record = member(bench.own_gid()?);
        change(&mut record);
        match bench.record(Method::SET, &record, JOINING | component)? {
            Ok(_) => fail("the join is carried out"),
            Err(status) => {
                ensure!(status.0 == 0x0200, "status {status}, expected 0x0200");
                Ok(())
            }
        }
    })
}

/// Judges a refusal. If the group was created nevertheless, it is left again.
fn judge(
    bench: &mut Bench<'_>,
    record: &McMemberRecord,
    answer: Result<McMemberRecord, ib_mad::MadStatus>,
    expected: &[u16],
) -> Outcome {
    match answer {
        Ok(made) => {
            let mut leave = *record;
            leave
                .set_mgid(made.mgid())
                .set_join_state(made.join_state());
            match bench.record(Method::DELETE, &leave, JOINING)? {
                Ok(_) => fail("the request is carried out"),
                Err(_) => fail("the request is carried out, and the group cannot be left"),
            }
        }
        Err(status) => {
            ensure!(
                expected.contains(&status.0),
                "status {status}, expected {expected:#06x?}"
            );
            Ok(())
        }
    }
}
