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

/// Draws an SVG of the rows that ours is in, and no zero.
pub(crate) fn picture(rows: &[Row], place: &str) -> String {
    // A logarithm has no zero.
    let has_ratios = |row: &&Row| COLUMNS.iter().all(|column| row.median(*column) != Some(0.0));
    let rows = rows.iter().filter(|row| row.median(Contender::Ours).is_some());
    let rows: Vec<&Row> = rows.filter(has_ratios).collect();
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
    // A row that is "the same" is named by the one before.
    let mut subject = "";
    for row in rows {
        if !row.what.starts_with('–') {
            subject = row.what.rsplit_once(": ").map_or(row.what.as_str(), |(subject, _)| subject);
        }
        draw(&mut svg, row, subject, y);
        y += LINE;
    }
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"8\" y=\"{}\">What each costs as a multiple of ours, medians of turns \
         within one run; to the right: costs more.</text>\n\
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

fn draw(svg: &mut String, row: &Row, subject: &str, y: f64) {
    let what = row.what.replace("– the same", subject).replace('`', "");
    let what = what.replace(": requests", ": time a request");
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
        let cost = match row.better {
            Better::Lower => median / ours,
            Better::Higher => ours / median,
        };
        dot(svg, contender, position(cost), y);
    }
}

fn dot(svg: &mut String, contender: Contender, x: f64, y: f64) {
    let class = contender.name().to_lowercase();
    let radius = if contender == Contender::Ours { 6 } else { 5 };
    let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"{radius}\"/>");
}

fn position(cost: f64) -> f64 {
    let part = (cost.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    part.mul_add(WIDTH, LEFT)
}
