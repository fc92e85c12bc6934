//! Labels in a column, kept from lying over each other.

/// Moves labels apart: each as near to its wish as a distance of `gap` and the range allow.
///
/// The order stays, equals by their index, so that the same wishes give the same places.
pub(super) fn spread(wishes: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by(|a, b| wishes[*a].total_cmp(&wishes[*b]));
    let mut places = vec![0.0; wishes.len()];
    let mut free = low;
    for index in &order {
        places[*index] = wishes[*index].clamp(low, high).max(free);
        free = places[*index] + gap;
    }
    // What was pushed over the end goes back, and pushes those before it.
    let mut limit = high;
    for index in order.iter().rev() {
        places[*index] = places[*index].min(limit);
        limit = places[*index] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::spread;
    use proptest::prelude::*;

    #[test]
    fn labels_apart_stay_where_they_are() {
        assert_eq!(spread(&[50.0, 10.0], 13.0, 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(spread(&[99.0, 99.0], 13.0, 0.0, 100.0), [87.0, 100.0]);
    }

    proptest! {
        #[test]
        fn no_two_overlap(wishes in prop::collection::vec(-50.0_f64..150.0, 0..7)) {
            let mut places = spread(&wishes, 13.0, 0.0, 100.0);
            places.sort_by(f64::total_cmp);
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 13.0 - 1e-6));
            prop_assert!(places.iter().all(|place| (-1e-6..=100.0 + 1e-6).contains(place)));
        }
    }
}
