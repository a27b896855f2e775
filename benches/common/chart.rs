//! The rows of a run as a picture: time over size, both logarithmic, a line for each group, variant and distribution.

use std::{collections::BTreeMap, error::Error, path::Path};

use plotters::prelude::*;

use super::record::{Row, median};

/// Draws the rows of some distributions; says whether there was anything to draw.
pub(super) fn draw(
    path: &Path,
    rows: &[Row],
    caption: &str,
    of: &str,
    distributions: &[&str],
) -> Result<bool, Box<dyn Error>> {
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| distributions.contains(&row.distribution.as_str())) {
        let at = (f64::from(row.log2n.unwrap_or_default()), median(&row.times).as_secs_f64() * 1e3);
        let distribution = if distributions.len() > 1 { &row.distribution } else { "" };
        lines.entry(format!("{} {} {distribution}", row.group, row.variant)).or_default().push(at);
    }
    let points: Vec<(f64, f64)> = lines.values().flatten().copied().collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = points.iter().map(of);
        values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((left, right), (low, high)) = (range(|at| at.0), range(|at| at.1));
    if points.is_empty() || low <= 0.0 {
        return Ok(false);
    }
    let root = SVGBackend::new(path, (900, 600)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .caption(caption, ("sans-serif", 18))
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(left - 0.5..right + 0.5, (low / 2.0..high * 2.0).log_scale())?;
    chart.configure_mesh().x_desc(format!("log2 of the number of {of}")).y_desc("wall time, ms").draw()?;
    for (index, (name, line)) in lines.into_iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
    root.present()?;
    Ok(true)
}
