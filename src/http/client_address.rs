//! Who sent a request: the other end of the connection, or the client that a trusted proxy names.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address that a request is counted for. Only requests that came over the network have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientAddress(pub(super) IpAddr);

/// The addresses of proxies whose word is taken for who the client is. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Trusts the addresses of `networks`.
    pub fn new(networks: impl Into<Arc<[IpNet]>>) -> Self {
        Self(networks.into())
    }

    /// Whether `address` is a trusted proxy.
    pub(super) fn include(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request that came from `peer`.
    ///
    /// Each proxy adds the address that it was called from at the end, and a client may write what
    /// it likes before that. So the list is read from its end, and the first address that is no
    /// trusted proxy is the client. A name or an address that cannot be read ends the search.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let mut client = peer.to_canonical();
        if !self.include(client) {
            return ClientAddress(client);
        }
        for address in forwarded(headers).into_iter().rev() {
            let Some(address) = address else { break };
            client = address.to_canonical();
            if !self.include(client) {
                break;
            }
        }
        ClientAddress(client)
    }
}

/// The addresses that proxies have added, the nearest last; `None` for one that cannot be read.
/// `Forwarded` (RFC 7239) goes before `X-Forwarded-For`.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    if headers.contains_key(FORWARDED) {
        return elements(headers, &FORWARDED).map(for_parameter).collect();
    }
    elements(headers, &X_FORWARDED_FOR).map(address).collect()
}

fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.to_str().unwrap_or_default().split(','))
}

/// The address of `for=` in an element such as `for="[2001:db8::17]:4711";proto=https`.
fn for_parameter(element: &str) -> Option<IpAddr> {
    let (_, value) = element
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    address(value.trim().trim_matches('"'))
}

/// An address with or without brackets and a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    bare.unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(peer: &str, name: &'static str, values: &[&str]) -> String {
        let trusted = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().unwrap());
        }
        let ClientAddress(address) =
            TrustedProxies::new(trusted).client(peer.parse().unwrap(), &headers);
        address.to_string()
    }

    #[test]
    fn a_trusted_proxy_names_the_client() {
        for (values, client) in [
            (vec!["203.0.113.9"], "203.0.113.9"),
            (vec!["203.0.113.9:4711"], "203.0.113.9"),
            (vec!["203.0.113.9, 10.1.1.1"], "203.0.113.9"),
            (vec!["203.0.113.9", "10.1.1.1"], "203.0.113.9"),
            // What the client wrote itself stands before.
            (vec!["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
            (vec!["198.51.100.1, unknown"], "10.0.0.1"),
            (vec![""], "10.0.0.1"),
            (vec![], "10.0.0.1"),
        ] {
            let found = found("10.0.0.1", "x-forwarded-for", &values);
            assert_eq!(found, client, "{values:?}");
        }
        for (value, client) in [
            ("for=203.0.113.9;proto=https", "203.0.113.9"),
            (r#"proto=http;For="[2001:db8::17]:4711""#, "2001:db8::17"),
            (r#"for=198.51.100.1, for="[2001:db8::17]""#, "2001:db8::17"),
            ("for=198.51.100.1, for=_hidden", "::1"),
        ] {
            assert_eq!(found("::1", "forwarded", &[value]), client, "{value}");
        }
    }

    #[test]
    fn nobody_else_is_believed() {
        for peer in ["203.0.113.9", "::2"] {
            assert_eq!(found(peer, "x-forwarded-for", &["198.51.100.1"]), peer);
        }
    }

    #[test]
    fn an_ipv4_address_in_ipv6_form_is_the_same_address() {
        let found = found(
            "::ffff:10.0.0.1",
            "x-forwarded-for",
            &["::ffff:203.0.113.9"],
        );
        assert_eq!(found, "203.0.113.9");
    }
}
