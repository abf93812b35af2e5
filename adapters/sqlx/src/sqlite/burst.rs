//! Taking the rows that are there all at once.
//!
//! The driver's thread and whoever reads share a short queue, and whoever finds it full or empty
//! sleeps until the other wakes him: a system call or two for each row, which is more than the row
//! itself costs. Keeps true: rows come in their order, and so many at most are held.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use sqlx::sqlite::SqliteRow;

type Item = Result<SqliteRow, sqlx::Error>;

/// A stream that empties the queue whenever it looks into it.
pub(super) struct Burst<S> {
    rows: S,
    taken: VecDeque<Item>,
    most: usize,
    ended: bool,
}

impl<S: Stream<Item = Item> + Unpin> Burst<S> {
    pub(super) fn new(rows: S, most: usize) -> Self {
        Self { rows, taken: VecDeque::with_capacity(most), most, ended: false }
    }
}

impl<S: Stream<Item = Item> + Unpin> Stream for Burst<S> {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        if this.taken.is_empty() && !this.ended {
            // Nobody is to be woken while there is something to do.
            let mut unheard = Context::from_waker(Waker::noop());
            while this.taken.len() < this.most {
                match Pin::new(&mut this.rows).poll_next(&mut unheard) {
                    Poll::Ready(Some(row)) => this.taken.push_back(row),
                    Poll::Ready(None) => {
                        this.ended = true;
                        break;
                    }
                    Poll::Pending => break,
                }
            }
        }
        match this.taken.pop_front() {
            Some(row) => Poll::Ready(Some(row)),
            None if this.ended => Poll::Ready(None),
            None => Pin::new(&mut this.rows).poll_next(cx),
        }
    }
}
