//! The configuration is read again while the manager runs: all of it or nothing.

use std::path::PathBuf;

use ib_routing::{
    TopologyError,
    format::{lfts, lid_matrix},
};
use ib_sm::SmConfig;

use super::Host;
use crate::{error::CliError, files};

impl Host<'_> {
    /// Reads the configuration again, with all files that it names. Returns what differs.
    ///
    /// # Errors
    /// The first error of the files, with file and line. The configuration in effect stays as it is.
    pub fn reload(&mut self) -> Result<String, String> {
        let config = self.args.config().and_then(|config| {
            self.log.check(&config.host)?;
            self.check_tables(&config)?;
            Ok(config)
        });
        match config {
            Ok(config) => Ok(self.take_over(config)),
            Err(error) => Err(format!("nothing changes: {error}")),
        }
    }

    /// Reads the tables for the engine `file` against the subnet that is managed.
    fn check_tables(&self, config: &SmConfig) -> Result<(), CliError> {
        let (fabric, tables, files) = (self.sm.fabric(), &config.route_tables, &config.files);
        if fabric.num_switches() == 0 {
            return Ok(());
        }
        let route = &self.args.route;
        let at = |given: Option<&PathBuf>, named: Option<&String>, error: &TopologyError| {
            let given = given.map(|file| file.display().to_string());
            let name = given.or_else(|| named.cloned()).unwrap_or_default();
            files::at_line(&name, error)
        };
        if let Some(text) = &tables.lfts {
            let read = lfts::read(text, fabric);
            read.map_err(|error| at(route.tables.as_ref(), files.lfts_file.as_ref(), &error))?;
        }
        if let Some(text) = &tables.lid_matrix {
            let (given, named) = (&route.lid_matrix_file, &files.lid_matrix_dump_file);
            let read = lid_matrix::read(text, fabric);
            read.map_err(|error| at(given.as_ref(), named.as_ref(), &error))?;
        }
        Ok(())
    }

    /// Applies a configuration, and says what differs and what needs a restart.
    fn take_over(&mut self, config: SmConfig) -> String {
        let before = self.sm.config();
        let options = before.changes(&config).into_iter().map(|change| {
            let restart = if change.is_live {
                ""
            } else {
                " (needs a restart)"
            };
            format!("{} {} -> {}{restart}", change.key, change.from, change.to)
        });
        let files = [
            ("partitions", config.partitions != before.partitions),
            ("QoS policy", config.qos_policy != before.qos_policy),
            (
                "prefix routes",
                config.prefix_routes != before.prefix_routes,
            ),
        ];
        let files = files.into_iter().filter(|(_, differs)| *differs);
        let files = files.map(|(name, _)| format!("{name} changed"));
        let changed: Vec<String> = options.chain(files).collect();
        self.sm.reconfigure(self.now, config);
        self.companions.reconfigure(self.sm.config(), self.now);
        self.log.follow(self.sm.config().host.log_flags);
        let what = match changed.as_slice() {
            [] => "no option differs".to_owned(),
            changed => changed.join(", "),
        };
        format!("the configuration was read again: {what}; a heavy sweep begins")
    }
}
