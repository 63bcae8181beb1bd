-- The lease under which somebody hastened the task. A snooze that ends this very lease is over at once; a new claim has a
-- new lease, so nothing has to be cleared. Without an index, and null for nearly every row: claims and settles do not pay for it.
alter table penstock.queue add column if not exists hastened bigint;
