//! PathRecord: the ends and the properties of a path (IBA vol. 1, 15.2.5.16).

use ib_mad::Method;
use ib_sa::{PathComponents, PathRecord, Selector};
use ib_wire::{Gid, GidPrefix, Guid, Lid, Mtu, PKey, Rate};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure},
    case,
};

const PATH: &str = "IBA vol. 1, 15.2.5.16";
const SELECTOR: &str = "IBA vol. 1, 15.2.5.16 (selectors)";

pub(super) const CASES: &[Case] = &[
    case(
        "sa-171",
        "A path between two GIDs has their LIDs",
        PATH,
        |bench| {
            let path = path(bench)?;
            let (own, other) = (bench.own_info()?.lid(), bench.other_end()?.1.lid());
            ensure!(
                (path.slid(), path.dlid()) == (own, other),
                "SLID {}, DLID {}, expected {own} and {other}",
                path.slid(),
                path.dlid()
            );
            Ok(())
        },
    ),
    case(
        "sa-172",
        "A path between two LIDs has their GIDs",
        PATH,
        |bench| {
            let (own, other) = (bench.own_gid()?, bench.other_end()?);
            let mut template = PathRecord::default();
            template
                .set_slid(bench.own_info()?.lid())
                .set_dlid(other.1.lid())
                .set_numb_path(1);
            let mask = PathComponents::SLID | PathComponents::DLID | PathComponents::NUMB_PATH;
            let path: PathRecord = bench.good(Method::GET, &template, mask)?;
            ensure!(
                (path.sgid(), path.dgid()) == (own, other.0),
                "SGID {}, DGID {}",
                path.sgid(),
                path.dgid()
            );
            Ok(())
        },
    ),
    case(
        "sa-173",
        "A path's MTU is one that both ends take",
        PATH,
        |bench| {
            let mtu = path(bench)?.mtu();
            let (own, other) = (bench.own_info()?, bench.other_end()?.1);
            let most = own.neighbor_mtu().min(other.neighbor_mtu());
            ensure!(
                Mtu::MTU_256 <= mtu && mtu <= most,
                "MTU {mtu}, at most {most}"
            );
            Ok(())
        },
    ),
    case("sa-174", "A path's rate is a known one", PATH, |bench| {
        let rate = path(bench)?.rate().bits();
        ensure!((2..=24).contains(&rate), "rate {rate}");
        Ok(())
    }),
    case("sa-175", "A path's P_Key is not 0", PATH, |bench| {
        let key = path(bench)?.p_key();
        ensure!(key.base() != 0, "P_Key {key}");
        Ok(())
    }),
    case(
        "sa-176",
        "A path inside the subnet has hop limit 0 or 1",
        PATH,
        |bench| {
            let limit = path(bench)?.hop_limit();
            ensure!(limit <= 1, "hop limit {limit}");
            Ok(())
        },
    ),
    case(
        "sa-177",
        "A path has the selectors Exactly",
        PATH,
        |bench| {
            let path = path(bench)?;
            let selectors = [
                path.mtu_selector(),
                path.rate_selector(),
                path.packet_life_time_selector(),
            ];
            ensure!(
                selectors == [Selector::EXACTLY; 3],
                "selectors {selectors:?}"
            );
            Ok(())
        },
    ),
    case("sa-178", "NumbPath 1 gives one path", PATH, |bench| {
        let (own, other) = (bench.own_gid()?, bench.other_end()?.0);
        let mut template = PathRecord::default();
        template.set_sgid(own).set_dgid(other).set_numb_path(1);
        let mask = PathComponents::SGID | PathComponents::DGID | PathComponents::NUMB_PATH;
        let paths = bench.table(&template, mask)?;
        ensure!(paths.len() == 1, "{} paths", paths.len());
        Ok(())
    }),
    case(
        "sa-179",
        "There is no path to a GID that no port has",
        PATH,
        |bench| {
            let own = bench.own_gid()?;
            let nobody = Gid::new(own.prefix(), Guid(0x0123_4567_89ab_cdef));
            refuses(
                bench,
                |template| template.set_dgid(nobody),
                PathComponents::empty(),
            )
        },
    ),
    case(
        "sa-180",
        "There is no path to a GID of an unknown prefix",
        PATH,
        |bench| {
            let guid = bench.other_end()?.0.guid();
            refuses(
                bench,
                |template| template.set_dgid(Gid::new(GidPrefix(0xfec0_0000_0000_0777), guid)),
                PathComponents::empty(),
            )
        },
    ),
    case(
        "sa-181",
        "There is no path with an MTU greater than 4096",
        SELECTOR,
        |bench| {
            refuses(
                bench,
                |template| {
                    template
                        .set_mtu_selector(Selector::GREATER_THAN)
                        .set_mtu(Mtu::MTU_4096)
                },
                PathComponents::MTU_SELECTOR | PathComponents::MTU,
            )
        },
    ),
    case(
        "sa-182",
        "There is no path with an MTU less than 256",
        SELECTOR,
        |bench| {
            refuses(
                bench,
                |template| {
                    template
                        .set_mtu_selector(Selector::LESS_THAN)
                        .set_mtu(Mtu::MTU_256)
                },
                PathComponents::MTU_SELECTOR | PathComponents::MTU,
            )
        },
    ),
    case(
        "sa-183",
        "MTU exactly 256 gives a path of 256",
        SELECTOR,
        |bench| mtu_is(bench, Selector::EXACTLY, Mtu::MTU_256, Mtu::MTU_256),
    ),
    case(
        "sa-184",
        "MTU less than 512 gives a path of 256",
        SELECTOR,
        |bench| mtu_is(bench, Selector::LESS_THAN, Mtu::MTU_512, Mtu::MTU_256),
    ),
    case(
        "sa-185",
        "An MTU selector without its value is ignored",
        SELECTOR,
        |bench| {
            let plain = path(bench)?.mtu();
            let with = path_with(
                bench,
                |template| template.set_mtu_selector(Selector::GREATER_THAN),
                PathComponents::MTU_SELECTOR,
            )?;
            ensure!(
                with.mtu() == plain,
                "MTU {}, without the selector {plain}",
                with.mtu()
            );
            Ok(())
        },
    ),
    case(
        "sa-186",
        "There is no path with a rate less than the slowest",
        SELECTOR,
        |bench| {
            refuses(
                bench,
                |template| {
                    template
                        .set_rate_selector(Selector::LESS_THAN)
                        .set_rate(Rate(2))
                },
                PathComponents::RATE_SELECTOR | PathComponents::RATE,
            )
        },
    ),
    case(
        "sa-187",
        "There is no path with a P_Key that the ends do not share",
        PATH,
        |bench| {
            refuses(
                bench,
                |template| template.set_p_key(PKey(0x9234)),
                PathComponents::P_KEY,
            )
        },
    ),
    case(
        "sa-188",
        "A path with the P_Key that a path has is given out",
        PATH,
        |bench| {
            let key = path(bench)?.p_key();
            let again = path_with(
                bench,
                |template| template.set_p_key(key),
                PathComponents::P_KEY,
            )?;
            ensure!(
                again.p_key().base() == key.base(),
                "P_Key {}",
                again.p_key()
            );
            Ok(())
        },
    ),
    case(
        "sa-189",
        "There are paths from our port to every end port",
        PATH,
        |bench| {
            let mut template = PathRecord::default();
            template.set_sgid(bench.own_gid()?).set_numb_path(1);
            let paths = bench.table(&template, PathComponents::SGID | PathComponents::NUMB_PATH)?;
            let (_, info) = bench.other_end()?;
            ensure!(
                paths.iter().any(|path| path.dlid() == info.lid()),
                "none of {} paths leads to {}",
                paths.len(),
                info.lid()
            );
            Ok(())
        },
    ),
    case(
        "sa-190",
        "A reversible path is given out where it is asked for",
        PATH,
        |bench| {
            let path = path_with(
                bench,
                |template| template.set_reversible(true),
                PathComponents::REVERSIBLE,
            )?;
            ensure!(path.reversible(), "Reversible is 0");
            Ok(())
        },
    ),
    case(
        "sa-191",
        "There is no path to a LID that no port has",
        PATH,
        |bench| {
            let mut template = PathRecord::default();
            template
                .set_slid(bench.own_info()?.lid())
                .set_dlid(Lid(0xbffe))
                .set_numb_path(1);
            let mask = PathComponents::SLID | PathComponents::DLID | PathComponents::NUMB_PATH;
            let answer = bench.record(Method::GET, &template, mask)?;
            ensure!(answer.is_err(), "a path to LID 0xbffe");
            Ok(())
        },
    ),
];

const ENDS: PathComponents = PathComponents::SGID
    .union(PathComponents::DGID)
    .union(PathComponents::NUMB_PATH);

fn path(bench: &mut Bench<'_>) -> Result<PathRecord, Stop> {
    path_with(bench, |template| template, PathComponents::empty())
}

/// A template for paths from our port to the tested one, with a change.
fn template(
    bench: &mut Bench<'_>,
    change: impl FnOnce(&mut PathRecord) -> &mut PathRecord,
) -> Result<PathRecord, Stop> {
    let mut template = PathRecord::default();
    template
        .set_sgid(bench.own_gid()?)
        .set_dgid(bench.other_end()?.0)
        .set_numb_path(1);
    change(&mut template);
    Ok(template)
}

fn path_with(
    bench: &mut Bench<'_>,
    change: impl FnOnce(&mut PathRecord) -> &mut PathRecord,
    mask: PathComponents,
) -> Result<PathRecord, Stop> {
    let template = template(bench, change)?;
    bench.good(Method::GET, &template, ENDS | mask)
}

fn refuses(
    bench: &mut Bench<'_>,
    change: impl FnOnce(&mut PathRecord) -> &mut PathRecord,
    mask: PathComponents,
) -> Outcome {
    let template = template(bench, change)?;
    match bench.record(Method::GET, &template, ENDS | mask)? {
        Ok(path) => crate::conform::bench::fail(alloc::format!(
            "a path to LID {} with MTU {}, rate {} and P_Key {}",
            path.dlid(),
            path.mtu(),
            path.rate(),
            path.p_key()
        )),
        Err(status) => {
            ensure!(
                status.class_part() != 0,
                "status {status}, expected one of subnet administration"
            );
            Ok(())
        }
    }
}

fn mtu_is(bench: &mut Bench<'_>, selector: Selector, asked: Mtu, expected: Mtu) -> Outcome {
    let path = path_with(
        bench,
        |template| template.set_mtu_selector(selector).set_mtu(asked),
        PathComponents::MTU_SELECTOR | PathComponents::MTU,
    )?;
    ensure!(
        path.mtu() == expected,
        "MTU {}, expected {expected}",
        path.mtu()
    );
    Ok(())
}
