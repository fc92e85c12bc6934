//! What /etc/fstab says of a mount point.

use dbdyno_model::Fact;

use super::mounts::unescape;
use super::root::Root;

const FSTAB: &str = "/etc/fstab";
/// Options of network file systems that say who logs in, and with what.
pub(super) const SECRET: [&str; 4] = ["cred", "pass", "user", "domain"];

/// The options for one mount point; `None` where no line names it.
pub fn fstab_options(text: &str, mount_point: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().map(str::trim);
    lines.find_map(|line| {
        if line.starts_with('#') {
            return None;
        }
        let mut fields = line.split_whitespace().skip(1);
        let point = unescape(fields.next()?);
        let _filesystem = fields.next()?;
        let options = fields.next()?;
        (point == mount_point).then(|| {
            options
                .split(',')
                .filter(|option| !SECRET.iter().any(|start| option.starts_with(start)))
                .map(unescape)
                .collect()
        })
    })
}

pub(super) fn options(root: &Root, mount_point: &str) -> Fact<Vec<String>> {
    let result = root
        .lossy_text(FSTAB)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            fstab_options(&text, mount_point).ok_or_else(|| format!("no line for {mount_point}"))
        });
    Fact::from_result(result, FSTAB)
}

#[cfg(test)]
mod tests {
    use super::fstab_options;

    #[test]
    fn the_line_of_a_mount_point_is_found() {
        let text = "# /data\n/dev/sda1 / ext4 defaults 0 1\nUUID=1 /my\\040data xfs noatime,nobarrier 0 0\n/dev/sdb1 /odd xfs\n";
        assert_eq!(
            fstab_options(text, "/my data").unwrap(),
            ["noatime", "nobarrier"]
        );
        assert_eq!(fstab_options(text, "/odd"), None);
        let login = "//nas/pg /pg cifs rw,username=me,password=secret 0 0\n";
        assert_eq!(fstab_options(login, "/pg").unwrap(), ["rw"]);
        assert_eq!(fstab_options(text, "/data"), None);
    }
}
