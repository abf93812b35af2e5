//! A reader of CSV as RFC 4180 has it. It holds one record and one buffer, never the whole file.
//!
//! - Fields are separated by commas. Records end with LF or CRLF; the last one may do without.
//! - A field in quotes may hold commas, line ends and, doubled, quotes. Nothing may follow the
//!   closing quote, and a field that does not begin with a quote has none.
//! - Every record has as many fields as the first. An empty line is a record of one empty field.
//! - A byte order mark at the start is skipped. The rest is UTF-8.
//!
//! Whatever else there is, is a fault: a guess would be a wrong row that nobody notices.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::{fmt, mem};

/// The longest record, in bytes. A quote that is never closed must not swallow a large file.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with a file.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    NotUtf8,
    QuoteNotClosed,
    TextAfterQuote,
    QuoteInside,
    LoneCarriageReturn,
    RecordTooLong,
    Width { expected: usize, found: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::QuoteNotClosed => f.write_str("this quote is never closed"),
            Self::TextAfterQuote => f.write_str("text after a closing quote"),
            Self::QuoteInside => f.write_str("a quote inside a field without quotes"),
            Self::LoneCarriageReturn => f.write_str("a carriage return without a line feed"),
            Self::RecordTooLong => write!(f, "a record longer than {RECORD_BYTES_MAX} bytes"),
            Self::Width { expected, found } => {
                write!(f, "{found} fields where the header has {expected}")
            }
        }
    }
}

/// A fault, and the line that it is on, from 1.
#[derive(Debug)]
pub(crate) struct CsvError {
    pub(crate) line: u64,
    pub(crate) fault: Fault,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

/// One record. Its memory serves for the next one too.
#[derive(Debug, Default)]
pub(crate) struct Record {
    line: u64,
    /// All fields, end to end.
    text: String,
    /// Where each of them ends, and whether it was in quotes.
    fields: Vec<(usize, bool)>,
}

/// One field of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Field<'a> {
    pub(crate) text: &'a str,
    pub(crate) quoted: bool,
}

impl Record {
    /// The line on which it begins, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// How many fields it has.
    pub(crate) fn width(&self) -> usize {
        self.fields.len()
    }

    /// The field at this place; past the end an empty one.
    pub(crate) fn field(&self, at: usize) -> Field<'_> {
        let start = at.checked_sub(1).and_then(|before| self.fields.get(before));
        let start = start.map_or(0, |(end, _)| *end);
        let (end, quoted) = self.fields.get(at).copied().unwrap_or((start, false));
        Field { text: self.text.get(start..end).unwrap_or_default(), quoted }
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        (0..self.width()).map(|at| self.field(at))
    }
}

/// Reads records one after another.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    source: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    parser: Parser,
    /// How many fields the first record has.
    width: Option<usize>,
}

impl<R: Read> Reader<R> {
    /// Begins to read, with a buffer of this size.
    pub(crate) fn new(mut source: R, buffer_bytes: usize) -> io::Result<Self> {
        let mut head = Vec::new();
        source.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut head)?;
        if head == BYTE_ORDER_MARK {
            head.clear();
        }
        let source = BufReader::with_capacity(buffer_bytes.max(1), Cursor::new(head).chain(source));
        Ok(Self { source, parser: Parser { line: 1, ..Parser::default() }, width: None })
    }

    /// The next record; `None` at the end of the file. After an error the reader is of no use.
    pub(crate) fn read(&mut self) -> Result<Option<&Record>, CsvError> {
        self.parser.begin();
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.parser.fail(Fault::Io(error)),
            };
            if chunk.is_empty() {
                return if self.parser.finish()? { self.whole_record() } else { Ok(None) };
            }
            let (mut used, mut complete) = (0, false);
            for &byte in chunk {
                used += 1;
                complete = self.parser.feed(byte)?;
                if complete {
                    break;
                }
            }
            self.source.consume(used);
            if complete {
                return self.whole_record();
            }
        }
    }

    fn whole_record(&mut self) -> Result<Option<&Record>, CsvError> {
        let record = &self.parser.record;
        let (found, expected) = (record.width(), *self.width.get_or_insert(record.width()));
        if found != expected {
            return Err(CsvError { line: record.line, fault: Fault::Width { expected, found } });
        }
        Ok(Some(record))
    }
}

/// Where in a field the parser is.
///
/// ```text
/// Start ─"─▶ Quoted ─"─▶ Closed ─"─▶ Quoted
///   └─ other ─▶ Plain       a comma begins the next field, LF or CR LF ends the record
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Start,
    Plain,
    Quoted,
    /// Behind a quote that closes the field, unless another quote follows.
    Closed,
    CarriageReturn,
}

#[derive(Debug, Default)]
struct Parser {
    state: State,
    record: Record,
    /// The bytes of the field so far; they are looked at as text when it ends.
    field: Vec<u8>,
    quoted: bool,
    /// The bytes of the record so far.
    size: usize,
    line: u64,
    quote_line: u64,
}

impl Parser {
    fn begin(&mut self) {
        self.state = State::Start;
        self.size = 0;
        self.record.line = self.line;
        self.record.text.clear();
        self.record.fields.clear();
    }

    /// Takes one byte and tells whether the record is complete with it.
    fn feed(&mut self, byte: u8) -> Result<bool, CsvError> {
        self.size += 1;
        if self.size > RECORD_BYTES_MAX {
            return self.fail(Fault::RecordTooLong);
        }
        self.state = match (self.state, byte) {
            (State::Start, b'"') => {
                self.quoted = true;
                self.quote_line = self.line;
                State::Quoted
            }
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed, b'"') => {
                self.line += u64::from(byte == b'\n');
                self.field.push(byte);
                State::Quoted
            }
            (_, b'\n') => {
                self.end_field()?;
                self.line += 1;
                return Ok(true);
            }
            (State::CarriageReturn, _) => return self.fail(Fault::LoneCarriageReturn),
            (_, b'\r') => State::CarriageReturn,
            (_, b',') => {
                self.end_field()?;
                State::Start
            }
            (State::Closed, _) => return self.fail(Fault::TextAfterQuote),
            (State::Plain, b'"') => return self.fail(Fault::QuoteInside),
            (State::Start | State::Plain, _) => {
                self.field.push(byte);
                State::Plain
            }
        };
        Ok(false)
    }

    /// Takes the end of the file and tells whether it completes a record.
    fn finish(&mut self) -> Result<bool, CsvError> {
        match self.state {
            State::Start if self.record.fields.is_empty() => return Ok(false),
            State::CarriageReturn => return self.fail(Fault::LoneCarriageReturn),
            State::Quoted => {
                return Err(CsvError { line: self.quote_line, fault: Fault::QuoteNotClosed });
            }
            State::Start | State::Plain | State::Closed => self.end_field()?,
        }
        Ok(true)
    }

    fn end_field(&mut self) -> Result<(), CsvError> {
        let Ok(text) = str::from_utf8(&self.field) else {
            return self.fail(Fault::NotUtf8);
        };
        self.record.text.push_str(text);
        self.field.clear();
        self.record.fields.push((self.record.text.len(), mem::take(&mut self.quoted)));
        Ok(())
    }

    fn fail<T>(&self, fault: Fault) -> Result<T, CsvError> {
        Err(CsvError { line: self.line, fault })
    }
}
