//! The input of the target `server`, in the form in which `arbitrary` reads its steps.

/// Steps on one connection.
pub(crate) struct Script(Vec<u8>);

/// The steps of the target that are written here, by their place in its enum.
#[derive(Clone, Copy)]
enum Step {
    Open = 0,
    Bytes = 4,
}

/// As many as the target has.
const STEPS: u64 = 7;

/// The greatest length that a step has room for.
const LONGEST: usize = 255;

impl Default for Script {
    fn default() -> Self {
        let mut script = Self(Vec::new());
        script.step(Step::Open);
        script
    }
}

impl Script {
    /// Lets the server receive these bytes.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(LONGEST) {
            self.step(Step::Bytes);
            let connection = 0;
            self.0.push(connection);
            self.0.push(u8::try_from(bytes.len()).expect("a chunk"));
            self.0.extend(bytes);
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Writes a step: a flag that there is another one, and the number that is scaled to its place.
    fn step(&mut self, step: Step) {
        self.0.push(1);
        let scaled = ((step as u64) << 32).div_ceil(STEPS);
        self.0.extend(u32::try_from(scaled).expect("below the count").to_le_bytes());
    }
}
