//! Lists of hosts and ports, as libpq reads them: with commas between them.

use dbdyno_model::Address;

use super::error::ConnectionError;
use super::parameters::Parameters;
use super::read_port;

const DEFAULT_PORT: u16 = 5432;

/// A host, or none for this host's socket, with its port.
type Place = (Option<Address>, u16);

/// The first place and the others: one for each host.
pub(super) fn read(given: &Parameters) -> Result<(Place, Vec<Place>), ConnectionError> {
    // Ports first: what stands there may be a piece of a password.
    let ports = given.read("port", read_ports)?.unwrap_or_default();
    let hosts = given.read("host", read_hosts)?;
    let hosts = hosts.unwrap_or_else(|| vec![None]);
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(ConnectionError::PortCount {
            hosts: hosts.len(),
            ports: ports.len(),
        });
    }
    let shared = ports.first().copied().unwrap_or(DEFAULT_PORT);
    let mut places = hosts
        .into_iter()
        .enumerate()
        .map(|(index, host)| (host, ports.get(index).copied().unwrap_or(shared)));
    let first = places.next().unwrap_or((None, shared));
    Ok((first, places.collect()))
}

/// An empty one is the usual one.
fn read_ports(list: &str) -> Result<Vec<u16>, ConnectionError> {
    list.split(',')
        .map(|port| match port.trim() {
            "" => Ok(DEFAULT_PORT),
            port => read_port(port),
        })
        .collect()
}

/// An empty one is this host's socket.
fn read_hosts(list: &str) -> Result<Vec<Option<Address>>, ConnectionError> {
    list.split(',')
        .map(|host| match host {
            "" => Ok(None),
            host => read_host(host).map(Some),
        })
        .collect()
}

fn read_host(host: &str) -> Result<Address, ConnectionError> {
    if host.starts_with('/') {
        Ok(Address::Socket(host.into()))
    } else if host.contains(['/', '@', ' ', '\0']) {
        Err(ConnectionError::BadValue {
            parameter: "host",
            expected: "a host name, an address or the absolute path of a socket directory",
        })
    } else {
        Ok(Address::Tcp(host.to_owned()))
    }
}

/// Whether the order of the hosts is drawn.
pub(super) fn read_balancing(value: &str) -> Result<bool, ConnectionError> {
    match value {
        "disable" => Ok(false),
        "random" => Ok(true),
        _ => Err(ConnectionError::BadValue {
            parameter: "load_balance_hosts",
            expected: "disable or random",
        }),
    }
}
