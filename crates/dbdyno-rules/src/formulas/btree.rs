//! How many pages a lookup in a B-tree passes.

/// Leaves of InnoDB's clustered index: rows over what fits into a page filled that far.
///
/// Source: Tuning InnoDB Primary Keys, Percona blog, 2018-07-26, which counts 75 rows a page
pub fn innodb_leaf_pages(rows: f64, row_bytes: f64, page_bytes: f64, fill: f64) -> f64 {
    (rows * row_bytes / (page_bytes * fill)).ceil()
}

/// Pages that an inner page of InnoDB can point to: about 750 bytes of a page are not for records,
/// and a pointer takes nine bytes beside its key.
///
/// Source: the same article
pub fn innodb_fan_out(page_bytes: f64, key_bytes: f64) -> f64 {
    ((page_bytes - 750.0) / (key_bytes + 9.0)).floor()
}

/// Levels from the root to the leaves, both counted.
///
/// Source: the same article
pub fn levels(leaf_pages: f64, fan_out: f64) -> f64 {
    if leaf_pages <= 1.0 || fan_out < 2.0 {
        return leaf_pages.clamp(0.0, 1.0);
    }
    1.0 + (leaf_pages.ln() / fan_out.ln()).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_article_s_table_has_three_levels() {
        // Three million rows, 75 to a page.
        let leaves = (3e6_f64 / 75.0).ceil();
        assert_eq!(leaves, 40_000.0);
        assert_eq!(
            innodb_leaf_pages(3e6, 200.0, 16_384.0, 15.0 / 16.0),
            39_063.0
        );
        let fan_out = innodb_fan_out(16_384.0, 4.0);
        assert!((1200.0..=1203.0).contains(&fan_out), "{fan_out}");
        assert_eq!((leaves / fan_out).ceil(), 34.0);
        assert_eq!(levels(leaves, fan_out), 3.0);
    }

    #[test]
    fn a_tree_of_one_page_has_one_level() {
        assert_eq!(levels(1.0, 285.0), 1.0);
        assert_eq!(levels(0.0, 285.0), 0.0);
        assert_eq!(levels(274.0, 285.0), 2.0);
        assert_eq!(levels(5000.0, 1.0), 1.0);
    }
}
