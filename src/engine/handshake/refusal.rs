numbered! {
    /// The check that an upgrade request failed, in the order of the checks. 0 stands for
    /// "acceptable".
    Refusal {
        Method = 1,
        Upgrade = 2,
        Key = 3,
        Version = 4,
        /// Not the path that the server serves; answered as when `shouldHandle` returns false.
        Path = 5,
        Protocol = 6,
        Extensions = 7,
    }
}

impl Refusal {
    pub fn status(self) -> u16 {
        if self == Self::Method { 405 } else { 400 }
    }

    /// The sentences of `ws`.
    pub fn body(self) -> &'static str {
        match self {
            Self::Method => "Invalid HTTP method",
            Self::Upgrade => "Invalid Upgrade header",
            Self::Key => "Missing or invalid Sec-WebSocket-Key header",
            Self::Version => "Missing or invalid Sec-WebSocket-Version header",
            Self::Path => "Bad Request",
            Self::Protocol => "Invalid Sec-WebSocket-Protocol header",
            Self::Extensions => "Invalid or unacceptable Sec-WebSocket-Extensions header",
        }
    }

    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        if self == Self::Version { &[("Sec-WebSocket-Version", "13, 8")] } else { &[] }
    }

    /// Whether `ws` makes this check before it asks `shouldHandle`.
    pub fn before_should_handle(self) -> bool {
        matches!(self, Self::Method | Self::Upgrade | Self::Key | Self::Version)
    }
}
