//! Options of a simulated fabric, which the commands with a simulator share.

use std::time::Duration;

use clap::Args;
use ib_sim::{FaultSpec, SimOptions, parse_time};

/// Faults and latencies of the simulated fabric.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub struct SimulationArgs {
    #[arg(
        long,
        value_name = "SPEC",
        default_value = "",
        hide_default_value = true,
        help = format!("Faults on links, separated by commas: {}. The same seed gives the same faults [default: none]", FaultSpec::help())
    )]
    faults: FaultSpec,
    /// Time that a packet takes over a link, with its unit: ns, us, ms or s [default: 250ns]
    #[arg(long, value_name = "TIME", value_parser = time)]
    latency: Option<Duration>,
    /// Time that the agents of a node take to answer, with its unit: ns, us, ms or s [default: 3us]
    #[arg(long, value_name = "TIME", value_parser = time)]
    agent_latency: Option<Duration>,
    /// Switches take one SLtoVL table for many pairs of ports at once (OptimizedSLtoVLMappingProgramming), as newer
    /// switches do
    #[arg(long)]
    optimized_slvl: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "expected a time such as 250ns, 3us, 5ms or 1s".to_owned())
}

impl SimulationArgs {
    /// Sets what the user has given; latencies that are not given keep the values of `options`.
    pub fn apply(&self, options: &mut SimOptions) {
        options.faults = self.faults;
        if self.optimized_slvl {
            options.optimized_sl_to_vl = 1;
        }
        if let Some(latency) = self.latency {
            options.hop_latency = latency;
        }
        if let Some(latency) = self.agent_latency {
            options.agent_latency = latency;
        }
    }
}
