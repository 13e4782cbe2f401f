//! A shared routing engine: cheap to copy, compared by name, parsed from text.

use alloc::sync::Arc;
use core::{fmt, ops::Deref, str::FromStr};

use super::{ALL, AUTO, Guarantees, RoutingEngine, by_name};
use crate::{
    algo::parallel, error::RouteError, fabric::Fabric, lid::LidMap, options::RouteOptions,
    routes::Routes, verify::VerifyReport,
};

/// A routing engine that is copied cheaply: a built-in one, or one from outside this crate.
///
/// Two of them are equal if their names are. The default is [`AUTO`].
#[derive(Clone)]
pub struct SharedEngine(Source);

#[derive(Clone)]
enum Source {
    BuiltIn(&'static dyn RoutingEngine),
    Own(Arc<dyn RoutingEngine>),
    /// Only the name is known.
    Named(Named),
}

impl SharedEngine {
    /// Shares an engine from outside this crate.
    #[must_use]
    pub fn new(engine: impl RoutingEngine + 'static) -> Self {
        Self(Source::Own(Arc::new(engine)))
    }

    pub(super) const fn built_in(engine: &'static dyn RoutingEngine) -> Self {
        Self(Source::BuiltIn(engine))
    }

    /// Routes `fabric` by this engine, on as many threads as `options` allow; [`Routes::engine`] is then this
    /// engine, or the one that it chose.
    ///
    /// # Errors
    /// The engine cannot route this fabric, or not with these options.
    pub fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let found = parallel::install(options.threads, fabric, || {
            (**self).route(fabric, lids, options)
        });
        found.map(|routes| self.set_engine(routes))
    }

    /// As [`route`](Self::route), with the verifier's report if the engine verified the routes itself.
    ///
    /// # Errors
    /// As those of [`route`](Self::route).
    pub fn route_and_report(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<(Routes, Option<VerifyReport>), RouteError> {
        let found = parallel::install(options.threads, fabric, || {
            (**self).route_and_report(fabric, lids, options)
        });
        found.map(|(routes, report)| (self.set_engine(routes), report))
    }

    /// Makes this engine that of the routes, if the routes have only its name.
    fn set_engine(&self, mut routes: Routes) -> Routes {
        if routes.engine() == self {
            routes.set_engine(self);
        }
        routes
    }
}

impl Default for SharedEngine {
    fn default() -> Self {
        AUTO.clone()
    }
}

impl Deref for SharedEngine {
    type Target = dyn RoutingEngine;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Source::BuiltIn(engine) => *engine,
            Source::Own(engine) => engine.as_ref(),
            Source::Named(engine) => engine,
        }
    }
}

impl From<Arc<dyn RoutingEngine>> for SharedEngine {
    fn from(engine: Arc<dyn RoutingEngine>) -> Self {
        Self(Source::Own(engine))
    }
}

impl From<&Self> for SharedEngine {
    fn from(engine: &Self) -> Self {
        engine.clone()
    }
}

/// The built-in engine of this name, else one of which only the name is known: it guarantees nothing and
/// routes nothing.
impl From<&'static str> for SharedEngine {
    fn from(name: &'static str) -> Self {
        by_name(name).map_or(Self(Source::Named(Named(name))), Self::clone)
    }
}

impl PartialEq for SharedEngine {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for SharedEngine {}

impl fmt::Debug for SharedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedEngine({})", self.name())
    }
}

impl fmt::Display for SharedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SharedEngine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        by_name(name).cloned().ok_or(UnknownEngine)
    }
}

/// A name that no built-in engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEngine;

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown routing engine, expected one of ")?;
        for (at, engine) in ALL.iter().enumerate() {
            write!(f, "{}{engine}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownEngine {}

/// An engine of which only the name is known.
#[derive(Clone, Copy, Debug)]
struct Named(&'static str);

impl RoutingEngine for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn guarantees(&self, _: &RouteOptions) -> Guarantees {
        Guarantees::NONE
    }

    fn route(&self, _: &Fabric, _: &LidMap, _: &RouteOptions) -> Result<Routes, RouteError> {
        Err(RouteError::BadOption {
            engine: self.0,
            what: "only its name is known, expected the engine itself".into(),
        })
    }
}
