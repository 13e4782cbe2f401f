//! The manager against simulated fabrics and itself, one module for each subject. One program, as linking is what
//! takes long.

mod access;
mod bounded_calls;
mod bring_up;
mod capacities;
mod changes;
mod clusters;
mod commands;
mod congestion;
mod election;
mod election_model;
mod faults;
mod forced_links;
mod groups;
mod guid2lid;
mod lanes;
mod limits;
mod load;
mod m_key;
mod malformed_nodes;
mod options;
mod partial;
mod partitions;
mod properties;
mod qos_policy;
mod queries;
mod registrations;
mod replay;
mod replication;
mod restart;
mod routers;
mod schedules;
mod services;
mod takeover;
mod thesis;
mod transitions;
