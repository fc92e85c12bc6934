//! The statistics of a comparison as pure functions: nothing here reads a clock, a file or a socket.

mod autocorrelation;
mod design;
mod histogram;
mod holm;
mod judge;
mod noise;
mod paired;
mod student;
mod unpaired;
mod warmup;

pub use autocorrelation::{
    MAX_WINDOW_S, MIN_WINDOW_S, best_window_s, block_bootstrap_interval, effective_sample_size, tau,
};
pub use design::{Design, DesignError, Order, order_of_pair};
pub use histogram::{decode_histogram, encode_histogram, merge_histograms, new_histogram};
pub use holm::{holm, paired_t_p};
pub use judge::{Judgement, Step, Word, judge, too_noisy};
pub use noise::{Disturbance, RunConditions, Tolerance, disturbance};
pub use paired::{Interval, interval_of_log_ratios, pairs_needed, s_d, smallest_detectable_effect};
pub use student::{normal_quantile, t_quantile, t_two_sided_p};
pub use unpaired::unpaired_interval_of_log_ratio;
pub use warmup::{
    BATCH, LEAST_IN_BATCH, MIN_BATCHES, TAIL_BATCHES, Warmup, drifts, mser5, mser5_joined,
    slope_per_window,
};
