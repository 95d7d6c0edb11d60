"""The authentication webhook: TokenReviews answered out of an identity provider that may be ill."""
