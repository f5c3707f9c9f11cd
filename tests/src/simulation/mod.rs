//! The simulation: an ensemble, a network, clients and their clocks in one thread and in virtual
//! time, from one seed.

pub mod ensemble;
