-- What is newer is told by numbers that only grow. A clock may be set back.

create sequence penstock.limit_numbers;
-- version: of rate and burst. since: what anybody knows of this key from before that number is void (it was removed).
alter table penstock.limits
    add column version bigint not null default nextval('penstock.limit_numbers'),
    add column since   bigint not null default nextval('penstock.limit_numbers');

-- probe: the calls that tried this circuit, counted; probe_at_opening: how many there were when it opened.
alter table penstock.circuits
    add column probe            bigint not null default 0,
    add column probe_at_opening bigint not null default 0;
