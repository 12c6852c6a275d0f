"""The report: one page about a model for somebody who was not there; `build.report` is what users call."""
