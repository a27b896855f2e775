// Eight coordinates by run-time index, in memory of the thread: what GPUs get. Two loads and a store a multiplication, of
// 52 to 240 bytes each, cost less than a loop that carries eight coordinates in registers, above all in G2, where they
// do not fit. `slots_fields.wgsl` has the same functions.
alias Slots = array<Coord, 8>;
fn slots_of(a: Coord, b: Coord, c: Coord, d: Coord, e: Coord, f: Coord, g: Coord, h: Coord) -> Slots {
    return Slots(a, b, c, d, e, f, g, h);
}
fn slot(slots: ptr<function, Slots>, index: u32) -> Coord { return (*slots)[index]; }
fn set_slot(slots: ptr<function, Slots>, index: u32, value: Coord) { (*slots)[index] = value; }
