//! The configurations that a trial compares.

use std::collections::BTreeMap;

use dbdyno_model::Class;

/// One configuration: what it sets beside what initdb wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmSpec {
    pub name: String,
    pub class: Class,
    pub settings: BTreeMap<String, String>,
}

impl ArmSpec {
    pub fn new(name: &str, class: Class, settings: BTreeMap<String, String>) -> Self {
        Self {
            name: name.to_owned(),
            class,
            settings,
        }
    }
}

/// The price of safety: the base arm with durability given up, named after what it risks.
/// They are measured only where somebody asks for it, and never recommended.
pub fn unsafe_arms(base: &ArmSpec) -> Vec<ArmSpec> {
    let with = |class: Class, off: &[&str]| {
        let mut settings = base.settings.clone();
        settings.extend(
            off.iter()
                .map(|name| ((*name).to_owned(), "off".to_owned())),
        );
        ArmSpec::new(class.as_str(), class, settings)
    };
    vec![
        with(Class::MayLoseLastCommits, &["synchronous_commit"]),
        with(Class::MayCorrupt, &["fsync", "full_page_writes"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_arms_are_the_base_arm_but_for_what_they_are_named_after() {
        let settings = BTreeMap::from([("work_mem".to_owned(), "8MB".to_owned())]);
        let base = ArmSpec::new("shipped", Class::Safe, settings);
        let [lose, corrupt] = unsafe_arms(&base).try_into().unwrap();
        assert_eq!(lose.name, "may-lose-last-commits");
        assert_eq!(lose.settings["synchronous_commit"], "off");
        assert!(!lose.settings.contains_key("fsync"));
        assert_eq!(corrupt.settings["fsync"], "off");
        assert_eq!(corrupt.settings["full_page_writes"], "off");
        assert_eq!(corrupt.settings["work_mem"], "8MB");
        assert!(lose.class < corrupt.class);
    }
}
