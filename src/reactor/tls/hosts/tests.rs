use super::*;

#[test]
fn a_star_stands_for_letters_of_one_label() {
    for (pattern, name, is_match) in [
        ("example.com", "example.com", true),
        ("example.com", "EXAMPLE.com", true),
        ("example.com", "www.example.com", false),
        ("*.example.com", "www.example.com", true),
        ("*.Example.com", "a.b.example.com", false),
        ("*.example.com", "example.com", false),
        ("a*c*e.com", "abcde.com", true),
        ("a*c*e.com", "ace.com", true),
        ("a*c*e.com", "acf.com", false),
        ("*", "localhost", true),
        ("*", "example.com", false),
        ("a*.b*c", "ax.bcxc", true),
        ("a*.b*c", "a.x.bc", false),
        ("a**", "a", true),
        ("", "example.com", false),
    ] {
        assert_eq!(Pattern::new(pattern).matches(name), is_match, "{pattern} {name}");
    }
}
