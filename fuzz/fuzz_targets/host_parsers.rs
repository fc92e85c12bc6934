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
    if let Ok(time) = parse::cpu_time(&text) {
        // The sum must not overflow either.
        let _ = time.total();
    }
});
