//! The deck of cards that holds the transaction mix exactly (clause 5.2.4.2).

use super::random::Random;

/// Cards of each transaction in a deck, in the order of [`super::TRANSACTIONS`].
const CARDS: [usize; 5] = [10, 10, 1, 1, 1];
const SIZE: usize = 23;

/// A terminal's cards: dealt one by one, shuffled again when all are dealt.
#[derive(Debug, Clone)]
pub(crate) struct Deck {
    cards: [u8; SIZE],
    dealt: usize,
}

impl Deck {
    pub(crate) fn new() -> Self {
        let mut cards = [0; SIZE];
        let mut from = 0;
        for (transaction, count) in CARDS.into_iter().enumerate() {
            cards[from..from + count].fill(transaction as u8);
            from += count;
        }
        Self { cards, dealt: SIZE }
    }

    /// A card of a full deck, each as likely, and back again.
    pub(crate) fn any(random: &mut Random) -> usize {
        let cards = Self::new().cards;
        usize::from(cards[random.uniform(0..=SIZE as u32 - 1) as usize])
    }

    /// The index of the next transaction.
    pub(crate) fn deal(&mut self, random: &mut Random) -> usize {
        if self.dealt == SIZE {
            random.shuffle(&mut self.cards);
            self.dealt = 0;
        }
        let card = self.cards[self.dealt];
        self.dealt += 1;
        usize::from(card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_full_deck_holds_the_mix_exactly_and_in_a_new_order() {
        let mut random = Random::stream(5, &[]);
        let mut deck = Deck::new();
        let mut orders = Vec::new();
        for _ in 0..50 {
            let order: Vec<usize> = (0..SIZE).map(|_| deck.deal(&mut random)).collect();
            let mut counts = [0; 5];
            for &card in &order {
                counts[card] += 1;
            }
            assert_eq!(counts, CARDS);
            orders.push(order);
        }
        orders.dedup();
        assert_eq!(orders.len(), 50);
    }
}
