//! A picture of the rows: what each costs beside ours.
//!
//! The axis is logarithmic, and ours is 1. It takes its colours from the reader's theme.

use core::fmt::Write as _;

use crate::contender::{COLUMNS, Contender};
use crate::table::{Better, Row};

const LEFT: f64 = 330.0;
const WIDTH: f64 = 560.0;
const TOP: f64 = 64.0;
const LINE: f64 = 26.0;
/// The ends of the axis: a figure beyond them is drawn at the edge.
const LEAST: f64 = 0.03;
const MOST: f64 = 300.0;
const MARKS: [(f64, &str, &str); 4] = [
    (0.1, "a tenth", "grid"),
    (1.0, "ours", "ours-line"),
    (10.0, "10 times", "grid"),
    (100.0, "100 times", "grid"),
];

const STYLE: &str = "\
<style>
text { font: 12px sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.grid { stroke: #d0d7de } .ours-line { stroke: #24292f; stroke-width: 1.5 }
.raw { fill: none; stroke: #57606a; stroke-width: 1.5 }
.ours { fill: #24292f } .zookeeper-client { fill: #bc4c00 } .tokio-zookeeper { fill: #0969da }
.zookeeper-async { fill: #8250df } .kazoo { fill: #1a7f37 } .curator { fill: #cf222e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 }
.grid { stroke: #3d444d } .ours-line { stroke: #e6edf3 } .raw { stroke: #9198a1 }
.ours { fill: #e6edf3 } .zookeeper-client { fill: #db6d28 } .tokio-zookeeper { fill: #58a6ff }
.zookeeper-async { fill: #bc8cff } .kazoo { fill: #3fb950 } .curator { fill: #f85149 }
}
</style>
";

/// Draws an SVG of the rows that ours is in.
pub(crate) fn picture(rows: &[Row], place: &str) -> String {
    let rows = rows.iter().filter(|row| row.median(Contender::Ours).is_some());
    let rows: Vec<&Row> = rows.collect();
    let bottom = rows.iter().fold(TOP, |top, _| top + LINE);
    let (width, height) = (LEFT + WIDTH + 30.0, bottom + 62.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>What other ZooKeeper clients cost beside this one</title>\n{STYLE}"
    );
    legend(&mut svg);
    for (value, name, class) in MARKS {
        let (x, top, label) = (position(value), TOP - 8.0, bottom + 14.0);
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <text class=\"small\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{label}\">{name}</text>"
        );
    }
    let mut y = TOP + LINE / 2.0;
    for (name, row) in names(&rows).iter().zip(rows) {
        draw(&mut svg, row, name, y);
        y += LINE;
    }
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"8\" y=\"{}\">What each costs as a multiple of ours, medians of turns \
         within one run; to the right: costs more; a figure of 0 stands at the left end.</text>\n\
         <text class=\"small\" x=\"8\" y=\"{}\">{place}</text>\n</svg>",
        bottom + 36.0,
        bottom + 52.0
    );
    svg
}

fn legend(svg: &mut String) {
    let mut x = 14.0;
    for contender in COLUMNS {
        dot(svg, contender, x, 22.0);
        let name = match contender {
            Contender::Raw => "bare socket",
            other => other.name(),
        };
        let _ = writeln!(svg, "<text x=\"{}\" y=\"26\">{name}</text>", x + 10.0);
        x += name.chars().fold(46.0, |width, _| width + 6.6);
    }
}

/// Returns what the rows measure. A row that is "the same" is named by the one before.
fn names(rows: &[&Row]) -> Vec<String> {
    let mut subject = "";
    let mut names = Vec::new();
    for row in rows {
        let what = row.what.as_str();
        let name = match (what.strip_prefix("– the same"), what.strip_prefix("– ")) {
            (Some(rest), _) => format!("{subject}{rest}"),
            (None, Some(rest)) => format!("{subject}, {rest}"),
            (None, None) => {
                subject = what.rsplit_once(": ").map_or(what, |(subject, _)| subject);
                what.to_owned()
            }
        };
        names.push(name.replace('`', "").replace(": requests", ": time a request"));
    }
    names
}

fn draw(svg: &mut String, row: &Row, what: &str, y: f64) {
    let ours = row.median(Contender::Ours).unwrap_or(1.0);
    let (end, text) = (LEFT + WIDTH, y + 4.0);
    let _ = writeln!(
        svg,
        "<text x=\"8\" y=\"{text}\">{what}</text>\
         <line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\"/>"
    );
    // Ours below all others: it is seen by the line, and they are not hidden.
    let others = COLUMNS.into_iter().filter(|column| *column != Contender::Ours);
    for contender in [Contender::Ours].into_iter().chain(others) {
        let Some(median) = row.median(contender) else { continue };
        let (cost, unit) = match row.better {
            Better::Lower => (median, ours),
            Better::Higher => (ours, median),
        };
        dot(svg, contender, position(multiple(cost, unit)), y);
    }
}

fn dot(svg: &mut String, contender: Contender, x: f64, y: f64) {
    let class = contender.name().to_lowercase();
    let radius = if contender == Contender::Ours { 6 } else { 5 };
    let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"{radius}\"/>");
}

/// Returns `cost` as a multiple of `unit`, also where both are 0; a logarithm has no zero, so an end
/// of the axis stands for what has no ratio.
fn multiple(cost: f64, unit: f64) -> f64 {
    match (cost > 0.0, unit > 0.0) {
        (_, true) => cost / unit,
        (true, false) => MOST,
        (false, false) => 1.0,
    }
}

fn position(cost: f64) -> f64 {
    let part = (cost.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    part.mul_add(WIDTH, LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, values: [f64; 2]) -> Row {
        let mut row = Row::new(what, "ms");
        row.push(Contender::Ours, values[0]);
        row.push(Contender::Curator, values[1]);
        row
    }

    #[test]
    fn each_row_has_a_name_of_its_own() {
        let whats = [
            "1000 idle sessions: CPU of a ping",
            "– the same: CPU of a second",
            "– after their first minute: CPU of a ping",
            "– after their first minute: CPU of a second",
            "– the same: memory of each",
        ];
        let rows = whats.map(|what| row(what, [1.0, 2.0]));
        let mut names = names(&rows.iter().collect::<Vec<_>>());
        assert_eq!(names[3], "1000 idle sessions, after their first minute: CPU of a second");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), whats.len());
    }

    #[test]
    fn a_row_in_which_a_peer_has_0_is_drawn() {
        let svg = picture(&[row("errors", [1.0, 0.0]), row("gaps", [0.0, 0.0])], "here");
        for drawn in [
            format!("<circle class=\"curator\" cx=\"{LEFT:.1}\" cy=\"{}\"", TOP + LINE / 2.0),
            format!(
                "<circle class=\"curator\" cx=\"{:.1}\" cy=\"{}\"",
                position(1.0),
                TOP + LINE * 1.5
            ),
        ] {
            assert!(svg.contains(&drawn), "{drawn}\n{svg}");
        }
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
