// Round 0: items are entries, one more than the index of a base, with bit 31 where it is to be negated; 0 is nothing.
fn item(at: u32) -> u32 { return entries[at]; }
fn item_x(item: u32) -> CoordWords { return bases[(item & 0x7fffffffu) - 1u].x; }
fn item_y_words(item: u32) -> CoordWords { return bases[(item & 0x7fffffffu) - 1u].y; }
fn item_y(item: u32) -> Coord { return coord_negated_if(coord_digits(item_y_words(item)), item >= 0x80000000u); }
