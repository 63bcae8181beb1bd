"""What record linking is called in the engine."""

SEARCH = "linking.search"
FETCH = "linking.fetch"
SCORE = "linking.score"
WATCH = "linking.watch"
