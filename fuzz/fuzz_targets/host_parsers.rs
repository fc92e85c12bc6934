//! Every parser of host files, fed with whatever bytes come.

#![no_main]

use dbdyno_target::host::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = parse::acpi_vendor(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = (
        parse::alignment(&text),
        parse::kind(&text),
        parse::scheduler(&text),
    );
    let _ = (
        parse::byte_limit(&text),
        parse::cpu_max(&text),
        parse::memberships(&text),
    );
    let _ = (parse::counter(&text, "oom_kill"), parse::throttling(&text));
    let _ = (parse::lock_file(&text), parse::sockets(&text));
    let _ = (
        parse::allowed(&text),
        parse::model(&text),
        parse::hypervisor_flag(&text),
    );
    let _ = (parse::limits(&text), parse::status_bytes(&text, "VmRSS"));
    let _ = parse::hard_limits(&text);
    let _ = (
        parse::meminfo(&text),
        parse::swaps(&text),
        parse::mountinfo(&text),
    );
    let _ = (parse::nodes(&text), parse::stall(&text), parse::size(&text));
    let _ = (
        parse::cpus(&text),
        parse::vmstat(&text),
        parse::sysctl(&text),
    );
    let _ = (
        parse::cpu_list(&text),
        parse::first_number(&text),
        parse::flag(&text),
    );
    let _ = (
        parse::phrase(&text),
        parse::selected(&text),
        parse::number::<u64>(&text),
    );
    let _ = (parse::vendor(&text), parse::is_container_group(&text));
    let _ = (
        parse::entries(&text),
        parse::sysctl_lines(&text, "/f"),
        parse::sysctl_name(&text),
    );
    let _ = (parse::profile(&text, "/f"), parse::reapplies_sysctl(&text));
    let _ = (parse::directives(&text, "/f"), parse::service(&text));
    let _ = (parse::remove_ipc(&text), parse::remove_ipc_default(&text));
    let _ = (parse::group_name(&text), parse::physical_volumes(&text));
    let _ = (
        parse::shared_memory(&text),
        parse::libc(&text),
        parse::libc_name_version(&text),
    );
    let _ = (parse::libc_banner_version(bytes), parse::status_uid(&text));
    let _ = (
        parse::confinement(&text),
        parse::kernel_options(&text),
        parse::fstab_options(&text, "/"),
    );
    let _ = (parse::diskstats(&text), parse::listening(&text));
    let _ = (
        parse::node(&text, 0),
        parse::cache_max(&text),
        parse::misaligned(&text),
        parse::mapper(&text),
    );
    let _ = (
        parse::switch(&text),
        parse::status(&text),
        parse::account_name(&text, 0),
    );
    let _ = parse::data_argument(&text.split('\0').collect::<Vec<_>>());
    if let Ok(time) = parse::cpu_time(&text) {
        // The sum must not overflow either.
        let _ = time.total();
    }
});
