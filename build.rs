//! Sets up linking of the Node addon; nothing to do for the layers below it.
fn main() {
    if std::env::var_os("CARGO_FEATURE_BINDING").is_some() {
        napi_build::setup();
    }
}
