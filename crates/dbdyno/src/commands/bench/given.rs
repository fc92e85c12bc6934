//! Which options of its own a workload was given.

use crate::cli::{BenchData, BenchLoad, BenchRun, BenchStored, Keyed, Sbtest, TpccData, TpccLoad};

/// Options, and whether they were given.
pub(super) type Given = Vec<(&'static str, bool)>;

pub(super) fn of_load(load: &BenchLoad) -> Given {
    let TpccLoad {
        warehouses,
        sets,
        layout,
        no_foreign_keys,
    } = &load.tpcc;
    let own = [
        ("--warehouses", warehouses.is_some()),
        ("--sets", sets.is_some()),
        ("--layout", layout.is_some()),
        ("--no-foreign-keys", *no_foreign_keys),
        ("--seed", load.seed.is_some()),
        ("--threads", load.threads.is_some()),
    ];
    [of_data(&load.data), own.to_vec()].concat()
}

pub(super) fn of_run(run: &BenchRun) -> Given {
    let own = [
        ("--think", run.think.is_some()),
        ("--mode", run.mode.is_some()),
    ];
    [of_data(&run.data), of_tpcc(&run.tpcc), own.to_vec()].concat()
}

pub(super) fn of_stored(stored: &BenchStored) -> Given {
    [of_data(&stored.data), of_tpcc(&stored.tpcc)].concat()
}

fn of_tpcc(tpcc: &TpccData) -> Given {
    let TpccData {
        layout,
        sets,
        warehouses,
    } = tpcc;
    vec![
        ("--layout", layout.is_some()),
        ("--sets", sets.is_some()),
        ("--warehouses", warehouses.is_some()),
    ]
}

fn of_data(data: &BenchData) -> Given {
    let Sbtest {
        tables,
        table_size,
        rand_type,
        skip_trx,
        range_size,
        range_selects,
        point_selects,
        simple_ranges,
        sum_ranges,
        order_ranges,
        distinct_ranges,
        index_updates,
        non_index_updates,
        delete_inserts,
        random_points,
        number_of_ranges,
        delta,
    } = &data.sbtest;
    let Keyed {
        key,
        rows,
        filler,
        friends,
        key_order,
        batch,
        statements,
    } = &data.keyed;
    vec![
        ("--tables", tables.is_some()),
        ("--table-size", table_size.is_some()),
        ("--rand-type", rand_type.is_some()),
        ("--skip-trx", *skip_trx),
        ("--range-size", range_size.is_some()),
        ("--range-selects", range_selects.is_some()),
        ("--point-selects", point_selects.is_some()),
        ("--simple-ranges", simple_ranges.is_some()),
        ("--sum-ranges", sum_ranges.is_some()),
        ("--order-ranges", order_ranges.is_some()),
        ("--distinct-ranges", distinct_ranges.is_some()),
        ("--index-updates", index_updates.is_some()),
        ("--non-index-updates", non_index_updates.is_some()),
        ("--delete-inserts", delete_inserts.is_some()),
        ("--random-points", random_points.is_some()),
        ("--number-of-ranges", number_of_ranges.is_some()),
        ("--delta", delta.is_some()),
        ("--key", key.is_some()),
        ("--rows", rows.is_some()),
        ("--filler", filler.is_some()),
        ("--friends", friends.is_some()),
        ("--key-order", key_order.is_some()),
        ("--batch", batch.is_some()),
        ("--statements", statements.is_some()),
    ]
}
