//! Every order of events at a barrier and at a double barrier, in small worlds.

mod double;
mod events;
mod hazards;
mod single;
