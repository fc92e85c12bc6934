//! Parameters as they were given, the strongest place of each, and what becomes of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::ConnectionError;
use super::known::{KNOWN, Known, Treatment, known};

/// Values by name of those parameters that are read; no Debug, since one is the password.
#[derive(Default)]
pub(super) struct Parameters(BTreeMap<&'static str, Given>);

struct Given {
    value: String,
    origin: Origin,
}

/// Where a value was said, for the error that finds fault with it.
#[derive(Clone)]
pub(super) enum Origin {
    Typed,
    Service {
        path: PathBuf,
        line: usize,
        service: String,
    },
    Variable(&'static str),
}

impl Origin {
    pub(super) fn locate(&self, why: ConnectionError) -> ConnectionError {
        match self {
            Self::Typed => why,
            Self::Service {
                path,
                line,
                service,
            } => ConnectionError::InService {
                path: path.clone(),
                line: *line,
                service: service.clone(),
                why: Box::new(why),
            },
            Self::Variable(variable) => ConnectionError::InVariable {
                variable,
                why: Box::new(why),
            },
        }
    }
}

impl Parameters {
    /// Takes one parameter as the user gave it; an empty one counts as not given.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), ConnectionError> {
        if let Some(name) = taken(known(name)?, &value)? {
            let origin = Origin::Typed;
            self.0.insert(name, Given { value, origin });
        }
        Ok(())
    }

    /// Takes one from elsewhere, where nothing stronger has given it.
    pub(super) fn set_weaker(
        &mut self,
        name: &str,
        value: String,
        origin: Origin,
    ) -> Result<(), ConnectionError> {
        let known = known(name).map_err(|why| origin.locate(why))?;
        if self.0.contains_key(known.name) || self.overrules(known.name, &origin) {
            return Ok(());
        }
        if let Some(name) = taken(known, &value).map_err(|why| origin.locate(why))? {
            self.0.insert(name, Given { value, origin });
        }
        Ok(())
    }

    /// Fills from the environment what was not given.
    pub(super) fn fill(
        &mut self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConnectionError> {
        for known in KNOWN {
            if let Some(variable) = known.variable
                && let Some(value) = environment(variable)
            {
                self.set_weaker(known.name, value, Origin::Variable(variable))?;
            }
        }
        Ok(())
    }

    /// A host that was given stronger says where the server is, and one beside its address does not;
    /// a mode says more than the flag that it has replaced.
    fn overrules(&self, name: &str, origin: &Origin) -> bool {
        match name {
            "hostaddr" => self.0.get("host").is_some_and(|host| {
                std::mem::discriminant(&host.origin) != std::mem::discriminant(origin)
            }),
            "requiressl" => self.0.contains_key("sslmode"),
            _ => false,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|given| given.value.as_str())
    }

    /// The value as `read` understands it; its error tells where the value was said.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, ConnectionError>,
    ) -> Result<Option<T>, ConnectionError> {
        let Some(given) = self.0.get(name) else {
            return Ok(None);
        };
        let value = read(&given.value).map_err(|why| given.origin.locate(why))?;
        Ok(Some(value))
    }
}

/// The name under which a value is kept, where it is.
fn taken(known: &Known, value: &str) -> Result<Option<&'static str>, ConnectionError> {
    match known.treatment {
        _ if value.is_empty() => Ok(None),
        Treatment::Read => Ok(Some(known.name)),
        Treatment::Dropped => Ok(None),
        Treatment::Only(values, _) if values.contains(&value) => Ok(None),
        Treatment::Only(_, instead) | Treatment::Refused(instead) => {
            Err(ConnectionError::Unsupported {
                parameter: known.name,
                instead,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_weaken_the_connection_is_refused_and_what_changes_nothing_is_taken() {
        let mut parameters = Parameters::default();
        parameters.set("keepalives", "1".into()).unwrap();
        parameters.set("channel_binding", "prefer".into()).unwrap();
        for (name, value) in [
            ("channel_binding", "require"),
            ("gssencmode", "require"),
            ("sslcrl", "revoked.pem"),
            ("require_auth", "scram-sha-256"),
            ("hostaddr", "10.0.0.1"),
        ] {
            let error = parameters.set(name, value.into()).unwrap_err();
            assert!(matches!(error, ConnectionError::Unsupported { .. }));
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn a_variable_asks_for_no_less_than_its_parameter() {
        for (variable, value) in [
            ("PGCHANNELBINDING", "require"),
            ("PGREQUIREAUTH", "scram-sha-256"),
            ("PGREQUIRESSL", "1"),
            ("PGHOSTADDR", "10.0.0.1"),
        ] {
            let environment = |name: &str| (name == variable).then(|| value.to_owned());
            let error = Parameters::default().fill(&environment).unwrap_err();
            assert!(error.to_string().starts_with(variable), "{error}");
            assert!(error.hint().is_some());
        }
        let environment = |name: &str| (name == "PGCHANNELBINDING").then(|| "prefer".to_owned());
        Parameters::default().fill(&environment).unwrap();
    }

    #[test]
    fn an_address_of_the_environment_gives_way_to_a_host_that_was_typed() {
        let environment = |name: &str| (name == "PGHOSTADDR").then(|| "10.0.0.1".to_owned());
        let mut typed = Parameters::default();
        typed.set("host", "db".into()).unwrap();
        typed.fill(&environment).unwrap();
        // A host of the same place is only its name: the address says where it is.
        let beside = |name: &str| match name {
            "PGHOST" => Some("db".to_owned()),
            name => environment(name),
        };
        let error = Parameters::default().fill(&beside).unwrap_err();
        assert!(error.to_string().starts_with("PGHOSTADDR"), "{error}");
        let environment = |name: &str| match name {
            "PGREQUIRESSL" => Some("1".to_owned()),
            "PGSSLMODE" => Some("disable".to_owned()),
            _ => None,
        };
        let mut parameters = Parameters::default();
        parameters.fill(&environment).unwrap();
        assert_eq!(parameters.get("sslmode"), Some("disable"));
    }

    #[test]
    fn what_is_weaker_replaces_nothing_and_is_located_where_it_is_wrong() {
        let origin = || Origin::Service {
            path: "/etc/services".into(),
            line: 7,
            service: "prod".into(),
        };
        let mut parameters = Parameters::default();
        parameters.set("user", "typed".into()).unwrap();
        for (name, value) in [("user", "u"), ("host", "db"), ("host", "other")] {
            let set = parameters.set_weaker(name, value.into(), origin());
            set.unwrap();
        }
        assert_eq!(parameters.get("user"), Some("typed"));
        assert_eq!(parameters.get("host"), Some("db"));
        let read = parameters.read("host", |_| -> Result<(), _> {
            Err(ConnectionError::Ambiguous)
        });
        let told = read.unwrap_err().to_string();
        assert!(
            told.starts_with("/etc/services, line 7, service prod"),
            "{told}"
        );
    }
}
