//! How many pages rows and index entries need when they are packed as well as the server packs them.

use super::PAGE_BYTES;

/// At the beginning of each page.
const PAGE_HEADER_BYTES: f64 = 24.0;

/// What points to a row or an entry within its page.
const ITEM_POINTER_BYTES: f64 = 4.0;

/// A row's header of 23 bytes, aligned. A bitmap of nulls, which wide rows have, is left out.
const ROW_HEADER_BYTES: f64 = 24.0;

/// An index entry's header.
const ENTRY_HEADER_BYTES: f64 = 8.0;

/// At the end of each B-tree page: links to its neighbours.
const BTREE_SPECIAL_BYTES: f64 = 16.0;

/// Everything on a page begins at a multiple of this.
const ALIGNMENT_BYTES: f64 = 8.0;

/// How full leaves are built, in percent, where the index has no option of its own.
pub const BTREE_FILLFACTOR: f64 = 90.0;

/// How full pages above the leaves are built, in percent.
const BTREE_INNER_FILLFACTOR: f64 = 70.0;

/// Pages that a table of these rows needs; `row_bytes` is their data without the header.
///
/// Source: <https://www.postgresql.org/docs/current/storage-page-layout.html>
pub fn heap_pages(rows: f64, row_bytes: f64, fillfactor_percent: f64) -> f64 {
    let room = (PAGE_BYTES as f64 - PAGE_HEADER_BYTES) * fillfactor_percent / 100.0;
    pages(rows, room, ROW_HEADER_BYTES + row_bytes)
}

/// Leaves that a B-tree of these entries needs, where each row has an entry of its own: equal keys
/// share one from 13 on.
///
/// Source: <https://www.postgresql.org/docs/current/btree-implementation.html>
pub fn btree_leaf_pages(entries: f64, key_bytes: f64, fillfactor_percent: f64) -> f64 {
    let room = btree_room() * fillfactor_percent / 100.0;
    pages(entries, room, ENTRY_HEADER_BYTES + key_bytes)
}

/// Pages that an inner page of a B-tree can point to, each by a key in full: the server cuts keys
/// of several columns short, so that there may be more.
///
/// Source: <https://www.postgresql.org/docs/current/btree-implementation.html>
pub fn btree_fan_out(key_bytes: f64) -> f64 {
    per_page(
        btree_room() * BTREE_INNER_FILLFACTOR / 100.0,
        ENTRY_HEADER_BYTES + key_bytes,
    )
}

/// Percent of a page to fill so that it keeps room for two new versions of a row, within 80 and 90:
/// less room is soon used up, more makes every scan longer.
///
/// Source: <https://www.postgresql.org/docs/current/storage-hot.html>
pub fn fillfactor_for_updates(row_bytes: f64) -> f64 {
    let room = PAGE_BYTES as f64 - PAGE_HEADER_BYTES;
    let row = aligned(ROW_HEADER_BYTES + row_bytes) + ITEM_POINTER_BYTES;
    let percent = (1.0 - 2.0 * row / room) * 100.0;
    // Steps of five: what a person would write.
    ((percent / 5.0).floor() * 5.0).clamp(80.0, 90.0)
}

fn btree_room() -> f64 {
    PAGE_BYTES as f64 - PAGE_HEADER_BYTES - BTREE_SPECIAL_BYTES
}

fn pages(count: f64, room: f64, item_bytes: f64) -> f64 {
    (count / per_page(room, item_bytes)).ceil()
}

/// An item that is larger than a page takes one: the rest of it lies in TOAST.
fn per_page(room: f64, item_bytes: f64) -> f64 {
    (room / (aligned(item_bytes) + ITEM_POINTER_BYTES))
        .floor()
        .max(1.0)
}

fn aligned(bytes: f64) -> f64 {
    (bytes / ALIGNMENT_BYTES).ceil() * ALIGNMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pgbench_s_accounts_are_as_large_as_they_are() {
        // Three integers and a char(84), which pgbench -i makes 100,000 of: 1640 pages, and 274
        // leaves in the primary key.
        assert_eq!(heap_pages(100_000.0, 97.0, 100.0), 1640.0);
        assert_eq!(btree_leaf_pages(100_000.0, 4.0, BTREE_FILLFACTOR), 274.0);
        assert_eq!(btree_fan_out(4.0), 285.0);
    }

    #[test]
    fn a_lower_fillfactor_takes_more_pages_and_an_empty_table_none() {
        assert!(heap_pages(1e6, 97.0, 50.0) > 2.0 * heap_pages(1e6, 97.0, 100.0));
        assert_eq!(heap_pages(0.0, 97.0, 100.0), 0.0);
        assert_eq!(heap_pages(10.0, 20_000.0, 100.0), 10.0);
    }

    #[test]
    fn the_fillfactor_leaves_room_for_two_versions_within_bounds() {
        assert_eq!(fillfactor_for_updates(100.0), 90.0);
        assert_eq!(fillfactor_for_updates(500.0), 85.0);
        assert_eq!(fillfactor_for_updates(3000.0), 80.0);
    }
}
