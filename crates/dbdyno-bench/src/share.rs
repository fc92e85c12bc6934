//! Questions to a server that do not depend on each other, shared out among a few connections.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tpcc::ClientError;

/// More would take too much of a server that others use.
const MOST: usize = 8;

/// As many as there are processors here, on which the server may run too.
pub(crate) fn connections() -> usize {
    let processors = std::thread::available_parallelism();
    processors.map_or(1, usize::from).min(MOST)
}

/// Asks all of them on up to so many connections, each the next that is free; the answers are in the
/// questions' order.
///
/// # Errors
/// The first connection or question that fails ends the others too.
pub(crate) fn share<Connection, Question: Sync, Answer: Send>(
    connections: usize,
    questions: &[Question],
    open: &(dyn Fn() -> Result<Connection, ClientError> + Sync),
    ask: &(dyn Fn(&mut Connection, &Question) -> Result<Answer, ClientError> + Sync),
) -> Result<Vec<Answer>, ClientError> {
    let next = AtomicUsize::new(0);
    let ask_each = || -> Result<Vec<(usize, Answer)>, ClientError> {
        let mut connection = open()?;
        let mut answers = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = questions.get(index) else {
                return Ok(answers);
            };
            answers.push((index, ask(&mut connection, question)?));
        }
    };
    let give_up = |_: &ClientError| next.store(questions.len(), Ordering::Relaxed);
    let asked: Vec<_> = std::thread::scope(|scope| {
        let count = connections.min(questions.len());
        let threads: Vec<_> = (0..count)
            .map(|_| scope.spawn(|| ask_each().inspect_err(give_up)))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(answers) => answers,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let mut answers = Vec::with_capacity(questions.len());
    for some in asked {
        answers.extend(some?);
    }
    answers.sort_unstable_by_key(|(index, _)| *index);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WireError;

    fn open() -> Result<u64, ClientError> {
        Ok(7)
    }

    #[test]
    fn answers_are_in_the_order_of_the_questions() {
        for connections in [1, 3, 100] {
            let questions: Vec<u64> = (0..50).collect();
            let answers = share(
                connections,
                &questions,
                &open,
                &|seven: &mut u64, question: &u64| {
                    std::thread::sleep(std::time::Duration::from_micros(question * 7 % 50));
                    Ok(*seven * question)
                },
            );
            let expected: Vec<u64> = (0..50).map(|question| question * 7).collect();
            assert_eq!(answers.unwrap(), expected);
        }
        let none: Vec<u64> =
            share(3, &[], &open, &|_: &mut u64, question: &u64| Ok(*question)).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn a_failure_is_told_and_ends_the_rest() {
        let asked = AtomicUsize::new(0);
        let questions: Vec<u64> = (0..10_000).collect();
        let answers = share(2, &questions, &open, &|_: &mut u64, question: &u64| {
            asked.fetch_add(1, Ordering::Relaxed);
            if *question == 5 {
                return Err(WireError::Closed.into());
            }
            std::thread::sleep(std::time::Duration::from_micros(50));
            Ok(())
        });
        assert!(matches!(answers, Err(ClientError::Wire(WireError::Closed))));
        assert!(asked.into_inner() < 10_000);
        let refused = || Err::<(), _>(WireError::Closed.into());
        let answers = share(2, &questions, &refused, &|_: &mut (), question: &u64| {
            Ok(*question)
        });
        assert!(answers.is_err());
    }
}
