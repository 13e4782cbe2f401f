//! The port that `sm`, `discover` and `query` speak through: a real adapter's, or ibsim's.

use std::time::Duration;

use clap::Args;
use ib_mad::{InFlight, Method, MgmtClass, Oui, WindowConfig};
use ib_sm::{REPLICATION_CLASS, REPLICATION_OUI};
pub use ib_transport::AnyPort as DevicePort;
use ib_transport::{
    PortOptions,
    umad::{AgentClass, RmppSide},
};

use crate::error::CliError;

/// The options that choose a port.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Port")]
pub struct DeviceArgs {
    /// Adapter, as mlx5_0; or the GUID of its port, as 0x0002c90300001234; or sim:NAME: the simulator
    /// that listens as NAME (its IBSIM_SOCKNAME) [default: the first adapter with a usable port]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Port number of the adapter, from 1 [default: the first active port]
    #[arg(long, value_name = "N")]
    pub port: Option<u8>,
    /// Node of the simulator whose port is used, by its id in the simulator's fabric file [default: the first node of that file]
    #[arg(
        long,
        value_name = "ID",
        default_value = "",
        hide_default_value = true,
        env = "SIM_HOST",
        hide_env = true
    )]
    pub node: String,
}

/// Time for which answers are waited for.
#[derive(Clone, Copy, Debug, Args)]
pub struct TimeoutArgs {
    /// Milliseconds to wait for an answer to the last repetition of a request. Earlier repetitions are sent sooner,
    /// once the response time of the subnet has been measured. Several nodes are asked at once
    #[arg(long, value_name = "MS", default_value_t = 200)]
    timeout: u64,
    /// Number of times that a request is repeated
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
    /// Greatest number of requests that wait for an answer at once, as --outstanding_smps of infiniband-diags
    /// [default: adapted to the subnet: it rises with each answer, and is halved when only a repetition is answered]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    in_flight: Option<u32>,
}

impl TimeoutArgs {
    /// Lets the window wait that long, and hold that many requests.
    pub fn apply(self, window: &mut WindowConfig) {
        window.timeout = Duration::from_millis(self.timeout);
        window.retries = self.retries;
        if let Some(count) = self.in_flight {
            window.in_flight = InFlight::Fixed(count);
            window.overflow = None;
        }
    }
}

impl DeviceArgs {
    /// The reason for the choice of the port, for a person.
    pub fn reason(&self) -> &'static str {
        match (self.device.as_deref(), self.port) {
            (Some(device), _) if device.starts_with("sim:") => match self.node.is_empty() {
                true => "the simulator's choice",
                false => "chosen by --node",
            },
            (Some(_), Some(_)) => "chosen by --device and --port",
            (Some(_), None) => "the first usable one of --device",
            (None, Some(_)) => "chosen by --port, on the first adapter that has it",
            (None, None) => "the first usable one; --device and --port choose another",
        }
    }

    /// Opens the port for these classes and the methods that are wanted unasked. `timeout` is the engine's for
    /// one request.
    pub fn open(
        &self,
        classes: &[(MgmtClass, u8, &'static [Method])],
        announce_sm: bool,
        timeout: Duration,
    ) -> Result<DevicePort, CliError> {
        let options = PortOptions {
            device: self.device.clone(),
            port: self.port,
            node: self.node.clone(),
            announce_sm,
            timeout,
        };
        let classes: Vec<AgentClass> = classes
            .iter()
            .map(|&(mgmt_class, class_version, methods)| AgentClass {
                mgmt_class,
                class_version,
                methods,
                oui: match mgmt_class.0 {
                    _ if mgmt_class == REPLICATION_CLASS => REPLICATION_OUI.0,
                    // The other vendor classes that we use are OpenIB's.
                    0x30..=0x4f => Oui::OPENIB.0,
                    _ => 0,
                },
                rmpp: RmppSide::User,
            })
            .collect();
        DevicePort::open(&options, &classes).map_err(|error| match &self.device {
            Some(device) if device.starts_with("sim:") => CliError::at(device, error),
            _ => CliError::input(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_requests_in_flight_is_fixed_if_it_is_given() {
        let mut args = TimeoutArgs {
            timeout: 200,
            retries: 3,
            in_flight: None,
        };
        let default = WindowConfig::default();
        let mut window = default;
        args.apply(&mut window);
        assert_eq!(
            (window.in_flight, window.overflow),
            (default.in_flight, default.overflow)
        );
        args.in_flight = Some(2);
        args.apply(&mut window);
        assert_eq!(
            (window.in_flight, window.overflow),
            (InFlight::Fixed(2), None)
        );
    }
}
