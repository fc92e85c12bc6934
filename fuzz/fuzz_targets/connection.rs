//! Whatever is typed as a target, resolving it neither panics nor repeats a password.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|target: &str| {
    let environment = |name: &str| (name == "HOME").then(|| "/nonexistent".to_owned());
    match dbdyno_target::connection::resolve(target, &environment) {
        Ok(candidates) => {
            for connection in candidates.all() {
                if let Some(password) = &connection.password
                    && password.expose().len() > 20
                {
                    assert!(!format!("{connection:?}").contains(password.expose()));
                }
            }
        }
        Err(error) => {
            let _ = (error.to_string(), error.hint(), format!("{error:?}"));
        }
    }
});
