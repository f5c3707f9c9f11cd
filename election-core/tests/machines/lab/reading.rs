//! Reads the `Debug` form of a machine: words that matter as they are, names, and numbers of which only the order
//! matters.

use std::rc::Rc;

use super::Model;
use super::mix::hash;
use super::tickets::INCARNATION;

#[derive(Clone, Copy, Debug)]
pub(super) enum Word<N> {
    Plain(u64),
    Token(i64),
    Session(i64),
    Ticket(u64),
    /// The incarnation of this machine.
    Present(u64),
    /// How many children were created.
    Arrivals(i64),
    Name(N),
    /// From here on tickets are those of this machine, and of this client.
    Actor(u8),
    Client,
}

pub(super) type Tape<N> = Rc<[Word<N>]>;

/// Reads a `Debug` form.
pub(super) fn read<M: Model>(text: &str, are_alike: bool) -> Tape<M::Name> {
    let (mut words, mut rest, mut from) = (Vec::new(), text, text);
    let mut is_inside_a_word = false;
    let mut is_of_second = false;
    while let Some(first) = rest.chars().next() {
        if is_inside_a_word {
            is_inside_a_word = first.is_ascii_alphanumeric();
            rest = &rest[first.len_utf8()..];
            continue;
        }
        // The two machines of one recipe count their requests by themselves.
        if let Some(part) = rest.strip_prefix("part: ") {
            is_of_second = part.starts_with("Second");
        }
        let alike = || if are_alike { alike_at(rest) } else { None };
        if let Some((mut word, length)) = alike().or_else(|| word_at::<M>(rest)) {
            if let Some(Word::Ticket(step)) = &mut word {
                *step = 2 * *step + u64::from(is_of_second);
            }
            words.push(Word::Plain(hash(&from[..from.len() - rest.len()])));
            words.extend(word);
            rest = &rest[length..];
            from = rest;
        } else {
            is_inside_a_word = first.is_ascii_alphanumeric();
            rest = &rest[first.len_utf8()..];
        }
    }
    words.push(Word::Plain(hash(from)));
    words.into()
}

type Read<N> = (Option<Word<N>>, usize);

/// Reads what does not matter, or matters otherwise, where clients are alike.
fn alike_at<N>(text: &str) -> Option<Read<N>> {
    if let Some((_, length)) = number_at(text, "attempts: ") {
        return Some((None, length));
    }
    if text.starts_with("NomineeId(") {
        return Some((None, text.find(')')?));
    }
    let (incarnation, length) = number_at(text, "incarnation: Incarnation(")?;
    let incarnation = incarnation.cast_unsigned();
    // The count of a ticket's step is doubled yet.
    let step = number_at(&text[length..], "), step: ");
    Some(match step {
        Some((step, of_step)) => {
            let ticket = incarnation << (INCARNATION - 1) | step.cast_unsigned();
            (Some(Word::Ticket(ticket)), length + of_step)
        }
        None => (Some(Word::Present(incarnation)), length),
    })
}

fn number_at(text: &str, before: &str) -> Option<(i64, usize)> {
    let digits = text.strip_prefix(before)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some((digits[..end].parse::<i64>().ok()?, before.len() + end))
}

fn word_at<M: Model>(text: &str) -> Option<Read<M::Name>> {
    let number = |before: &str| number_at(text, before);
    if let Some((token, length)) = number("Token(") {
        return Some((Some(Word::Token(token)), length));
    }
    if let Some((session, length)) = number("SessionId(") {
        return Some((Some(Word::Session(session)), length));
    }
    if let Some((count, length)) = number("Arrivals(") {
        return Some((Some(Word::Arrivals(count)), length));
    }
    if let Some((step, length)) = number("step: ") {
        return Some((Some(Word::Ticket(step.cast_unsigned())), length));
    }
    // Counts, on which no step depends. A nominee's rank is not in its hash either.
    let counts = ["Steps(", "steps: ", "ahead: ", "learned: "];
    if let Some((_, length)) = counts.into_iter().find_map(number) {
        return Some((None, length));
    }
    M::read_name(text).map(|(name, length)| (Some(Word::Name(name)), length))
}
