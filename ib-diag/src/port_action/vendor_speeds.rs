//! FDR10, which PortInfo cannot express: a vendor attribute enables it beside the speeds of PortInfo.

use ib_mad::{Attribute as _, Mad, Method};
use ib_routing::LinkSpeed;
use ib_smp::{MlnxExtPortInfo, SmpDirected, VendorLinkSpeeds};
use ib_wire::MKey;

use super::{PortAction, PortChange, PortChangeError};

/// The field link_speed_enabled among those that a Set of the attribute changes.
const CHANGE_SPEEDS: u8 = 1;

impl PortChange {
    /// A Get of the vendor attribute MlnxExtPortInfo; `None` if the change is none of speeds. Many devices lack the
    /// attribute.
    #[must_use]
    pub fn vendor_read_request(&self, m_key: MKey) -> Option<Mad> {
        self.speed()?;
        Some(self.vendor_smp(Method::GET, m_key, &MlnxExtPortInfo::default()))
    }

    /// The vendor attribute in a response; `None` if the response is of another kind, or an error.
    #[must_use]
    pub fn read_vendor(&self, mad: &Mad) -> Option<MlnxExtPortInfo> {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).ok()?;
        let is_answer = smp.status().is_ok() && smp.attribute_id() == MlnxExtPortInfo::ID;
        let (info, _) = MlnxExtPortInfo::parse(smp.smp_data(), 0).ok()?;
        is_answer.then_some(*info)
    }

    /// The Set that enables FDR10 if the change enables it or a faster speed, and disables it otherwise. It comes before
    /// [`requests`](Self::requests), so that a reset in the same change makes it take effect. `before` is the attribute of
    /// the port, if it has it. `None` if nothing changes.
    ///
    /// # Errors
    /// [`PortChangeError::NoFdr10`] if the change is to FDR10, and the port does not support it.
    pub fn vendor_request(
        &self,
        before: Option<&MlnxExtPortInfo>,
        m_key: MKey,
    ) -> Result<Option<Mad>, PortChangeError> {
        let fdr10 = VendorLinkSpeeds::FDR10;
        let Some(speed) = self.speed() else {
            return Ok(None);
        };
        let Some(before) = before.filter(|info| info.link_speed_supported().contains(fdr10)) else {
            return match speed {
                LinkSpeed::Fdr10 => Err(PortChangeError::NoFdr10),
                _ => Ok(None),
            };
        };
        let wanted = match speed >= LinkSpeed::Fdr10 {
            true => fdr10,
            false => VendorLinkSpeeds::empty(),
        };
        if before.link_speed_enabled() & fdr10 == wanted {
            return Ok(None);
        }
        let mut settings = *before;
        settings
            .set_state_change_enable(CHANGE_SPEEDS)
            .set_link_speed_enabled(wanted);
        Ok(Some(self.vendor_smp(Method::SET, m_key, &settings)))
    }

    /// The speed that the change enables last.
    fn speed(&self) -> Option<LinkSpeed> {
        let mut speeds = self.actions.iter().filter_map(|action| match action {
            PortAction::Speed(speed) => Some(*speed),
            _ => None,
        });
        speeds.next_back()
    }

    fn vendor_smp(&self, method: Method, m_key: MKey, info: &MlnxExtPortInfo) -> Mad {
        let modifier = self.port.0.into();
        let mut smp = SmpDirected::new(method, MlnxExtPortInfo::ID, modifier, &self.path);
        smp.set_m_key(m_key).set_smp_data(info.as_bytes());
        Mad {
            address: ib_mad::MadAddress::DIRECTED,
            bytes: *smp.as_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ib_smp::DrPath;
    use ib_wire::PortNum;

    use super::*;

    fn change(actions: &[&str]) -> PortChange {
        PortChange {
            path: DrPath::OWN_NODE,
            port: PortNum(3),
            actions: actions.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    fn info(supported: VendorLinkSpeeds, enabled: VendorLinkSpeeds) -> MlnxExtPortInfo {
        let mut info = MlnxExtPortInfo::default();
        info.set_link_speed_supported(supported)
            .set_link_speed_enabled(enabled);
        info
    }

    #[test]
    fn fdr10_is_enabled_for_it_and_faster_speeds_and_disabled_for_slower_ones() {
        let (fdr10, none) = (VendorLinkSpeeds::FDR10, VendorLinkSpeeds::empty());
        for (action, enabled, expected) in [
            ("speed=FDR10", none, Some(fdr10)),
            ("speed=FDR", none, Some(fdr10)),
            ("speed=FDR10", fdr10, None),
            ("speed=QDR", fdr10, Some(none)),
            ("speed=QDR", none, None),
        ] {
            let change = change(&[action, "reset"]);
            let set = change
                .vendor_request(Some(&info(fdr10, enabled)), MKey(9))
                .unwrap();
            let written = set.map(|mad| {
                let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
                assert_eq!((smp.method(), smp.m_key()), (Method::SET, MKey(9)));
                assert_eq!(smp.attribute_modifier(), 3);
                let info = change.read_vendor(&mad).unwrap();
                assert_eq!(info.state_change_enable(), CHANGE_SPEEDS);
                info.link_speed_enabled()
            });
            assert_eq!(written, expected, "{action} {enabled:?}");
        }
    }

    #[test]
    fn fdr10_is_refused_by_a_port_without_it_and_other_speeds_are_not() {
        let none = VendorLinkSpeeds::empty();
        let without = info(none, none);
        for before in [None, Some(&without)] {
            let fdr10 = change(&["speed=FDR10"]).vendor_request(before, MKey(0));
            assert!(matches!(fdr10, Err(PortChangeError::NoFdr10)));
            let faster = change(&["speed=EDR"]).vendor_request(before, MKey(0));
            assert!(matches!(faster, Ok(None)));
        }
    }

    #[test]
    fn the_vendor_attribute_is_read_for_changes_of_speed_alone() {
        assert!(
            change(&["width=4x", "reset"])
                .vendor_read_request(MKey(0))
                .is_none()
        );
        assert!(
            change(&["speed=QDR"])
                .vendor_read_request(MKey(0))
                .is_some()
        );
    }
}
