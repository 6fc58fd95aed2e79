//! What the shims of Rust's libraries share: lines in and out, time-outs, names, events, sockets and typed values.
#![allow(dead_code)]

use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::future::Future;
use std::io::{BufRead, Write};
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{timeout, Instant};

/// What a command may take beyond `within`, so that a library's own time-out is told before the shim's.
const GRACE: Duration = Duration::from_millis(250);

/// Why a command was not carried out, in the contract's words.
#[derive(Clone, Debug)]
pub struct Failure(pub Value);

impl Failure {
    pub fn new(kind: &str, native: &str, text: impl ToString) -> Self {
        Failure(json!({"kind": kind, "native": native, "text": text.to_string()}))
    }

    /// Say what the server closed, and with which code (0-9-1) or condition (1.0).
    pub fn closed(native: &str, level: &str, name: &str, code: Value, text: impl ToString) -> Self {
        let mut made = Self::new("closed", native, text);
        made.0["level"] = level.into();
        if !code.is_null() {
            made.0[name] = code;
        }
        made
    }

    pub fn kind(&self) -> &str {
        self.0["kind"].as_str().unwrap_or("")
    }

    /// Make an event of it: closed where the server said why, else lost.
    pub fn event(&self, on: &str) -> Value {
        if self.kind() != "closed" {
            return json!({"event": "lost", "on": on});
        }
        let mut event = json!({"event": "closed", "on": on});
        for name in ["level", "code", "condition", "text"] {
            if let Some(told) = self.0.get(name) {
                event[name] = told.clone();
            }
        }
        event
    }
}

pub type Answer = Result<Value, Failure>;

pub fn unsupported<T>(text: impl ToString) -> Result<T, Failure> {
    Err(Failure::new("unsupported", "", text))
}

pub fn internal(text: impl ToString) -> Failure {
    Failure::new("internal", "", text)
}

/// The arguments of a command.
#[derive(Clone, Debug)]
pub struct Told(pub Map<String, Value>);

impl Told {
    pub fn text(&self, name: &str) -> String {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or("")
            .into()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Give a number as the type that the library takes; what does not fit is unsupported.
    pub fn number<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, Failure> {
        match self.given(name) {
            None => Ok(None),
            Some(value) => match value.as_i64().and_then(|number| T::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => unsupported(format!("to the library {name} cannot be {value}")),
            },
        }
    }

    pub fn seconds(&self, name: &str) -> Duration {
        let seconds = self.0.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Duration::from_secs_f64(seconds.max(0.0))
    }

    pub fn object(&self, name: &str) -> Told {
        Told(
            self.0
                .get(name)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        )
    }

    /// Refuse arguments that say anything and are not among those that the library takes.
    pub fn only(&self, names: &str) -> Result<(), Failure> {
        for (name, value) in &self.0 {
            let says = !value.is_null() && *value != json!(false);
            if says && !names.split(' ').any(|each| each == name) {
                return unsupported(format!("the library has no option for {name}"));
            }
        }
        Ok(())
    }
}

/// Do what each line says, and answer it; end the process at the end of the lines.
pub fn serve<F, R>(act: F) -> !
where
    F: Fn(String, Told) -> R,
    R: Future<Output = Answer> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    for line in std::io::stdin().lock().lines() {
        let Some(mut told) = line
            .ok()
            .and_then(|line| serde_json::from_str::<Map<String, Value>>(&line).ok())
        else {
            break;
        };
        let id = told.remove("id");
        let told = Told(told);
        let long = told.seconds("within") + told.seconds("for") + GRACE;
        // What takes too long lingers, and nobody hears of it.
        let acting = runtime.spawn(act(told.text("do"), told));
        let found = match runtime.block_on(async { timeout(long, acting).await }) {
            Ok(Ok(found)) => found,
            Ok(Err(fell)) => Err(Failure::new("internal", "panic", fell)),
            Err(_) => Err(Failure::new(
                "timeout",
                "",
                "the shim gave up waiting for the library",
            )),
        };
        let answer = match found {
            Ok(Value::Null) => json!({"id": id, "ok": {}}),
            Ok(ok) => json!({"id": id, "ok": ok}),
            Err(failure) => json!({"id": id, "error": failure.0}),
        };
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
    }
    std::process::exit(0)
}

/// What a shim has opened, by names that it has told.
pub struct Names<T>(Mutex<HashMap<String, Arc<T>>>);

impl<T> Names<T> {
    pub fn new() -> Self {
        Names(Mutex::new(HashMap::new()))
    }

    pub fn put(&self, name: &str, it: Arc<T>) {
        self.0.lock().unwrap().insert(name.into(), it);
    }

    pub fn get(&self, name: &str) -> Result<Arc<T>, Failure> {
        self.find(name)
            .ok_or_else(|| internal(format!("{name:?} was not told")))
    }

    pub fn find(&self, name: &str) -> Option<Arc<T>> {
        self.0.lock().unwrap().get(name).cloned()
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap().values().cloned().collect()
    }

    /// Forget all, and give them, to be dropped where that may be.
    pub fn clear(&self) -> HashMap<String, Arc<T>> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Give a name that has not been used: the beginning and a number, from `first` on.
pub fn next(beginning: &str, first: u32) -> String {
    static COUNTED: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
    let mut counted = COUNTED.lock().unwrap();
    let number = counted
        .get_or_insert_with(HashMap::new)
        .entry(beginning.into())
        .or_insert(first);
    *number += 1;
    format!("{beginning}{}", *number - 1)
}

/// The numbers and addresses of all sockets, by which they are dropped, and how often they were. No second handles: a
/// socket that the library lets go of has to close.
static SOCKETS: Mutex<(u64, Vec<(RawFd, SocketAddr)>)> = Mutex::new((0, Vec::new()));

/// Open the socket for `connect`; one that opens only after a reset is closed at once.
pub async fn dial(told: &Told) -> std::io::Result<tokio::net::TcpStream> {
    let age = SOCKETS.lock().unwrap().0;
    let port: u16 = told.number("port").ok().flatten().unwrap_or(0);
    let opened = timeout(
        told.seconds("within"),
        tokio::net::TcpStream::connect((told.text("host"), port)),
    )
    .await??;
    let mut sockets = SOCKETS.lock().unwrap();
    if sockets.0 != age {
        return Err(std::io::ErrorKind::ConnectionAborted.into());
    }
    sockets.1.push((opened.as_raw_fd(), opened.local_addr()?));
    Ok(opened)
}

/// Drop all sockets without a word.
pub fn drop_sockets() {
    let mut sockets = SOCKETS.lock().unwrap();
    sockets.0 += 1;
    for (number, address) in sockets.1.drain(..) {
        // The number of one that is closed may be another's by now, or nobody's: its address is not.
        let socket = ManuallyDrop::new(unsafe { std::net::TcpStream::from_raw_fd(number) });
        if socket.local_addr().is_ok_and(|its| its == address) {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Say what an error of the network means.
pub fn io_kind(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::TimedOut => "timeout",
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => "local",
        _ => "lost",
    }
}

/// The events of a connection that have not been told.
pub struct Events {
    list: Mutex<(Vec<Value>, bool)>,
    changed: Notify,
}

impl Events {
    pub fn new() -> Arc<Self> {
        Arc::new(Events {
            list: Mutex::new((Vec::new(), false)),
            changed: Notify::new(),
        })
    }

    pub fn put(&self, event: Value) {
        self.list.lock().unwrap().0.push(event);
        self.changed.notify_one();
    }

    /// The connection is over, with a last event if there is one.
    pub fn end(&self, event: Option<Value>) {
        let mut list = self.list.lock().unwrap();
        if !std::mem::replace(&mut list.1, true) {
            list.0.extend(event);
        }
        self.changed.notify_one();
    }

    /// Carry out `wait`; `ask` is called again and again, for a library that tells something only when it is asked.
    pub async fn wait(&self, told: &Told, ask: impl Fn()) -> Answer {
        let until = Instant::now() + told.seconds("for");
        let count = told.number("count")?.unwrap_or(usize::MAX);
        loop {
            ask();
            let left = until.saturating_duration_since(Instant::now());
            {
                let mut list = self.list.lock().unwrap();
                if left.is_zero() || list.1 || list.0.len() >= count {
                    let number = count.min(list.0.len());
                    return Ok(json!({"events": list.0.drain(..number).collect::<Vec<_>>()}));
                }
            }
            let _ = timeout(left.min(Duration::from_millis(20)), self.changed.notified()).await;
        }
    }
}

/// A value of the contract.
#[derive(Clone, Debug)]
pub enum Typed {
    Null,
    Bool(bool),
    Text(String),
    Int(i64),
    Float(f64),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(u32),
    F64(u64),
    Bits(&'static str, Vec<u8>),
    Dec(u8, String),
    Time(i64),
    Bin(Vec<u8>),
    Short(String),
    Sym(String),
    Char(char),
    Uuid([u8; 16]),
    List(Vec<Typed>),
    Map(Vec<(Typed, Typed)>),
    Array(String, Vec<Typed>),
    Desc(Box<Typed>, Box<Typed>),
}

impl Typed {
    /// Read what a line holds.
    pub fn read(told: &Value) -> Result<Typed, Failure> {
        let bad = || internal(format!("{told} is no value"));
        Ok(match told {
            Value::Null => Typed::Null,
            Value::Bool(value) => Typed::Bool(*value),
            Value::String(text) => Typed::Text(text.clone()),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Typed::Int(whole),
                None => Typed::Float(number.as_f64().ok_or_else(bad)?),
            },
            Value::Array(_) => return Err(bad()),
            Value::Object(object) => {
                let (kind, held) = object.iter().next().ok_or_else(bad)?;
                Self::of(kind, held)?
            }
        })
    }

    /// Read what an object holds: its one key, and the value of that.
    pub fn of(kind: &str, held: &Value) -> Result<Typed, Failure> {
        let bad = || internal(format!("{held} is no {kind}"));
        let text = held
            .as_str()
            .map_or_else(|| held.to_string(), str::to_owned);
        let parts = || {
            held.as_array()
                .filter(|parts| parts.len() == 2)
                .ok_or_else(bad)
        };
        let list = |held: &Value| {
            held.as_array()
                .ok_or_else(bad)?
                .iter()
                .map(Typed::read)
                .collect::<Result<Vec<_>, _>>()
        };
        fn parsed<T: FromStr>(text: &str) -> Result<T, Failure> {
            text.parse()
                .map_err(|_| internal(format!("{text} is no such number")))
        }
        Ok(match kind {
            "i8" => Typed::I8(parsed(&text)?),
            "u8" => Typed::U8(parsed(&text)?),
            "i16" => Typed::I16(parsed(&text)?),
            "u16" => Typed::U16(parsed(&text)?),
            "i32" => Typed::I32(parsed(&text)?),
            "u32" => Typed::U32(parsed(&text)?),
            "i64" => Typed::I64(parsed(&text)?),
            "u64" => Typed::U64(parsed(&text)?),
            "time" => Typed::Time(parsed(&text)?),
            "f32" => Typed::F32(u32::from_str_radix(&text, 16).map_err(internal)?),
            "f64" => Typed::F64(u64::from_str_radix(&text, 16).map_err(internal)?),
            "d32" => Typed::Bits("d32", unhex(&text)?),
            "d64" => Typed::Bits("d64", unhex(&text)?),
            "d128" => Typed::Bits("d128", unhex(&text)?),
            "bin" => Typed::Bin(unhex(&text)?),
            "short" => Typed::Short(text),
            "sym" => Typed::Sym(text),
            "char" => Typed::Char(parsed(&text)?),
            "uuid" => Typed::Uuid(
                unhex(&text.replace('-', ""))?
                    .try_into()
                    .map_err(|_| bad())?,
            ),
            "dec" => Typed::Dec(
                parsed(&parts()?[0].to_string())?,
                parts()?[1].as_str().ok_or_else(bad)?.into(),
            ),
            "list" => Typed::List(list(held)?),
            "map" => {
                let mut pairs = Vec::new();
                for pair in held.as_array().ok_or_else(bad)? {
                    match pair.as_array().map(Vec::as_slice) {
                        Some([key, value]) => pairs.push((Self::read(key)?, Self::read(value)?)),
                        _ => return Err(bad()),
                    }
                }
                Typed::Map(pairs)
            }
            "array" => {
                let kind = parts()?[0].as_str().ok_or_else(bad)?;
                let each = |held: &Value| match held {
                    Value::Object(_) => Typed::read(held),
                    _ if kind == "bool" || kind == "text" => Typed::read(held),
                    _ => Typed::of(kind, held), // of the array's kind, told once
                };
                let values = parts()?[1].as_array().ok_or_else(bad)?;
                Typed::Array(
                    kind.into(),
                    values.iter().map(each).collect::<Result<_, _>>()?,
                )
            }
            "desc" => Typed::Desc(
                Self::read(&parts()?[0])?.into(),
                Self::read(&parts()?[1])?.into(),
            ),
            _ => return unsupported(format!("there is no type {kind}")),
        })
    }

    /// Tell it in a line.
    pub fn tell(&self) -> Value {
        match self {
            Typed::Null => Value::Null,
            Typed::Bool(value) => json!(value),
            Typed::Text(value) | Typed::Short(value) => json!(value),
            Typed::Int(value) => json!({"int": value.to_string()}),
            Typed::Float(value) => json!({"f64": format!("{:016x}", value.to_bits())}),
            Typed::I8(value) => json!({"i8": value.to_string()}),
            Typed::U8(value) => json!({"u8": value.to_string()}),
            Typed::I16(value) => json!({"i16": value.to_string()}),
            Typed::U16(value) => json!({"u16": value.to_string()}),
            Typed::I32(value) => json!({"i32": value.to_string()}),
            Typed::U32(value) => json!({"u32": value.to_string()}),
            Typed::I64(value) => json!({"i64": value.to_string()}),
            Typed::U64(value) => json!({"u64": value.to_string()}),
            Typed::F32(bits) => json!({"f32": format!("{bits:08x}")}),
            Typed::F64(bits) => json!({"f64": format!("{bits:016x}")}),
            Typed::Bits(kind, octets) => json!({*kind: hex(octets)}),
            Typed::Dec(scale, unscaled) => json!({"dec": [scale, unscaled]}),
            Typed::Time(value) => json!({"time": value.to_string()}),
            Typed::Bin(octets) => json!({"bin": hex(octets)}),
            Typed::Sym(value) => json!({"sym": value}),
            Typed::Char(value) => json!({"char": value.to_string()}),
            Typed::Uuid(octets) => {
                let all = hex(octets);
                let parts = [
                    &all[..8],
                    &all[8..12],
                    &all[12..16],
                    &all[16..20],
                    &all[20..],
                ];
                json!({"uuid": parts.join("-")})
            }
            Typed::List(values) => {
                json!({"list": values.iter().map(Typed::tell).collect::<Vec<_>>()})
            }
            Typed::Map(pairs) => {
                json!({"map": pairs.iter().map(|(key, value)| json!([key.tell(), value.tell()])).collect::<Vec<_>>()})
            }
            Typed::Array(kind, values) => {
                json!({"array": [kind, values.iter().map(Typed::tell).collect::<Vec<_>>()]})
            }
            Typed::Desc(descriptor, value) => json!({"desc": [descriptor.tell(), value.tell()]}),
        }
    }

    /// Say what kind it is, as an array has it.
    pub fn kind(&self) -> String {
        match (self, self.tell()) {
            (Typed::Text(_), _) => "text".into(),
            (Typed::Bool(_), _) => "bool".into(),
            (Typed::Short(_), _) => "short".into(),
            (_, Value::Object(object)) => object.keys().next().cloned().unwrap_or_default(),
            _ => "null".into(),
        }
    }
}

pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

pub fn unhex(text: &str) -> Result<Vec<u8>, Failure> {
    let octet = |at| {
        text.get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    (0..text.len())
        .step_by(2)
        .map(octet)
        .collect::<Option<_>>()
        .ok_or_else(|| internal(format!("{text} is no hex")))
}

/// Give the octets that `send` was told.
pub fn body(told: Option<&Value>) -> Result<Vec<u8>, Failure> {
    match told {
        Some(Value::String(text)) => Ok(text.clone().into_bytes()),
        Some(object) if object["fill"].is_u64() => Ok((0..object["fill"].as_u64().unwrap_or(0))
            .map(|at| (at % 251) as u8)
            .collect()),
        Some(object) if object["bin"].is_string() => unhex(object["bin"].as_str().unwrap_or("")),
        _ => unsupported("no body of octets"),
    }
}

/// Add to a message what is told of its octets.
pub fn tell_body(message: &mut Value, octets: &[u8]) {
    let crc = octets.iter().fold(!0u32, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    message["size"] = octets.len().into();
    message["crc32"] = (!crc).into();
    if let (true, Ok(text)) = (octets.len() <= 1024, std::str::from_utf8(octets)) {
        message["text"] = text.into();
    }
}
