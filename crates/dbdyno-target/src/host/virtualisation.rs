//! Whether the machine is virtual, and whether this process lives in a container.

use dbdyno_model::Fact;
use dbdyno_model::host::{Virtualisation, is_container_layer};

use super::root::Root;
use super::{cgroup, mounts};

const DMI: &str = "/sys/class/dmi/id";

/// Whether the processor says that a hypervisor is below; `None` where this architecture has no such flag.
pub fn hypervisor_flag(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "flags").then_some(value)
    })?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The hypervisor that a maker's or product's name gives away.
pub fn vendor(name: &str) -> Option<&'static str> {
    // The clouds stand first: they run on QEMU, Xen and Hyper-V, and their own name says more.
    const VENDORS: &[(&str, &str)] = &[
        ("amazon ec2", "amazon"),
        ("google", "google"),
        ("alibaba cloud", "alibaba"),
        ("digitalocean", "digitalocean"),
        ("hetzner", "hetzner"),
        ("oraclecloud", "oracle"),
        ("openstack", "openstack"),
        ("firecracker", "firecracker"),
        ("cloud hypervisor", "cloud-hypervisor"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("parallels", "parallels"),
        ("nutanix", "nutanix"),
        ("kvm", "kvm"),
        ("qemu", "qemu"),
        ("bochs", "qemu"),
        ("seabios", "qemu"),
        ("bhyve", "bhyve"),
        ("apple virtualization", "apple"),
        ("virtual machine", "hyper-v"),
        ("xen", "xen"),
        ("hvm domu", "xen"),
    ];
    let name = name.to_ascii_lowercase();
    VENDORS
        .iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, kind)| *kind)
}

/// The hypervisor that signed an ACPI table: bytes 10 to 15 are its maker.
pub fn acpi_vendor(table: &[u8]) -> Option<&'static str> {
    match table.get(10..16)? {
        b"FIRECK" => Some("firecracker"),
        b"CLOUDH" => Some("cloud-hypervisor"),
        b"BOCHS " => Some("qemu"),
        b"AMAZON" => Some("amazon"),
        b"Google" => Some("google"),
        b"VBOX  " => Some("virtualbox"),
        _ => None,
    }
}

pub(super) fn collect(root: &Root) -> Fact<Virtualisation> {
    let fact = |kind: &str, origin: &str| {
        Fact::known(
            Virtualisation {
                kind: kind.to_owned(),
            },
            origin,
        )
    };
    const FLAG: &str = "/proc/cpuinfo flags";
    let flag = match root.head("/proc/cpuinfo") {
        Ok(text) => hypervisor_flag(&text),
        Err(_) => None,
    };
    // Makers' names alone prove nothing: clouds also rent whole machines.
    if flag == Some(false) {
        return fact("none", FLAG);
    }
    let is_wsl = |text: String| text.to_ascii_lowercase().contains("microsoft");
    if root.text("/proc/sys/kernel/osrelease").is_ok_and(is_wsl) {
        return fact("wsl", "/proc/sys/kernel/osrelease");
    }
    let product = format!("{DMI}/product_name");
    if root
        .text(&product)
        .is_ok_and(|text| text.contains(".metal"))
    {
        return fact("none", &product);
    }
    for name in ["sys_vendor", "product_name", "board_vendor", "bios_vendor"] {
        let path = format!("{DMI}/{name}");
        if let Some(kind) = root.text(&path).ok().and_then(|text| vendor(&text)) {
            return fact(kind, &path);
        }
    }
    for path in [
        "/sys/hypervisor/type",
        "/proc/device-tree/hypervisor/compatible",
    ] {
        if let Some(kind) = root.text(path).ok().and_then(|text| vendor(&text)) {
            return fact(kind, path);
        }
    }
    let table = "/sys/firmware/acpi/tables/FACP";
    if let Some(kind) = root.bytes(table).ok().and_then(|bytes| acpi_vendor(&bytes)) {
        return fact(kind, table);
    }
    match flag {
        Some(_) => fact("hypervisor", FLAG),
        None => Fact::unknown("neither processor nor firmware tells", FLAG),
    }
}

/// Whether a group's path is one that container runtimes make.
pub fn is_container_group(path: &str) -> bool {
    const MARKS: &[&str] = &[
        "docker",
        "kubepods",
        "containerd",
        "libpod",
        "lxc",
        "garden",
        "crio",
    ];
    path.split('/').any(|part| {
        // The runtimes' own services run on the host.
        !part.ends_with(".service") && MARKS.iter().any(|mark| part.starts_with(mark))
    })
}

pub(super) fn container(root: &Root) -> Fact<bool> {
    let marks = [
        "/.dockerenv",
        "/run/.containerenv",
        "/run/systemd/container",
        "/run/secrets/kubernetes.io",
    ];
    if let Some(mark) = marks.iter().find(|mark| root.exists(mark)) {
        return Fact::known(true, *mark);
    }
    const GROUPS: &str = "/proc/1/cgroup";
    let groups = root.text(GROUPS);
    if let Ok(text) = &groups
        && cgroup::memberships(text)
            .iter()
            .any(|group| is_container_group(&group.path))
    {
        return Fact::known(true, GROUPS);
    }
    const MOUNTS: &str = "/proc/self/mountinfo";
    match mounts::read(root, "self") {
        Ok(mounts) => {
            let overlay = mounts
                .iter()
                .rfind(|mount| mount.mount_point == "/")
                .is_some_and(|mount| is_container_layer(&mount.filesystem));
            // Machines that are installed from an image have one as well. systemd as the first program
            // of a container would have left its mark above.
            let boots = root.exists("/run/systemd/system");
            Fact::known(overlay && !boots, format!("{MOUNTS} /"))
        }
        Err(why) => Fact::unknown(why, MOUNTS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypervisors_are_known_by_their_signs() {
        assert_eq!(hypervisor_flag("flags\t\t: fpu hypervisor\n"), Some(true));
        assert_eq!(hypervisor_flag("flags\t\t: fpu\n"), Some(false));
        assert_eq!(hypervisor_flag("Features\t: fp asimd\n"), None);
        assert_eq!(vendor("Amazon EC2\n"), Some("amazon"));
        assert_eq!(vendor("Standard PC (Q35 + ICH9) QEMU"), Some("qemu"));
        assert_eq!(vendor("Dell Inc."), None);
        assert_eq!(
            acpi_vendor(b"FACP\x14\x01\0\0\x06fFIRECK"),
            Some("firecracker")
        );
        assert_eq!(acpi_vendor(b"FACP"), None);
    }

    #[test]
    fn a_machine_that_runs_from_an_image_is_no_container() {
        let tree = tempfile::tempdir().unwrap();
        let own = tree.path().join("proc/self");
        std::fs::create_dir_all(&own).unwrap();
        let mounts = "900 1 0:77 / / ro,relatime - overlay composefs ro,lowerdir=/l\n";
        std::fs::write(own.join("mountinfo"), mounts).unwrap();
        let root = Root::new(tree.path());
        assert_eq!(container(&root).get(), Some(true));
        let run = tree.path().join("run/systemd");
        std::fs::create_dir_all(run.join("system")).unwrap();
        assert_eq!(container(&root).get(), Some(false));
        std::fs::write(run.join("container"), "docker").unwrap();
        assert_eq!(container(&root).get(), Some(true));
    }

    #[test]
    fn containers_are_known_by_their_groups() {
        assert!(is_container_group("/docker/0123"));
        assert!(is_container_group("/kubepods.slice/kubepods-pod1.slice/x"));
        assert!(!is_container_group("/system.slice/docker.service"));
        assert!(!is_container_group("/init.scope"));
    }
}
