//! What PostgreSQL's settings may use of a machine's memory.

use super::{KIB, MIB};

/// Share of the memory that a plan may promise away; the rest is the kernel's, the page cache's
/// and everyone else's.
pub const PLANNED_SHARE: f64 = 0.85;

/// Sorts and hashes that one backend runs at the same time. A plan with three of them is common
/// in reports, one in short transactions: the model takes the larger, because `work_mem` is
/// granted to each.
pub const NODES_PER_BACKEND: u64 = 3;

/// Memory of a backend before it sorts or hashes: catalogue caches, plans, page tables.
pub const BACKEND_BYTES: u64 = 10 * MIB;

/// Settings that take memory, in bytes and counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    pub shared_buffers: u64,
    pub wal_buffers: u64,
    pub autovacuum_workers: u64,
    /// `autovacuum_work_mem`, or `maintenance_work_mem` where that is −1.
    pub autovacuum_work_mem: u64,
    pub active_backends: u64,
    pub work_mem: u64,
    pub hash_mem_multiplier: f64,
    pub parallel_workers: u64,
}

/// The terms of the memory model, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub shared_buffers: u64,
    pub wal_buffers: u64,
    pub autovacuum: u64,
    pub active: u64,
    pub parallel: u64,
}

impl Terms {
    /// Adds up without overflowing: a nonsensical setting must read as "too much", not as little.
    pub fn sum(&self) -> u64 {
        [
            self.shared_buffers,
            self.wal_buffers,
            self.autovacuum,
            self.active,
            self.parallel,
        ]
        .iter()
        .fold(0, |sum: u64, term| sum.saturating_add(*term))
    }
}

/// shared_buffers + wal_buffers + workers · autovacuum_work_mem + active · (work_mem · multiplier ·
/// nodes + 10 MB) + parallel workers · work_mem · nodes.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-resource.html>
pub fn terms(sizes: &Sizes) -> Terms {
    let hashes = (sizes.work_mem as f64 * sizes.hash_mem_multiplier) as u64;
    let backend = hashes
        .saturating_mul(NODES_PER_BACKEND)
        .saturating_add(BACKEND_BYTES);
    Terms {
        shared_buffers: sizes.shared_buffers,
        wal_buffers: sizes.wal_buffers,
        autovacuum: sizes
            .autovacuum_workers
            .saturating_mul(sizes.autovacuum_work_mem),
        active: sizes.active_backends.saturating_mul(backend),
        parallel: sizes
            .parallel_workers
            .saturating_mul(sizes.work_mem)
            .saturating_mul(NODES_PER_BACKEND),
    }
}

/// What a plan may use of `memory` bytes.
pub fn budget_bytes(memory: u64) -> u64 {
    (memory as f64 * PLANNED_SHARE) as u64
}

/// Largest `work_mem` in bytes that a machine of `memory` bytes can grant to every active backend;
/// 0 where the rest has used the memory up.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-resource.html>
pub fn work_mem_ceiling_bytes(
    memory: u64,
    shared_buffers: u64,
    maintenance: u64,
    max_connections: u64,
    active_backends: u64,
    hash_mem_multiplier: f64,
) -> u64 {
    let fixed = shared_buffers
        .saturating_add(maintenance)
        .saturating_add(max_connections.saturating_mul(BACKEND_BYTES));
    let left = budget_bytes(memory).saturating_sub(fixed);
    let shares = active_backends.max(1) as f64 * NODES_PER_BACKEND as f64 * hash_mem_multiplier;
    (left as f64 / shares.max(1.0)) as u64
}

/// What `wal_buffers = -1` gives: 1/32 of shared_buffers, at most one segment, at least 64 kB.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-wal.html>
pub fn automatic_wal_buffers_bytes(shared_buffers: u64, wal_segment: u64) -> u64 {
    (shared_buffers / 32).clamp(64 * KIB, wal_segment.max(64 * KIB))
}

/// Bytes of page tables that huge pages save for each backend that touches all of shared_buffers:
/// eight bytes for every 4 KiB page.
///
/// Source: <https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-HUGE-PAGES>
pub fn page_table_saving_bytes(shared_buffers: u64) -> u64 {
    shared_buffers / 512
}

/// Huge pages that hold so many bytes; none for pages of 0 bytes.
///
/// Source: <https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-HUGE-PAGES>
pub fn huge_pages_for(bytes: u64, page_bytes: u64) -> Option<u64> {
    (page_bytes > 0).then(|| bytes.div_ceil(page_bytes))
}

/// Bytes that the kernel lets be promised under `vm.overcommit_memory = 2`.
///
/// Source: <https://docs.kernel.org/mm/overcommit-accounting.html>
pub fn commit_limit_bytes(memory: u64, huge_pages: u64, swap: u64, ratio_percent: u64) -> u64 {
    let ordinary = memory.saturating_sub(huge_pages);
    let share = u128::from(ordinary) * u128::from(ratio_percent) / 100;
    swap.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::GIB;

    fn sizes() -> Sizes {
        Sizes {
            shared_buffers: 4 * GIB,
            wal_buffers: 16 * MIB,
            autovacuum_workers: 3,
            autovacuum_work_mem: 64 * MIB,
            active_backends: 8,
            work_mem: 4 * MIB,
            hash_mem_multiplier: 2.0,
            parallel_workers: 2,
        }
    }

    #[test]
    fn the_model_adds_up_its_terms() {
        let terms = terms(&sizes());
        assert_eq!(terms.autovacuum, 192 * MIB);
        assert_eq!(terms.active, 8 * 34 * MIB);
        assert_eq!(terms.parallel, 24 * MIB);
        assert_eq!(terms.sum(), 4 * GIB + (16 + 192 + 272 + 24) * MIB);
    }

    #[test]
    fn nonsense_reads_as_too_much() {
        let all = terms(&Sizes {
            work_mem: u64::MAX,
            ..sizes()
        });
        assert_eq!(all.sum(), u64::MAX);
    }

    #[test]
    fn the_ceiling_of_work_mem_shares_what_is_left() {
        // 0.85 · 100 GiB − 25 − 1 − 100 · 10 MiB, over 20 backends · 3 nodes · 2.
        let ceiling = work_mem_ceiling_bytes(100 * GIB, 25 * GIB, GIB, 100, 20, 2.0);
        let left = 85 * GIB - 26 * GIB - 1000 * MIB;
        assert_eq!(ceiling, left / 120);
        assert_eq!(work_mem_ceiling_bytes(GIB, 4 * GIB, 0, 100, 20, 2.0), 0);
    }

    #[test]
    fn automatic_wal_buffers_follow_shared_buffers_up_to_a_segment() {
        assert_eq!(automatic_wal_buffers_bytes(128 * MIB, 16 * MIB), 4 * MIB);
        assert_eq!(automatic_wal_buffers_bytes(64 * GIB, 16 * MIB), 16 * MIB);
        assert_eq!(automatic_wal_buffers_bytes(128 * KIB, 16 * MIB), 64 * KIB);
    }

    #[test]
    fn huge_pages_save_128_mib_a_backend_at_64_gib() {
        assert_eq!(page_table_saving_bytes(64 * GIB), 128 * MIB);
    }

    #[test]
    fn the_commit_limit_of_64_gb_with_20_gb_of_huge_pages() {
        let gb = 1_000_000_000;
        assert_eq!(
            commit_limit_bytes(64 * gb, 20 * gb, 4 * gb, 80),
            39_200_000_000
        );
    }

    #[test]
    fn the_article_s_limit_of_3_gb_takes_2_gb_of_swap_beside_2_gb_of_memory() {
        let gb = 1_000_000_000;
        assert_eq!(commit_limit_bytes(2 * gb, 0, 2 * gb, 50), 3 * gb);
        assert_eq!(commit_limit_bytes(2 * gb, 0, 0, 50), gb);
        assert_eq!(commit_limit_bytes(u64::MAX, 0, 1, 200), u64::MAX);
    }

    #[test]
    fn the_article_s_postmaster_needs_one_huge_page_more_than_it_says() {
        // VmPeak of 180,932 kB in pages of 2,048: the article's script cuts 88.3 off to 88.
        assert_eq!(180_932_u64 / 2048, 88);
        assert_eq!(huge_pages_for(180_932 * KIB, 2 * MIB), Some(89));
        assert_eq!(huge_pages_for(176 * MIB, 2 * MIB), Some(88));
        assert_eq!(huge_pages_for(1, 0), None);
        assert_eq!(huge_pages_for(u64::MAX, 1), Some(u64::MAX));
    }
}
