-- Forgets what sources answered long ago, a batch at a time.

-- name: forget_searches
delete from record_linking.searches where (source, language, query, types) in (
    select source, language, query, types from record_linking.searches
    where fetched_at < now() - $1::double precision * interval '1 day' limit $2)

-- name: forget_entities
-- What is wanted anew has no time, and stays.
delete from record_linking.entities where (source, id) in (
    select source, id from record_linking.entities
    where fetched_at < now() - $1::double precision * interval '1 day' limit $2)
