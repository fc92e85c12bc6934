//! Open files: each connection is one, and the usual soft limit is far below the hard one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::DriverError;

/// Standard streams, event loops, timers, samplers, the store.
const BESIDE: u64 = 64;

/// Raises the soft limit as far as so many connections need, or says what is missing.
pub(super) fn check(connections: u32) -> Result<(), DriverError> {
    let needed = u64::from(connections) + BESIDE;
    let Some(raised) = raise(getrlimit(Resource::Nofile), needed) else {
        return Ok(());
    };
    let refused = |limit| DriverError::OpenFiles {
        connections,
        needed,
        limit,
    };
    let limits = raised.map_err(refused)?;
    let before = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, limits).map_err(|_| refused(before))
}

/// The limits to set, none where they are wide enough, or the hard limit that is in the way.
fn raise(present: Rlimit, needed: u64) -> Option<Result<Rlimit, u64>> {
    if present.current.is_none_or(|soft| soft >= needed) {
        return None;
    }
    Some(match present.maximum {
        Some(hard) if hard < needed => Err(hard),
        maximum => Ok(Rlimit {
            current: Some(needed),
            maximum,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(current: Option<u64>, maximum: Option<u64>) -> Rlimit {
        Rlimit { current, maximum }
    }

    #[test]
    fn the_soft_limit_is_raised_and_the_hard_one_named() {
        assert!(raise(limits(Some(1024), Some(4096)), 1024).is_none());
        assert!(raise(limits(None, None), u64::MAX).is_none());
        let raised = raise(limits(Some(1024), Some(4096)), 4096)
            .unwrap()
            .unwrap();
        assert_eq!((raised.current, raised.maximum), (Some(4096), Some(4096)));
        let raised = raise(limits(Some(1024), None), 5000).unwrap().unwrap();
        assert_eq!((raised.current, raised.maximum), (Some(5000), None));
        assert_eq!(
            raise(limits(Some(1024), Some(4096)), 4097)
                .unwrap()
                .unwrap_err(),
            4096
        );
    }

    #[test]
    fn more_connections_than_files_are_refused_before_any_is_made() {
        let error = check(u32::MAX).unwrap_err();
        assert!(
            error.to_string().contains("4294967295 connections"),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}
