//! The configuration files of logical clusters, and the line to blame where one is wrong.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ib_routing::{
    Fabric,
    cluster::{self, ClusterConfig, ClusterFault, Clusters},
    format::guid2lid,
};
use ib_sm::ClusterRole;
use ib_wire::{Guid, Lid};

use crate::{error::CliError, files, output::stderr};

/// Configurations of clusters, from one file or several.
#[derive(Debug)]
pub struct ClusterFiles {
    configs: Vec<ClusterConfig>,
    /// The file of each configuration.
    file_of: Vec<PathBuf>,
}

impl ClusterFiles {
    /// Reads the files as they are.
    ///
    /// # Errors
    /// A file that cannot be read, or the first line that is wrong.
    pub fn read(names: &[PathBuf]) -> Result<Self, CliError> {
        let mut all = Self {
            configs: Vec::new(),
            file_of: Vec::new(),
        };
        for name in names {
            all.configs.extend(files::read(name, cluster::read)?);
            all.file_of.resize(all.configs.len(), name.clone());
        }
        Ok(all)
    }

    /// These configurations without declarations of clusters that are configured by a file of their own.
    ///
    /// # Errors
    /// A declaration that contradicts a configuration.
    pub fn without_declarations(self) -> Result<Self, CliError> {
        let kept = cluster::without_declarations(&self.configs);
        let kept = kept.map_err(|faults| self.complain(&faults))?;
        let both = self.configs.into_iter().zip(self.file_of).enumerate();
        let (configs, file_of) = both
            .filter(|(index, _)| kept.contains(index))
            .map(|(_, entry)| entry)
            .unzip();
        Ok(Self { configs, file_of })
    }

    /// The configurations, in the order of the files.
    pub fn configs(&self) -> &[ClusterConfig] {
        &self.configs
    }

    /// Checks the configurations against the fabric and against each other.
    ///
    /// # Errors
    /// The first fault, with file and line; the others are warnings.
    pub fn validate(&self, fabric: &Fabric) -> Result<Clusters, CliError> {
        Clusters::validate(fabric, &self.configs).map_err(|faults| self.complain(&faults))
    }

    /// Checks what the manager of one cluster can check alone, against the part of the fabric that it reaches.
    ///
    /// # Errors
    /// The first fault, with file and line; the others are warnings.
    pub fn validate_own(&self, part: &Fabric, own: usize) -> Result<(), CliError> {
        cluster::validate_own(part, &self.configs, own).map_err(|faults| self.complain(&faults))
    }

    /// The role of the manager of one cluster.
    pub fn role(&self, own: usize, predefined: &BTreeMap<Guid, Lid>) -> Option<ClusterRole> {
        let others = self.configs.iter().enumerate();
        let others = others.filter(|&(index, _)| index != own);
        let role = ClusterRole::new(
            self.configs.get(own)?.clone(),
            others.map(|(_, other)| other.clone()),
        );
        Some(role.with_predefined_lids(predefined.clone()))
    }

    /// All faults, each with its file and line; the first is the error.
    fn complain(&self, faults: &[ClusterFault]) -> CliError {
        let text = |fault: &ClusterFault| {
            let file = self.file_of.get(fault.index).map(|file| file.display());
            let file = file.map_or_else(String::new, |file| file.to_string());
            format!("{file}:{}: {fault}", fault.line)
        };
        let mut faults = faults.iter().map(text);
        let first = faults.next().unwrap_or_default();
        for more in faults {
            stderr::warn(more);
        }
        CliError::Input(first)
    }
}

/// Base LIDs by port GUID, from a file in the format of OpenSM's guid2lid; none without a file.
pub fn predefined_lids(file: Option<&Path>) -> Result<BTreeMap<Guid, Lid>, CliError> {
    file.map_or_else(
        || Ok(BTreeMap::new()),
        |file| files::read(file, guid2lid::read),
    )
}
