use super::*;

#[test]
fn an_element_that_is_cut_off_is_none() {
    let whole = [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05];
    for len in 0..whole.len() {
        assert!(Reader(&whole[..len]).next().is_none(), "{len}");
    }
    let mut inside = Reader(&whole).enter(SEQUENCE).unwrap();
    assert_eq!(inside.read(0x02), Some(&[5][..]));
    assert!(Reader(&[0x30, 0x80, 0, 0]).next().is_some_and(|(_, contents)| contents.is_empty()));
    assert!(Reader(&[0x30, 0x85, 0, 0, 0, 0, 0]).next().is_none());
}
