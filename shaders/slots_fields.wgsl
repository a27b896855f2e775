// Eight coordinates by run-time index, in variables of their own: what software adapters get. LLVM takes four times as
// long to compile arrays with run-time indices. `slots_array.wgsl` has the same functions.
struct Slots { a: Coord, b: Coord, c: Coord, d: Coord, e: Coord, f: Coord, g: Coord, h: Coord }
fn slots_of(a: Coord, b: Coord, c: Coord, d: Coord, e: Coord, f: Coord, g: Coord, h: Coord) -> Slots {
    return Slots(a, b, c, d, e, f, g, h);
}
fn slot(slots: ptr<function, Slots>, index: u32) -> Coord {
    var value = (*slots).a;
    switch (index) {
        case 1u: { value = (*slots).b; }
        case 2u: { value = (*slots).c; }
        case 3u: { value = (*slots).d; }
        case 4u: { value = (*slots).e; }
        case 5u: { value = (*slots).f; }
        case 6u: { value = (*slots).g; }
        case 7u: { value = (*slots).h; }
        default: {}
    }
    return value;
}
fn set_slot(slots: ptr<function, Slots>, index: u32, value: Coord) {
    switch (index) {
        case 0u: { (*slots).a = value; }
        case 1u: { (*slots).b = value; }
        case 2u: { (*slots).c = value; }
        case 3u: { (*slots).d = value; }
        case 4u: { (*slots).e = value; }
        case 5u: { (*slots).f = value; }
        case 6u: { (*slots).g = value; }
        default: { (*slots).h = value; }
    }
}
