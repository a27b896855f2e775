//! What happened when: host stages, waits and device time, as data, as a table, as a Chrome trace and as a picture.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt::Write as _,
    time::Duration,
};

use serde::{Serialize, Serializer};

use super::{
    stages::Busy,
    sync::{Mutex, lock},
};

/// What an event is time of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A stage, on its worker.
    Host,
    /// Waiting for bytes or for a turn.
    Wait,
    /// The device, by its own clock.
    Device,
}

/// Whose time it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tag {
    /// Index of the place.
    pub place: usize,
    /// Worker of the place.
    pub worker: usize,
    /// Job.
    pub job: u64,
    /// Partition of the job.
    pub partition: usize,
    /// Stage, or label of the device's work.
    pub what: &'static str,
    /// Kind.
    pub kind: Kind,
}

/// One interval, in time since the pipeline began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Whose.
    #[serde(flatten)]
    pub tag: Tag,
    /// Begin; written as milliseconds.
    #[serde(rename = "begin_ms", serialize_with = "as_ms")]
    pub begin: Duration,
    /// End.
    #[serde(rename = "end_ms", serialize_with = "as_ms")]
    pub end: Duration,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn as_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ms(*time))
}

/// The events of a pipeline up to a moment, in the order of their begin.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Timeline {
    /// Names of the places.
    pub places: Vec<String>,
    /// Events.
    pub events: Vec<Event>,
    /// Older events that were let go.
    pub dropped: u64,
}

/// How busy one place was between the first begin of a partition's kernels and the last end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Utilisation {
    /// Part of the time in which somebody had the turn.
    pub lock: f64,
    /// Part of the time in which the device computed, by its own clock, between its own first begin and last end;
    /// nothing where it has no timestamps.
    pub device: Option<f64>,
}

/// Collects events of many threads.
pub(super) struct Recorder {
    names: Vec<String>,
    limit: usize,
    log: Mutex<Log>,
}

struct Log {
    events: VecDeque<Event>,
    dropped: u64,
    /// By place, nanoseconds to add to its card's clock: the least that makes no device time end after the host saw it.
    shift: Vec<Option<i128>>,
}

impl Recorder {
    pub fn new(names: Vec<String>, limit: usize) -> Self {
        let shift = vec![None; names.len()];
        Self { names, limit, log: Mutex::new(Log { events: VecDeque::new(), dropped: 0, shift }) }
    }

    pub fn event(&self, event: Event) {
        let mut log = lock(&self.log);
        log.events.push_back(event);
        while log.events.len() > self.limit {
            log.events.pop_front();
            log.dropped += 1;
        }
    }

    /// Device time of a partition whose kernels the host saw ended `now`.
    pub fn device(&self, tag: Tag, now: Duration, busy: &[Busy]) {
        let Some(last) = busy.iter().map(|busy| busy.end).max() else { return };
        let shift = now.as_nanos() as i128 - last.as_nanos() as i128;
        {
            let known = &mut lock(&self.log).shift[tag.place];
            *known = Some(known.map_or(shift, |known| known.min(shift)));
        }
        for busy in busy {
            self.event(Event {
                tag: Tag { what: busy.label, ..tag },
                begin: busy.begin,
                end: busy.end.max(busy.begin),
            });
        }
    }

    pub fn snapshot(&self) -> Timeline {
        let log = lock(&self.log);
        let shifted = |event: &Event| match (event.tag.kind, log.shift[event.tag.place]) {
            (Kind::Device, Some(shift)) => {
                let host = |time: Duration| Duration::from_nanos((time.as_nanos() as i128 + shift).max(0) as u64);
                Event { begin: host(event.begin), end: host(event.end), ..*event }
            }
            _ => *event,
        };
        let mut events: Vec<Event> = log.events.iter().map(shifted).collect();
        events.sort_by_key(|event| event.begin);
        Timeline { places: self.names.clone(), events, dropped: log.dropped }
    }
}

/// Sum of the union of intervals, with the first begin and the last end.
fn union(mut spans: Vec<(Duration, Duration)>) -> Option<(Duration, Duration, Duration)> {
    spans.sort_unstable();
    let (first, mut reach) = *spans.first()?;
    let mut sum = Duration::ZERO;
    let mut open = first;
    for (begin, end) in spans {
        if begin > reach {
            sum += reach - open;
            open = begin;
        }
        reach = reach.max(end);
    }
    Some((sum + (reach - open), first, reach))
}

impl Timeline {
    fn busy(&self, place: usize, kind: Kind, what: Option<&str>) -> Option<f64> {
        let wanted = |event: &&Event| {
            event.tag.place == place && event.tag.kind == kind && what.is_none_or(|what| event.tag.what == what)
        };
        let spans = self.events.iter().filter(wanted).map(|event| (event.begin, event.end)).collect();
        let (sum, first, last) = union(spans)?;
        (last > first).then(|| sum.as_secs_f64() / (last - first).as_secs_f64())
    }

    /// What a place's device waited for between its first kernel and its last one: each gap is laid to the stages in which
    /// the partition was whose kernels ended it; `queue` is time in which no worker had it yet. The most comes first.
    /// Where a device has no timestamps, the host's view of its kernels serves.
    pub fn idle(&self, place: usize) -> Vec<(&'static str, Duration)> {
        let here = || self.events.iter().filter(move |event| event.tag.place == place);
        let device = || here().filter(|event| event.tag.kind == Kind::Device);
        let host = || here().filter(|event| event.tag.kind == Kind::Host && event.tag.what == "compute");
        let mut kernels: Vec<&Event> = if device().next().is_some() { device().collect() } else { host().collect() };
        kernels.sort_by_key(|event| event.begin);
        let mut partitions: HashMap<(u64, usize), Vec<&Event>> = HashMap::new();
        for event in here().filter(|event| event.tag.kind != Kind::Device) {
            partitions.entry((event.tag.job, event.tag.partition)).or_default().push(event);
        }
        let mut idle: Vec<(&'static str, Duration)> = Vec::new();
        let mut add = |what, time: Duration| match idle.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += time,
            None => idle.push((what, time)),
        };
        let mut reach = kernels.first().map_or(Duration::ZERO, |event| event.end);
        for next in &kernels {
            let mut rest = next.begin.saturating_sub(reach);
            if !rest.is_zero() {
                for event in partitions.get(&(next.tag.job, next.tag.partition)).into_iter().flatten() {
                    let inside = event.end.min(next.begin).saturating_sub(event.begin.max(reach));
                    if !inside.is_zero() {
                        add(event.tag.what, inside);
                        rest = rest.saturating_sub(inside);
                    }
                }
                if !rest.is_zero() {
                    add("queue", rest);
                }
            }
            reach = reach.max(next.end);
        }
        idle.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        idle
    }

    /// [`Self::idle`] as a sentence, without what is below a twentieth of a millisecond; nothing if nothing is left.
    pub fn waits(&self, place: usize) -> Option<String> {
        let idle = self.idle(place).into_iter().map(|(what, time)| (what, ms(time))).filter(|(_, time)| *time >= 0.05);
        let parts: Vec<_> = idle.map(|(what, time)| format!("{what} {time:.1} ms")).collect();
        let all = parts.join(", ");
        (!parts.is_empty()).then(|| format!("between its first kernel and its last it waited for {all}"))
    }

    /// How busy a place was; nothing if it ran nothing.
    pub fn utilisation(&self, place: usize) -> Option<Utilisation> {
        let lock = self.busy(place, Kind::Host, Some("compute"))?;
        Some(Utilisation { lock, device: self.busy(place, Kind::Device, None) })
    }

    /// One line for each place and stage: how often, how long altogether, on average and at most. Then what each place's
    /// device waited for.
    pub fn table(&self) -> String {
        let mut rows: Vec<(usize, Kind, &str, Vec<Duration>)> = Vec::new();
        for event in &self.events {
            let Tag { place, kind, what, .. } = event.tag;
            let took = event.end.saturating_sub(event.begin);
            match rows.iter_mut().find(|row| (row.0, row.1, row.2) == (place, kind, what)) {
                Some(row) => row.3.push(took),
                None => rows.push((place, kind, what, vec![took])),
            }
        }
        rows.sort_by_key(|row| (row.0, row.1 == Kind::Device));
        let mut text = String::from("place  kind    stage          times   total ms    mean ms     max ms\n");
        for (place, kind, what, times) in rows {
            let total: Duration = times.iter().sum();
            let most = times.iter().max().copied().unwrap_or_default();
            let kind = match kind {
                Kind::Host => "host",
                Kind::Wait => "wait",
                Kind::Device => "device",
            };
            let mean = ms(total) / times.len() as f64;
            let _ = writeln!(
                text,
                "{place:<6} {kind:<7} {what:<14} {:>5} {:>10.1} {mean:>10.2} {:>10.2}",
                times.len(),
                ms(total),
                ms(most)
            );
        }
        for place in 0..self.places.len() {
            if let Some(waits) = self.waits(place) {
                let _ = writeln!(text, "place {place}: {waits}");
            }
        }
        text
    }

    /// The events in Chrome's trace format (JSON object, complete events, microseconds): a process for each place, a
    /// thread for each worker and one for the device.
    pub fn chrome(&self) -> String {
        #[derive(Serialize)]
        struct Complete<'a> {
            name: &'a str,
            cat: Kind,
            ph: &'a str,
            ts: f64,
            dur: f64,
            pid: usize,
            tid: usize,
            args: Args<'a>,
        }
        #[derive(Serialize, Default)]
        struct Args<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            job: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            partition: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
        }
        let rows = self.rows();
        let labels: Vec<_> = rows.iter().map(|(_, row)| who(*row)).collect();
        let named = |name, pid, tid, text| Complete {
            name,
            cat: Kind::Host,
            ph: "M",
            ts: 0.0,
            dur: 0.0,
            pid,
            tid,
            args: Args { name: Some(text), ..Args::default() },
        };
        let names = self.places.iter().enumerate().map(|(pid, name)| named("process_name", pid, 0, name));
        let threads = rows.iter().zip(&labels).map(|(&(pid, tid), who)| named("thread_name", pid, tid, who));
        let events = self.events.iter().map(|event| Complete {
            name: event.tag.what,
            cat: event.tag.kind,
            ph: "X",
            ts: ms(event.begin) * 1e3,
            dur: ms(event.end.saturating_sub(event.begin)) * 1e3,
            pid: event.tag.place,
            tid: self.row(&event.tag),
            args: Args { job: Some(event.tag.job), partition: Some(event.tag.partition), name: None },
        });
        let all: Vec<_> = names.chain(threads).chain(events).collect();
        // Numbers, names and nothing that could fail to be written.
        serde_json::to_string(&serde_json::json!({ "traceEvents": all })).unwrap_or_default()
    }

    /// Row 0 of a place is the device, its workers follow.
    fn row(&self, tag: &Tag) -> usize {
        if tag.kind == Kind::Device { 0 } else { tag.worker + 1 }
    }

    /// Each place and row that has something, in order.
    fn rows(&self) -> Vec<(usize, usize)> {
        let rows: BTreeSet<_> = self.events.iter().map(|event| (event.tag.place, self.row(&event.tag))).collect();
        rows.into_iter().collect()
    }

    /// A picture: a row for each device and worker, time to the right, a colour for each stage.
    pub fn svg(&self) -> String {
        const WIDTH: f64 = 1200.0;
        const LEFT: f64 = 170.0;
        const ROW: f64 = 22.0;
        let begin = self.events.iter().map(|event| event.begin).min().unwrap_or_default();
        let end = self.events.iter().map(|event| event.end).max().unwrap_or_default();
        let whole = ms(end.saturating_sub(begin)).max(1e-6);
        let rows = self.rows();
        let mut stages: Vec<&str> = Vec::new();
        for event in &self.events {
            if event.tag.kind != Kind::Device && !stages.contains(&event.tag.what) {
                stages.push(event.tag.what);
            }
        }
        let colour = |tag: &Tag| match tag.kind {
            Kind::Device => "#444".into(),
            // For bytes, and for the turn.
            Kind::Wait if tag.what == "lease" => "#bbb".into(),
            Kind::Wait => "#e4e4e4".into(),
            Kind::Host => {
                let at = stages.iter().position(|stage| *stage == tag.what).unwrap_or(0);
                format!("hsl({} 60% 60%)", at * 360 / stages.len().max(1))
            }
        };
        let height = ROW * (rows.len() as f64 + 3.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" \
             font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            LEFT + WIDTH + 20.0
        );
        for (index, &(place, row)) in rows.iter().enumerate() {
            let name = self.places.get(place).map_or("", String::as_str);
            let label = escape(&format!("{place}: {} {}", name.chars().take(15).collect::<String>(), who(row)));
            let y = ROW * (index as f64 + 0.7);
            let _ = writeln!(svg, "<text x=\"4\" y=\"{y:.1}\">{label}</text>");
        }
        for event in &self.events {
            let Some(index) = rows.iter().position(|row| *row == (event.tag.place, self.row(&event.tag))) else {
                continue;
            };
            let x = LEFT + WIDTH * ms(event.begin.saturating_sub(begin)) / whole;
            let width = (WIDTH * ms(event.end.saturating_sub(event.begin)) / whole).max(0.2);
            let y = ROW * index as f64 + 2.0;
            let Tag { job, partition, what, .. } = event.tag;
            let took = ms(event.end.saturating_sub(event.begin));
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{}\">\
                 <title>{} of {job}/{partition}, {took:.2} ms</title></rect>",
                ROW - 4.0,
                colour(&event.tag),
                escape(what)
            );
        }
        let y = ROW * (rows.len() as f64 + 1.0);
        let mut x = LEFT;
        for stage in &stages {
            let sample = self.events.iter().find(|event| event.tag.what == *stage && event.tag.kind != Kind::Device);
            let fill = sample.map_or("#000".into(), |event| colour(&event.tag));
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"10\" height=\"10\" fill=\"{fill}\"/>\
                 <text x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
                y - 9.0,
                x + 14.0,
                escape(stage)
            );
            x += 26.0 + 7.0 * stage.len() as f64;
        }
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{:.0}\">{whole:.1} ms</text>\n</svg>", y + ROW);
        svg
    }
}

/// Who a row is.
fn who(row: usize) -> String {
    if row == 0 { "device".into() } else { format!("worker {}", row - 1) }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partitions 0 to 3 run on the device in `0..10`, `14..20`, `20..30` and `33..40`.
    #[test]
    fn gaps_are_laid_to_stages() {
        let event = |partition, kind, what, begin, end| {
            let tag = Tag { place: 0, worker: 0, job: 7, partition, what, kind };
            Event { tag, begin: Duration::from_millis(begin), end: Duration::from_millis(end) }
        };
        let host = [
            event(0, Kind::Host, "compute", 0, 10),
            event(1, Kind::Host, "upload", 5, 11),
            event(1, Kind::Wait, "turn", 11, 13),
            event(1, Kind::Host, "compute", 13, 20),
            event(2, Kind::Host, "compute", 20, 30),
            event(3, Kind::Host, "prepare", 32, 33),
            event(3, Kind::Host, "compute", 33, 40),
        ];
        let device = [(0, 0, 10), (1, 14, 20), (2, 20, 30), (3, 33, 40)];
        let device = device.map(|(partition, begin, end)| event(partition, Kind::Device, "h", begin, end));
        let idle = |events: Vec<Event>| {
            let timeline = Timeline { places: vec!["here".into(), "idle".into()], events, dropped: 0 };
            assert!(timeline.idle(1).is_empty());
            timeline.idle(0).into_iter().map(|(what, time)| (what, time.as_millis())).collect::<Vec<_>>()
        };
        let with = idle(host.iter().chain(&device).copied().collect());
        assert_eq!(with, [("turn", 2), ("queue", 2), ("upload", 1), ("compute", 1), ("prepare", 1)]);
        // Without timestamps the host's view: its partition 1 computes from 13 on.
        assert_eq!(idle(host.to_vec()), [("turn", 2), ("queue", 2), ("upload", 1), ("prepare", 1)]);
    }

    fn at(begin: u64, end: u64) -> (Duration, Duration) {
        (Duration::from_millis(begin), Duration::from_millis(end))
    }

    #[test]
    fn a_union_counts_overlaps_once() {
        let cases = [
            (vec![], None),
            (vec![at(3, 5)], Some((2, 3, 5))),
            (vec![at(5, 9), at(0, 6)], Some((9, 0, 9))),
            (vec![at(0, 2), at(4, 6), at(5, 5)], Some((4, 0, 6))),
            (vec![at(0, 10), at(1, 2), at(12, 13)], Some((11, 0, 13))),
        ];
        for (spans, want) in cases {
            let got = union(spans).map(|(sum, first, last)| [sum, first, last].map(|time| time.as_millis() as u64));
            assert_eq!(got, want.map(|(sum, first, last)| [sum, first, last]));
        }
    }
}
