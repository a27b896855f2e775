//! What partitions on one card compete for: bytes and turns.
//!
//! Two locks, each a mutex held for a few instructions and a queue of those who wait:
//!
//! * The **allocation lock** is a ledger of bytes. A partition leases its whole peak, and the bytes of its key unless
//!   the key is resident, in one request; requests are granted in the order in which they came (a later one that would
//!   fit waits behind an earlier one that does not, so that nobody starves). Keys that nobody uses are evicted, the
//!   longest unused first, when a request needs their bytes.
//! * The **execution lock** lets one partition at a time run its kernels, in the order of the leases.
//!
//! **Why this can not deadlock.** A request holds nothing while it waits: key and peak are one grant. Whoever waits for a
//! turn holds a lease, and those before it in turn hold leases already, so they wait for no bytes; each of them either
//! enters or drops its lease, which gives up its turn. The types keep the order: a turn is taken through a [`Lease`], and
//! what runs under the turn borrows it. **Why it can not overcommit.** Bytes are taken from `free` under the ledger's mutex
//! at the grant and given back when a lease is dropped, or when an evicted key has been.

use std::{
    cell::Cell,
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use super::sync::{Condvar, Mutex, MutexGuard, lock, shielded, wait};

/// A card: a budget of bytes, the keys that lie within it, and whose turn it is. `V` is what is kept of a key.
pub struct Card<V> {
    capacity: u64,
    ledger: Mutex<Ledger<V>>,
    granted: Condvar,
    turns: Mutex<Turns>,
    turned: Condvar,
}

struct Ledger<V> {
    free: u64,
    /// Lowest `free` so far, for reports.
    least: u64,
    tickets: u64,
    /// Who waits, in order of arrival.
    waiting: VecDeque<u64>,
    /// From the longest unused to the latest used.
    keys: Vec<Resident<V>>,
}

struct Resident<V> {
    id: u64,
    bytes: u64,
    users: usize,
    slot: Arc<Slot<V>>,
}

/// The place of one key: empty until its first user has loaded it.
pub type Slot<V> = Mutex<Option<Arc<V>>>;

#[derive(Default)]
struct Turns {
    next: u64,
    /// Turns that were given and not ended. The first of them is the one that may run.
    open: BTreeSet<u64>,
}

/// What a partition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Names the key; equal keys share one place.
    pub key: u64,
    /// Bytes of the key, once loaded: the same in all requests for it.
    pub key_bytes: u64,
    /// Bytes of the partition at its peak.
    pub peak: u64,
}

/// Why there is no lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// It would never fit.
    #[error("a partition needs {peak} bytes beside {key} bytes of its key, the budget is {budget} bytes")]
    TooLarge {
        /// The partition's peak.
        peak: u64,
        /// The key's bytes.
        key: u64,
        /// All there is.
        budget: u64,
    },
    /// A key's bytes are no longer what they were when it was loaded.
    #[error("key {key} was loaded as {known} bytes, and is now said to have {asked}")]
    KeyBytes {
        /// The key.
        key: u64,
        /// At its first request.
        known: u64,
        /// Now.
        asked: u64,
    },
    /// The wait was called off.
    #[error("cancelled")]
    Cancelled,
}

/// Bytes of a card at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Bytes {
    /// The budget; `u64::MAX` for none, which is serialized as nothing.
    #[serde(serialize_with = "unless_boundless")]
    pub capacity: u64,
    /// Leased by partitions and keys.
    pub leased: u64,
    /// The most that was ever leased at once.
    pub peak: u64,
    /// Part of `leased` that is keys.
    pub keys: u64,
}

fn unless_boundless<S: serde::Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    match bytes {
        &u64::MAX => serializer.serialize_none(),
        bytes => serializer.serialize_u64(*bytes),
    }
}

/// What came of an attempt to grant a request.
enum Grant<V> {
    Given(Arc<Slot<V>>),
    /// These idle keys have to go first. Their bytes are free once they have been dropped.
    Evict(Vec<Resident<V>>),
    NotYet,
    /// Never: the key is known with so many bytes.
    Mismatch(u64),
}

impl<V> Ledger<V> {
    fn grant(&mut self, request: Request) -> Grant<V> {
        let resident = self.keys.iter().position(|key| key.id == request.key);
        if let Some(known) = resident.map(|at| self.keys[at].bytes).filter(|known| *known != request.key_bytes) {
            return Grant::Mismatch(known);
        }
        let needed = request.peak + if resident.is_some() { 0 } else { request.key_bytes };
        let idle = |key: &Resident<V>| key.users == 0 && key.id != request.key;
        let idle_bytes: u64 = self.keys.iter().filter(|key| idle(key)).map(|key| key.bytes).sum();
        if self.free.saturating_add(idle_bytes) < needed {
            return Grant::NotYet;
        }
        let mut freed = self.free;
        let mut evicted = Vec::new();
        while freed < needed {
            let Some(at) = self.keys.iter().position(idle) else { break };
            let key = self.keys.remove(at);
            freed += key.bytes;
            evicted.push(key);
        }
        if !evicted.is_empty() {
            return Grant::Evict(evicted);
        }
        self.free -= needed;
        self.least = self.least.min(self.free);
        let mut key = match resident {
            Some(at) => self.keys.remove(at),
            None => Resident { id: request.key, bytes: request.key_bytes, users: 0, slot: Arc::new(Mutex::new(None)) },
        };
        key.users += 1;
        let slot = key.slot.clone();
        self.keys.push(key);
        Grant::Given(slot)
    }
}

impl<V> Card<V> {
    /// A card whose partitions and keys together may hold `capacity` bytes.
    pub fn new(capacity: u64) -> Arc<Self> {
        let ledger = Ledger { free: capacity, least: capacity, tickets: 0, waiting: VecDeque::new(), keys: Vec::new() };
        Arc::new(Self {
            capacity,
            ledger: Mutex::new(ledger),
            granted: Condvar::new(),
            turns: Mutex::new(Turns::default()),
            turned: Condvar::new(),
        })
    }

    /// Bytes now.
    pub fn bytes(&self) -> Bytes {
        let ledger = lock(&self.ledger);
        Bytes {
            capacity: self.capacity,
            leased: self.capacity - ledger.free,
            peak: self.capacity - ledger.least,
            keys: ledger.keys.iter().map(|key| key.bytes).sum(),
        }
    }

    /// Whether the request could ever be granted.
    pub fn fits(&self, request: Request) -> Result<(), LeaseError> {
        let Request { peak, key_bytes, .. } = request;
        match peak.checked_add(key_bytes) {
            Some(all) if all <= self.capacity => Ok(()),
            _ => Err(LeaseError::TooLarge { peak, key: key_bytes, budget: self.capacity }),
        }
    }

    /// Waits for the request's turn and bytes. `cancelled` is asked at each wake-up; [`Self::wake`] makes one.
    pub fn lease(self: &Arc<Self>, request: Request, cancelled: impl Fn() -> bool) -> Result<Lease<V>, LeaseError> {
        self.fits(request)?;
        let mut ledger = lock(&self.ledger);
        let ticket = ledger.tickets;
        ledger.tickets += 1;
        ledger.waiting.push_back(ticket);
        let give_up = |mut ledger: MutexGuard<'_, Ledger<V>>, error| {
            ledger.waiting.retain(|&other| other != ticket);
            drop(ledger);
            self.granted.notify_all();
            Err(error)
        };
        let slot = loop {
            if cancelled() {
                return give_up(ledger, LeaseError::Cancelled);
            }
            let first = ledger.waiting.front() == Some(&ticket);
            match if first { ledger.grant(request) } else { Grant::NotYet } {
                Grant::Given(slot) => break slot,
                Grant::Evict(keys) => {
                    drop(ledger);
                    let bytes = keys.iter().map(|key| key.bytes).sum::<u64>();
                    shielded("the drop of a key", || drop(keys));
                    ledger = lock(&self.ledger);
                    ledger.free += bytes;
                }
                Grant::NotYet => ledger = wait(&self.granted, ledger),
                Grant::Mismatch(known) => {
                    let (key, asked) = (request.key, request.key_bytes);
                    return give_up(ledger, LeaseError::KeyBytes { key, known, asked });
                }
            }
        };
        ledger.waiting.pop_front();
        // Under the ledger's mutex, so that turns follow leases.
        let turn = {
            let mut turns = lock(&self.turns);
            let turn = turns.next;
            turns.next += 1;
            turns.open.insert(turn);
            turn
        };
        drop(ledger);
        self.granted.notify_all();
        let hold = Hold { card: self.clone(), key: request.key, bytes: request.peak, turn: Cell::new(Some(turn)) };
        Ok(Lease { slot, hold })
    }

    /// Makes everybody who waits look at their `cancelled` again.
    pub fn wake(&self) {
        drop(lock(&self.ledger));
        self.granted.notify_all();
        drop(lock(&self.turns));
        self.turned.notify_all();
    }

    /// Forgets a key that nobody uses; whether there was one.
    pub fn evict(&self, key: u64) -> bool {
        let mut ledger = lock(&self.ledger);
        let found = ledger.keys.iter().position(|resident| resident.id == key && resident.users == 0);
        let Some(key) = found.map(|at| ledger.keys.remove(at)) else { return false };
        drop(ledger);
        let bytes = key.bytes;
        shielded("the drop of a key", || drop(key));
        lock(&self.ledger).free += bytes;
        self.granted.notify_all();
        true
    }

    fn end(&self, turn: u64) {
        lock(&self.turns).open.remove(&turn);
        self.turned.notify_all();
    }
}

/// Bytes of one partition, a hold on its key, and a turn. Dropped, all three return.
pub struct Lease<V> {
    // Dropped before the hold returns: whoever evicts the key then holds the last of it.
    slot: Arc<Slot<V>>,
    hold: Hold<V>,
}

struct Hold<V> {
    card: Arc<Card<V>>,
    key: u64,
    bytes: u64,
    /// Until it is taken or given up.
    turn: Cell<Option<u64>>,
}

impl<V> Lease<V> {
    /// The key, loaded by `load` if this is its first user. Others who want the same key wait meanwhile.
    pub fn key<E>(&self, load: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let mut slot = lock(&self.slot);
        if let Some(value) = &*slot {
            return Ok(value.clone());
        }
        let value = Arc::new(load()?);
        *slot = Some(value.clone());
        Ok(value)
    }

    /// Waits for this lease's turn. While the result lives no other partition of the card runs. A lease has one turn;
    /// `None` if it is used up or `cancelled` said so.
    pub fn execute(&self, cancelled: impl Fn() -> bool) -> Option<Execution<'_, V>> {
        let turn = self.hold.turn.get()?;
        let card = &*self.hold.card;
        let mut turns = lock(&card.turns);
        while turns.open.first() != Some(&turn) {
            if cancelled() {
                return None;
            }
            turns = wait(&card.turned, turns);
        }
        drop(turns);
        self.hold.turn.set(None);
        Some(Execution { card, turn })
    }

    /// Gives the turn up without running: those behind need not wait. For the variants without an execution lock.
    pub fn pass(&self) {
        self.hold.pass();
    }
}

impl<V> Hold<V> {
    fn pass(&self) {
        if let Some(turn) = self.turn.take() {
            self.card.end(turn);
        }
    }
}

impl<V> Drop for Hold<V> {
    fn drop(&mut self) {
        self.pass();
        let mut ledger = lock(&self.card.ledger);
        ledger.free += self.bytes;
        if let Some(key) = ledger.keys.iter_mut().find(|key| key.id == self.key) {
            key.users -= 1;
        }
        drop(ledger);
        self.card.granted.notify_all();
    }
}

/// The right to run kernels on a card, until it is dropped. It borrows its lease, and so ends before it.
pub struct Execution<'a, V> {
    card: &'a Card<V>,
    turn: u64,
}

impl<V> Drop for Execution<'_, V> {
    fn drop(&mut self) {
        self.card.end(self.turn);
    }
}
