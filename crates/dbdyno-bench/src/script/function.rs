//! pgbench's functions.

use super::expression::{Value, overflow};
use super::operator::Operator;
use super::random::Random;
use crate::tables::numbers::Permutation;
use crate::tpcc;

pub(super) const MAX_ARGUMENTS: usize = 8;

/// First step of the path of the streams that permutations are made from.
const PERMUTATION: u64 = 0x7065_726d;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Pow,
    Sqrt,
    Uniform,
    Gaussian,
    Exponential,
    Zipfian,
}

/// How a function is called: its name, how many arguments it takes, and what they are.
pub(super) struct Signature {
    pub(super) function: Function,
    pub(super) name: &'static str,
    pub(super) fewest: usize,
    pub(super) most: usize,
    pub(super) arguments: &'static str,
}

const fn taking(
    function: Function,
    name: &'static str,
    fewest: usize,
    most: usize,
    arguments: &'static str,
) -> Signature {
    Signature {
        function,
        name,
        fewest,
        most,
        arguments,
    }
}

/// Of two names for one function the first is printed.
static SIGNATURES: [Signature; 20] = [
    taking(Function::Abs, "abs", 1, 1, "(x)"),
    taking(Function::Double, "double", 1, 1, "(x)"),
    taking(Function::Exp, "exp", 1, 1, "(x)"),
    taking(Function::Greatest, "greatest", 1, MAX_ARGUMENTS, "(x, …)"),
    taking(Function::HashMurmur2, "hash", 1, 2, "(x, seed)"),
    taking(Function::HashFnv1a, "hash_fnv1a", 1, 2, "(x, seed)"),
    taking(Function::HashMurmur2, "hash_murmur2", 1, 2, "(x, seed)"),
    taking(Function::Int, "int", 1, 1, "(x)"),
    taking(Function::Least, "least", 1, MAX_ARGUMENTS, "(x, …)"),
    taking(Function::Ln, "ln", 1, 1, "(x)"),
    taking(Function::Mod, "mod", 2, 2, "(i, j)"),
    taking(Function::Permute, "permute", 2, 3, "(i, size, seed)"),
    taking(Function::Pi, "pi", 0, 0, "()"),
    taking(Function::Pow, "pow", 2, 2, "(x, y)"),
    taking(Function::Pow, "power", 2, 2, "(x, y)"),
    taking(Function::Uniform, "random", 2, 2, "(lo, hi)"),
    taking(
        Function::Exponential,
        "random_exponential",
        3,
        3,
        "(lo, hi, parameter)",
    ),
    taking(
        Function::Gaussian,
        "random_gaussian",
        3,
        3,
        "(lo, hi, parameter)",
    ),
    taking(
        Function::Zipfian,
        "random_zipfian",
        3,
        3,
        "(lo, hi, parameter)",
    ),
    taking(Function::Sqrt, "sqrt", 1, 1, "(x)"),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<&'static Signature> {
        let mut all = SIGNATURES.iter();
        all.find(|signature| signature.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn names() -> String {
        SIGNATURES.each_ref().map(|it| it.name).join(", ")
    }

    pub(super) fn name(self) -> &'static str {
        let found = SIGNATURES.iter().find(|it| it.function == self);
        found.map_or("", |signature| signature.name)
    }

    pub(super) fn call(self, given: &[Value], random: &mut Random) -> Result<Value, String> {
        let at = |index: usize| given.get(index).copied().unwrap_or(Value::Int(0));
        let float = |value: f64| match value.is_finite() {
            true => Ok(Value::Float(value)),
            false => Err(format!("{}: the result is not a number", self.name())),
        };
        let (first, second) = (at(0), at(1));
        match self {
            Self::Abs => match first {
                Value::Int(int) => int.checked_abs().map(Value::Int).ok_or_else(overflow),
                Value::Float(value) => float(value.abs()),
            },
            Self::Double => float(first.as_f64()),
            Self::Exp => float(first.as_f64().exp()),
            Self::Ln => float(first.as_f64().ln()),
            Self::Sqrt => float(first.as_f64().sqrt()),
            Self::Pow => float(first.as_f64().powf(second.as_f64())),
            Self::Pi => float(std::f64::consts::PI),
            Self::Int => rounded(first),
            Self::Greatest => chosen(given, Operator::Greater),
            Self::Least => chosen(given, Operator::Less),
            Self::Mod => {
                let (i, j) = (self.integer(first)?, self.integer(second)?);
                Operator::Remainder.apply(Value::Int(i), Value::Int(j))
            }
            Self::HashFnv1a => self.hash(fnv1a, first, second),
            Self::HashMurmur2 => self.hash(murmur2, first, second),
            Self::Permute => {
                let (index, size) = (self.integer(first)?, self.integer(second)?);
                permuted(index, size, self.integer(at(2))?)
            }
            Self::Uniform | Self::Gaussian | Self::Exponential | Self::Zipfian => {
                self.draw([first, second, at(2)], random).map(Value::Int)
            }
        }
    }

    fn hash(self, of: fn(i64, i64) -> i64, value: Value, seed: Value) -> Result<Value, String> {
        Ok(Value::Int(of(self.integer(value)?, self.integer(seed)?)))
    }

    fn integer(self, value: Value) -> Result<i64, String> {
        let whole = value.as_i64();
        whole.ok_or_else(|| format!("{}: {value} is not an integer", self.name()))
    }

    fn draw(self, given: [Value; 3], random: &mut Random) -> Result<i64, String> {
        let name = self.name();
        let bound = |value: Value| {
            value
                .as_i64()
                .ok_or_else(|| format!("{name}: a bound of {value} is not an integer"))
        };
        let (lo, hi, parameter) = (bound(given[0])?, bound(given[1])?, given[2].as_f64());
        if lo > hi {
            return Err(format!(
                "{name}: the lower bound {lo} is above the upper bound {hi}"
            ));
        }
        let refused = |range: &str| {
            Err(format!(
                "{name}: the parameter must be {range}, not {parameter}"
            ))
        };
        match self {
            Self::Gaussian if !(2.0..=1e9).contains(&parameter) => refused("at least 2"),
            Self::Gaussian => Ok(random.gaussian(lo, hi, parameter)),
            Self::Exponential if !(parameter > 0.0 && parameter <= 1e9) => refused("above 0"),
            Self::Exponential => Ok(random.exponential(lo, hi, parameter)),
            Self::Zipfian if !(1.001..=1000.0).contains(&parameter) => {
                refused("from 1.001 to 1000")
            }
            Self::Zipfian => Ok(random.zipfian(lo, hi, parameter)),
            _ => Ok(random.uniform(lo, hi)),
        }
    }
}

fn rounded(value: Value) -> Result<Value, String> {
    let whole = match value {
        Value::Int(int) => Some(int),
        Value::Float(float) => Value::Float(float.round_ties_even()).as_i64(),
    };
    whole
        .map(Value::Int)
        .ok_or_else(|| format!("int: {value} does not fit 64 bits"))
}

/// The one that compares so with all others; a float where any is one.
fn chosen(given: &[Value], better: Operator) -> Result<Value, String> {
    let mut best = given.first().copied().unwrap_or(Value::Int(0));
    for &value in given {
        if better.apply(value, best)?.is_true() {
            best = value;
        }
    }
    match given.iter().all(|value| matches!(value, Value::Int(_))) {
        true => Ok(best),
        false => Ok(Value::Float(best.as_f64())),
    }
}

/// FNV-1a over the eight bytes of a number, the lowest first (draft-eastlake-fnv).
fn fnv1a(value: i64, seed: i64) -> i64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = value.to_le_bytes();
    let hash = bytes
        .into_iter()
        .fold(OFFSET_BASIS ^ seed as u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(PRIME)
        });
    hash as i64
}

/// MurmurHash64A, by Austin Appleby, of eight bytes.
fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mix = |number: u64| number ^ (number >> SHIFT);
    let key = mix((value as u64).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    let length = MULTIPLIER.wrapping_mul(8);
    let hash = (seed as u64 ^ length ^ key).wrapping_mul(MULTIPLIER);
    mix(mix(hash).wrapping_mul(MULTIPLIER)) as i64
}

/// Where a number stands in a random order of 0..`size`, which the seed alone decides.
fn permuted(index: i64, size: i64, seed: i64) -> Result<Value, String> {
    if size <= 0 {
        return Err(format!("permute: the size must be above 0, not {size}"));
    }
    let mut stream = tpcc::random::Random::stream(seed as u64, &[PERMUTATION]);
    let order = Permutation::new(&mut stream, size as u64);
    Ok(Value::Int(order.at(index.rem_euclid(size) as u64) as i64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashes_are_those_of_pgbench() {
        // What the tests of pgbench itself expect.
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
    }

    #[test]
    fn a_name_is_found_again() {
        for signature in &SIGNATURES {
            let named = Function::named(&signature.name.to_uppercase()).unwrap();
            assert_eq!(named.function, signature.function);
            let printed = Function::named(signature.function.name()).unwrap();
            assert_eq!(printed.function, signature.function);
            assert!(signature.fewest <= signature.most && signature.most <= MAX_ARGUMENTS);
        }
    }

    proptest! {
        #[test]
        fn a_permutation_has_each_number_once(size in 1_i64..200, seed: i64) {
            let all: BTreeSet<i64> = (0..size)
                .filter_map(|index| permuted(index, size, seed).ok()?.as_i64())
                .collect();
            prop_assert_eq!(all.len() as i64, size);
            prop_assert!(all.iter().all(|value| (0..size).contains(value)));
            prop_assert_eq!(permuted(-1, size, seed), permuted(size - 1, size, seed));
        }

        #[test]
        fn no_arguments_panic(a: i64, b: i64, x: f64, seed: u64, index in 0..SIGNATURES.len()) {
            let signature = &SIGNATURES[index];
            let mut random = Random::new(seed, 0);
            for given in [[Value::Int(a), Value::Int(b), Value::Float(x)], [Value::Float(x); 3]] {
                let given = &given[..signature.most.min(3)];
                if let Ok(Value::Float(value)) = signature.function.call(given, &mut random) {
                    prop_assert!(value.is_finite() || x.is_nan() || x.is_infinite());
                }
            }
        }
    }
}
