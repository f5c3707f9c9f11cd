//! A picture of a run: its leaders over time, the faults meanwhile, and the lost writes.

use core::fmt::Write as _;
use core::time::Duration;

use super::guard::Guard;
use super::verdict::Verdict;

/// A strip is so many seconds, and the next one stands below it.
const STRIP: u32 = 300;
const WIDTH: f64 = 1100.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;
const ROW: f64 = 16.0;
const COLOURS: [&str; 6] = ["#3b6ea5", "#5a9367", "#b3762d", "#8a5a9e", "#4f8f9c", "#9c4f5b"];

/// The places of the drawing.
struct Layout {
    /// The names of the rows.
    rows: Vec<String>,
}

/// Draws an SVG: a row a writer with its reigns and its faults, a row for the faults of the ensemble, and one for
/// each guard, with a mark where a write was lost under it.
pub fn picture(verdict: &Verdict) -> String {
    let guards = verdict.tallies.keys().map(|guard| format!("lost: {}", short(*guard)));
    let writers = verdict.writers.iter().cloned();
    let rows = writers.chain(["ensemble".to_owned()]).chain(guards).collect();
    let layout = Layout { rows };
    let strips = strip_of(verdict.span) + 1;
    let mut svg = String::new();
    let (width, height) = (LEFT + WIDTH + 20.0, layout.top(strips));
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"9\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    let words = verdict.to_string();
    let title = words.lines().next().unwrap_or_default();
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{title}</text>");
    for strip in 0..strips {
        layout.frame(&mut svg, strip);
    }
    let ensemble = verdict.writers.len();
    for incident in &verdict.incidents {
        let (row, colour) = match incident.writer {
            Some(writer) => (writer, "#d9534f"),
            None => (ensemble, "#e0a800"),
        };
        let told = &incident.what;
        let look = Look { colour, opacity: 0.45, height: 14.0, least_width: 1.5, told };
        layout.bar(&mut svg, row, (incident.from, incident.until), look);
    }
    for reign in &verdict.reigns {
        let colour = COLOURS.iter().cycle().nth(reign.writer).unwrap_or(&"black");
        let told = &format!("token {}", reign.token);
        let look = Look { colour, opacity: 1.0, height: 6.0, least_width: 0.6, told };
        layout.bar(&mut svg, reign.writer, (reign.from, reign.until), look);
    }
    for (row, tally) in (ensemble + 1..).zip(verdict.tallies.values()) {
        for at in &tally.lost {
            let colour = "#a00000";
            let look = Look { colour, opacity: 1.0, height: 12.0, least_width: 1.5, told: "lost" };
            layout.bar(&mut svg, row, (*at, *at), look);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[derive(Clone, Copy)]
struct Look<'a> {
    colour: &'a str,
    opacity: f64,
    height: f64,
    least_width: f64,
    told: &'a str,
}

impl Layout {
    /// Returns the place where a strip begins.
    fn top(&self, strip: u32) -> f64 {
        let height = self.below(self.rows.len()) + 30.0;
        f64::from(strip).mul_add(height, TOP)
    }

    /// Returns how far below the top of its strip a row begins.
    fn below(&self, row: usize) -> f64 {
        self.rows.iter().take(row).map(|_| ROW).sum()
    }

    /// Draws the names of the rows, and the minutes.
    fn frame(&self, svg: &mut String, strip: u32) {
        let top = self.top(strip);
        let (right, bottom) = (LEFT + WIDTH, top + self.below(self.rows.len()));
        for (row, name) in self.rows.iter().enumerate() {
            let line = top + self.below(row) + 15.0;
            let _ = writeln!(svg, "<text x=\"2\" y=\"{}\">{name}</text>", line - 4.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{line}\" y2=\"{line}\" stroke=\"#eee\"/>"
            );
        }
        for minute in 0..=STRIP / 60 {
            let x = (f64::from(minute * 60) / f64::from(STRIP)).mul_add(WIDTH, LEFT);
            let shown = strip * STRIP / 60 + minute;
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
                 <text x=\"{x}\" y=\"{}\">{shown} min</text>",
                bottom + 11.0
            );
        }
    }

    /// Draws a bar over a span, in each strip that it is part of.
    fn bar(
        &self,
        svg: &mut String,
        row: usize,
        (from, until): (Duration, Duration),
        look: Look<'_>,
    ) {
        let Look { colour, opacity, height, least_width, told } = look;
        for strip in strip_of(from)..=strip_of(until) {
            let begin = Duration::from_secs(u64::from(strip) * u64::from(STRIP));
            let x = |at: Duration| {
                let seconds = at.saturating_sub(begin).as_secs_f64();
                seconds.min(f64::from(STRIP)) / f64::from(STRIP) * WIDTH
            };
            let width = (x(until) - x(from)).max(least_width);
            let y = self.top(strip) + self.below(row) + (14.0 - height) / 2.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" \
                 fill=\"{colour}\" fill-opacity=\"{opacity}\"><title>{told}</title></rect>",
                LEFT + x(from)
            );
        }
    }
}

const fn short(guard: Guard) -> &'static str {
    match guard {
        Guard::Nothing => "none",
        Guard::IsValid => "valid",
        Guard::Token => "token",
        Guard::Transaction => "txn",
    }
}

fn strip_of(at: Duration) -> u32 {
    u32::try_from(at.as_secs() / u64::from(STRIP)).unwrap_or(u32::MAX)
}
