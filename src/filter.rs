//! Filters: which rows an extraction keeps.
//!
//! This is where the meaning of every operator is defined; whoever pushes a filter down to a
//! database must keep the rows that [`Filter::matches`] keeps. Kept true here:
//!
//! - Logic is three-valued, as in SQL: a condition is true, false or unknown, and only a true one
//!   keeps a row. A null cell, and a value of a kind that the operand cannot be compared with, make
//!   it unknown.
//! - A malformed filter keeps nothing, and [`Filter::check`] names its fault. No filter is ever
//!   ignored.
//! - Operands never appear in `Debug`: they may be personal data.

use alloc::{sync::Arc, vec, vec::Vec};
use core::{cmp::Ordering, fmt};

use crate::value::{Value, ValueKind, compare};

/// What a filter asks of a cell.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a connector must not forget one")]
pub enum Operator {
    /// Equal to any of the values.
    Eq,
    /// Greater than the value.
    Gt,
    /// Greater than the value or equal to it.
    Gte,
    /// Less than the value.
    Lt,
    /// Less than the value or equal to it.
    Lte,
    /// Between the first value and the second, both included.
    Between,
    /// Equal to any of the values; the same as [`Eq`](Self::Eq).
    In,
    /// Equal to none of the values.
    Nin,
    /// Not equal to the value.
    Ne,
    /// A text that the pattern describes from end to end, case and all: `%` stands for any run of
    /// characters, `_` for one, and `\` makes the next character stand for itself.
    Like,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 10] = [
        Self::Eq,
        Self::Gt,
        Self::Gte,
        Self::Lt,
        Self::Lte,
        Self::Between,
        Self::In,
        Self::Nin,
        Self::Ne,
        Self::Like,
    ];

    /// The stable name: `eq`, `gt`, `gte`, `lt`, `lte`, `between`, `in`, `nin`, `ne`, `like`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::Between => "between",
            Self::In => "in",
            Self::Nin => "nin",
            Self::Ne => "ne",
            Self::Like => "like",
        }
    }

    /// The operator of that name, exactly as [`as_str`](Self::as_str) gives it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.as_str() == name)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A condition on one field.
#[derive(Clone, Eq, PartialEq)]
pub struct Filter {
    field: Arc<str>,
    operator: Operator,
    values: Vec<Value>,
    /// Found once, since every row would ask.
    fault: Option<FilterFault>,
}

impl Filter {
    /// A filter of any shape; [`check`](Self::check) says whether it is well-formed.
    #[must_use]
    pub fn new(field: impl Into<Arc<str>>, operator: Operator, values: Vec<Value>) -> Self {
        let fault = find_fault(operator, &values);
        Self { field: field.into(), operator, values, fault }
    }

    /// The field equals the value.
    #[must_use]
    pub fn eq(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Eq, vec![value.into()])
    }

    /// The field is greater than the value.
    #[must_use]
    pub fn gt(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Gt, vec![value.into()])
    }

    /// The field is greater than the value or equal to it.
    #[must_use]
    pub fn gte(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Gte, vec![value.into()])
    }

    /// The field is less than the value.
    #[must_use]
    pub fn lt(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Lt, vec![value.into()])
    }

    /// The field is less than the value or equal to it.
    #[must_use]
    pub fn lte(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Lte, vec![value.into()])
    }

    /// The field is between the two values, both included.
    #[must_use]
    pub fn between(
        field: impl Into<Arc<str>>,
        low: impl Into<Value>,
        high: impl Into<Value>,
    ) -> Self {
        Self::new(field, Operator::Between, vec![low.into(), high.into()])
    }

    /// The field equals one of the values.
    #[must_use]
    pub fn is_in<V: Into<Value>>(
        field: impl Into<Arc<str>>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::new(field, Operator::In, values.into_iter().map(Into::into).collect())
    }

    /// The field equals none of the values.
    #[must_use]
    pub fn not_in<V: Into<Value>>(
        field: impl Into<Arc<str>>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::new(field, Operator::Nin, values.into_iter().map(Into::into).collect())
    }

    /// The field does not equal the value.
    #[must_use]
    pub fn ne(field: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        Self::new(field, Operator::Ne, vec![value.into()])
    }

    /// The field is a text that the pattern describes, see [`Operator::Like`].
    #[must_use]
    pub fn like(field: impl Into<Arc<str>>, pattern: impl Into<Value>) -> Self {
        Self::new(field, Operator::Like, vec![pattern.into()])
    }

    /// The field that the condition is on.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The name of the field, for whoever keeps it without copying it.
    #[must_use]
    pub fn shared_field(&self) -> &Arc<str> {
        &self.field
    }

    /// What is asked of it.
    #[must_use]
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// The operands, in the order in which they were given.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether the filter is well-formed: `eq`, `in` and `nin` take at least one value, `between`
    /// two, every other operator one; none of them null, since nothing equals null or differs
    /// from it; the pattern of `like` is a string in which every `\` has a character to act on.
    ///
    /// # Errors
    ///
    /// The first fault found.
    pub const fn check(&self) -> Result<(), FilterFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// Whether the condition is true, false or unknown (`None`) of a cell.
    ///
    /// Values are compared by [`compare`], so numbers of different kinds by what they are worth;
    /// NaN is greater than every number and equal to itself. `between` is `gte` and `lte` joined
    /// by SQL's AND, `eq` and `in` are equalities joined by its OR, `nin` is the negation of `in`:
    /// one operand that cannot be compared makes the answer unknown unless another decides it.
    /// `like` is unknown of anything but a string. A malformed filter is unknown of everything.
    #[must_use]
    pub fn evaluate(&self, value: &Value) -> Option<bool> {
        if self.fault.is_some() {
            return None;
        }
        // `fault` being empty says how many operands there are.
        let first = self.values.first()?;
        match self.operator {
            Operator::Eq | Operator::In => any_equal(&self.values, value),
            Operator::Nin => any_equal(&self.values, value).map(|found| !found),
            Operator::Ne => compare(value, first).map(Ordering::is_ne),
            Operator::Gt => compare(value, first).map(Ordering::is_gt),
            Operator::Gte => compare(value, first).map(Ordering::is_ge),
            Operator::Lt => compare(value, first).map(Ordering::is_lt),
            Operator::Lte => compare(value, first).map(Ordering::is_le),
            Operator::Between => and(
                compare(value, first).map(Ordering::is_ge),
                compare(value, self.values.get(1)?).map(Ordering::is_le),
            ),
            Operator::Like => match (value, first) {
                (Value::String(text), Value::String(pattern)) => Some(is_like(text, pattern)),
                _ => None,
            },
        }
    }

    /// Whether the filter keeps a row with this cell: only where the condition is true.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        self.evaluate(value) == Some(true)
    }

    /// The filter for a column of the given kind, its operands converted as
    /// [`Value::convert_to`] does; `None` where it cannot apply. That is: it is malformed, an
    /// operand does not convert, it is `like` on a column that is not a string, or the column
    /// holds JSON, lists or maps, which nothing compares with.
    ///
    /// A connector asks this before its first row, and refuses the query on `None`.
    #[must_use]
    pub fn for_column(&self, kind: ValueKind) -> Option<Self> {
        if self.fault.is_some()
            || matches!(kind, ValueKind::Json | ValueKind::List | ValueKind::Map)
            || (self.operator == Operator::Like && kind != ValueKind::String)
        {
            return None;
        }
        let values = self.values.iter().map(|value| value.convert_to(kind));
        Some(Self::new(Arc::clone(&self.field), self.operator, values.collect::<Option<_>>()?))
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("field", &self.field)
            .field("operator", &self.operator)
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

/// What is wrong with a filter. The texts are fixed: they name no field and no value.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum FilterFault {
    /// An operator that takes at least one value has none.
    NoValue,
    /// An operator that takes one value has another number of them.
    NotOneValue,
    /// `between` has another number of values than two.
    NotTwoValues,
    /// A value is null.
    NullValue,
    /// The pattern of `like` is not a string.
    PatternNotString,
    /// The pattern of `like` ends in a backslash with nothing to act on.
    PatternEndsInEscape,
}

impl FilterFault {
    /// The fault in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoValue => "operator takes at least one value",
            Self::NotOneValue => "operator takes exactly one value",
            Self::NotTwoValues => "operator takes exactly two values",
            Self::NullValue => "null is not a filter value",
            Self::PatternNotString => "pattern is not a string",
            Self::PatternEndsInEscape => "pattern ends in an escape character",
        }
    }
}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl core::error::Error for FilterFault {}

fn find_fault(operator: Operator, values: &[Value]) -> Option<FilterFault> {
    match (operator, values.len()) {
        (Operator::Eq | Operator::In | Operator::Nin, 0) => return Some(FilterFault::NoValue),
        (Operator::Eq | Operator::In | Operator::Nin, _) | (Operator::Between, 2) => {}
        (Operator::Between, _) => return Some(FilterFault::NotTwoValues),
        (_, 1) => {}
        _ => return Some(FilterFault::NotOneValue),
    }
    if values.iter().any(Value::is_null) {
        return Some(FilterFault::NullValue);
    }
    match (operator, values) {
        (Operator::Like, [Value::String(pattern)]) => {
            let escapes = pattern.bytes().rev().take_while(|&byte| byte == b'\\').count();
            (escapes % 2 == 1).then_some(FilterFault::PatternEndsInEscape)
        }
        (Operator::Like, _) => Some(FilterFault::PatternNotString),
        _ => None,
    }
}

fn any_equal(operands: &[Value], value: &Value) -> Option<bool> {
    let mut answer = Some(false);
    for operand in operands {
        match compare(value, operand) {
            Some(Ordering::Equal) => return Some(true),
            Some(_) => {}
            None => answer = None,
        }
    }
    answer
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Matches greedily and goes back to the latest `%` only: what an earlier one could still reach,
/// the latest reaches too. So it neither recurses nor tries combinations.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut text = text.chars();
    let mut pattern = pattern.chars();
    // After the latest `%`: the rest of the pattern, and of the text that it has not swallowed.
    let mut resume = None;
    loop {
        let before = text.clone();
        let matched = match (pattern.next(), text.next()) {
            (Some('%'), _) => {
                if pattern.as_str().is_empty() {
                    return true;
                }
                text = before.clone();
                resume = Some((pattern.clone(), before));
                continue;
            }
            (None, None) => return true,
            // No later start has more text to offer.
            (Some(_), None) => return false,
            (None, Some(_)) => false,
            (Some('_'), Some(_)) => true,
            (Some('\\'), Some(c)) => pattern.next() == Some(c),
            (Some(p), Some(c)) => p == c,
        };
        if !matched {
            let Some((after, rest)) = &mut resume else {
                return false;
            };
            if rest.next().is_none() {
                return false;
            }
            pattern = after.clone();
            text = rest.clone();
        }
    }
}
