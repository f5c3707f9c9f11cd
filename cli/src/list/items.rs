//! Shows the items of a queue in the order in which they are taken.

use std::collections::HashSet;

use super::lookup::Lookup;
use super::row::{Role, Row};
use super::table::{Listing, QUEUE};
use crate::args::QueueFormatName;
use crate::failure::Failure;

/// Shows the items, and returns how many there were. It keeps one item's data at a time.
pub(super) async fn show(
    lookup: &Lookup<'_>,
    names: Vec<String>,
    format: QueueFormatName,
    json: bool,
) -> Result<usize, Failure> {
    let title = format!("queue, in the format {format}");
    let mut listing = Listing::new(json, Some(title), QUEUE);
    let is_claimed: HashSet<_> =
        names.iter().filter_map(|name| format.format().claimed(name)).collect();
    let mut items: Vec<_> = names.iter().filter_map(|name| format.format().item(name)).collect();
    items.sort_unstable();
    for item in items {
        let name = item.to_string();
        let Some((data, stat)) = lookup.data(&name).await? else { continue };
        let row = Row::new(name.clone(), &stat, &data, Role::Item);
        let row = Row { id: None, format: Some(format.to_string()), ..row };
        let claim = if is_claimed.contains(&item) {
            lookup.data(&format!("claimed-{name}")).await?
        } else {
            None
        };
        listing.add(&match claim {
            Some((taker, stat)) => {
                let Row { id, session, .. } = Row::new(name, &stat, &taker, Role::Claimed);
                Row { id, session, role: Role::Claimed, ..row }
            }
            None => row,
        })?;
    }
    listing.end()
}
