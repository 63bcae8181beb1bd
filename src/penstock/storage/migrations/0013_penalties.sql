-- How often a key was asked to slow down, and when and why last: the row is written then anyway.
alter table penstock.limits
    add column penalties      bigint not null default 0,
    add column penalised_at   timestamptz,
    add column penalty_reason text;
