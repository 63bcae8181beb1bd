-- Catalogue enrichment: products to look up, and what was looked up where.

-- Before anything else: where this cannot be had, nothing of the application is made, and the reason is one sentence.
do $$
begin
    create extension if not exists pg_trgm;
exception when insufficient_privilege or feature_not_supported or undefined_file then
    raise exception 'The extension pg_trgm is missing in this database, and role "%" cannot create it (%).',
        current_user, sqlerrm
        using errcode = 'PK020',
              hint = 'Have an administrator run `create extension pg_trgm` in this database, then run'
                     ' `penstock migrate` again.';
end
$$;

create schema if not exists catalogue;

-- A product is known by its GTIN, else by retailer and SKU, else by its name: `key` says which, so that a second import
-- of the same list changes products instead of doubling them.
create table catalogue.products (
    id           bigint generated always as identity primary key,
    key          text not null unique,
    gtin         text check (gtin ~ '^[0-9]{14}$'),
    sku          text,
    brand        text,
    title        text not null,
    price        numeric(16, 4),
    currency     text,
    retailer     text,
    url          text,
    updated_at   timestamptz not null default now(),
    -- Folded by the application: lower case, no accents, no punctuation; the brand stands in front of the title once.
    search_brand text not null default '',
    search_title text not null,
    search_words text[] not null generated always as (string_to_array(search_title, ' ')) stored
);
create index products_gtin on catalogue.products (gtin) where gtin is not null;
create index products_sku on catalogue.products (sku) where sku is not null;
create index products_brand on catalogue.products (search_brand) where search_brand <> '';
-- Words find a title in about a millisecond among a million; trigrams also find misspelled ones, and cost more.
create index products_words on catalogue.products using gin (search_words);
create index products_trigrams on catalogue.products using gin (search_title gin_trgm_ops);

-- One row per question to a provider. Only appended, and removed with age.
create table catalogue.search_events (
    id       bigint generated always as identity primary key,
    at       timestamptz not null default now(),
    task_id  bigint not null,
    job_id   bigint,
    attempt  integer not null,
    provider text not null,
    query    text not null,
    hit      boolean,                            -- null: the provider gave no answer, see error
    ms       real not null,
    cost     numeric(12, 6) not null default 0,
    error    text
);
create index search_events_task on catalogue.search_events (task_id);
create index search_events_job on catalogue.search_events (job_id, id) where job_id is not null;
create index search_events_age on catalogue.search_events using brin (at);
