// Later rounds: items are points that the round before left; one more than an index, never 0.
fn item(at: u32) -> u32 { return (at << (params.round - 1u)) + 1u; }
fn item_x(item: u32) -> CoordWords { return points[item - 1u].x; }
fn item_y_words(item: u32) -> CoordWords { return points[item - 1u].y; }
fn item_y(item: u32) -> Coord { return coord_digits(item_y_words(item)); }
