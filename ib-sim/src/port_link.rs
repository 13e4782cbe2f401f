//! The link of one port: its cable, its training, and the bit errors on it.

use crate::port_idx::{OptionalPort, PortIdx};

/// State of a port's link. Both ends of a cable have one each.
#[derive(Clone, Debug)]
pub(crate) struct PortLink {
    /// True if the link has trained.
    up: bool,
    /// The port at the other end of the cable.
    peer: OptionalPort,
    /// The port at the other end of the cable that was unplugged last.
    unplugged: OptionalPort,
    /// Number of the latest training: an earlier one that was cancelled must not complete later.
    training: u32,
    /// Packets with bit errors, less good packets since: compared with LocalPhyErrors.
    physical_errors: u8,
}

impl PortLink {
    /// The link of a port at start. Port 0 of a switch is up without a cable.
    pub(crate) const fn new(up: bool, peer: Option<PortIdx>) -> Self {
        Self {
            up,
            peer: OptionalPort::new(peer),
            unplugged: OptionalPort::NONE,
            training: 0,
            physical_errors: 0,
        }
    }

    #[inline]
    pub(crate) const fn is_up(&self) -> bool {
        self.up
    }

    /// The port at the other end of the cable, whether the link is up or not.
    #[inline]
    pub(crate) const fn peer(&self) -> Option<PortIdx> {
        self.peer.get()
    }

    /// The port that packets reach: that at the other end of a link that is up.
    #[inline]
    pub(crate) const fn reachable(&self) -> Option<PortIdx> {
        if self.up { self.peer.get() } else { None }
    }

    /// The port at the other end of the cable that was unplugged last.
    pub(crate) const fn unplugged(&self) -> Option<PortIdx> {
        self.unplugged.get()
    }

    pub(crate) const fn plug(&mut self, peer: PortIdx) {
        self.peer = OptionalPort::new(Some(peer));
    }

    /// Takes the cable away and remembers it.
    pub(crate) const fn unplug(&mut self) {
        if self.peer.get().is_some() {
            self.unplugged = std::mem::replace(&mut self.peer, OptionalPort::NONE);
        }
    }

    /// Starts a training, which cancels an earlier one, and gives its number.
    pub(crate) const fn start_training(&mut self) -> u32 {
        self.training = self.training.wrapping_add(1);
        self.training
    }

    /// Returns whether this training was not cancelled.
    pub(crate) const fn is_current(&self, training: u32) -> bool {
        self.training == training
    }

    /// Completes a training. Returns whether the link was down.
    pub(crate) const fn set_up(&mut self) -> bool {
        !std::mem::replace(&mut self.up, true)
    }

    /// Takes the link down and cancels its training. Returns whether it was up.
    pub(crate) const fn set_down(&mut self) -> bool {
        self.start_training();
        std::mem::replace(&mut self.up, false)
    }

    /// Counts a packet with a wrong CRC. Returns whether there are more of them than `threshold`, and then begins again.
    pub(crate) const fn count_bit_error(&mut self, threshold: u8) -> bool {
        self.physical_errors = self.physical_errors.saturating_add(1);
        let exceeded = self.physical_errors > threshold;
        if exceeded {
            self.physical_errors = 0;
        }
        exceeded
    }

    /// Counts a good packet, which cancels one with a wrong CRC.
    #[inline]
    pub(crate) const fn count_good_packet(&mut self) {
        self.physical_errors = self.physical_errors.saturating_sub(1);
    }
}
