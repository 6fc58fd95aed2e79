"""Mean harm and make noise: hostile peers and fuzzing, for tests and `make`. Nothing else imports it."""
