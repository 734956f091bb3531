//! The table of errors, which is handed to JavaScript.

use super::*;

/// The row of each kind is at its number: both sides mean the same error.
#[test]
fn rows_are_in_order() {
    for (index, row) in ErrorKind::table().iter().enumerate() {
        assert_eq!(row.kind as usize, index + 1);
        assert_eq!(row.kind.row(), row);
    }
    assert_eq!(ErrorKind::table().len(), ErrorKind::SendBudget as usize, "the last kind has the last row");
}
