-- Website analysis: pages as they came, what people decided about a site, what models said, and what that cost.

create schema if not exists website_analysis;

-- Raw bytes and headers of what a run fetched, so that a later run can read them again without network.
create table website_analysis.pages (
    task_id      bigint not null,
    run          smallint not null,
    number       smallint not null,              -- order in which they were fetched, from 1
    kind         text not null check (kind in ('page', 'robots', 'sitemap')),
    url          text not null,                  -- as asked for
    final_url    text not null,                  -- after redirects
    status       smallint not null,
    headers      jsonb not null,
    body         bytea not null,                 -- after content decoding
    sha256       text not null,
    fetched_at   timestamptz not null default now(),
    primary key (task_id, run, number)
);
create index pages_age on website_analysis.pages using brin (fetched_at);

-- What people decided about one site: prompts they edited, whether models may be asked, options of its next run.
create table website_analysis.orders (
    task_id     bigint primary key,
    prompts     jsonb,
    approved_at timestamptz,
    -- What one run uses instead of what the job was submitted with, and which run that is.
    options     jsonb not null default '{}',
    for_run     smallint,
    decided_by  text not null,
    decided_at  timestamptz not null default now()
);

-- One row per question asked. Written when the answer is there and paid for.
create table website_analysis.answers (
    task_id    bigint not null,
    run        smallint not null,
    model      text not null,
    prompt     text not null,                    -- key of the prompt
    sample     smallint not null,
    text       text,
    problem    text,
    tokens_in  integer not null default 0,
    tokens_out integer not null default 0,
    cost       double precision not null default 0,
    took_ms    integer not null default 0,
    evidence   jsonb not null default '[]',
    details    jsonb not null default '{}',
    at         timestamptz not null default now(),
    primary key (task_id, run, model, prompt, sample)
);

-- What a job may spend, what it has spent, and what calls under way may cost at most. A call starts only after its
-- worst case fitted into what is left.
create table website_analysis.budgets (
    job_id   bigint primary key,
    most     double precision not null check (most >= 0),
    spent    double precision not null default 0,
    changed_at timestamptz not null default now()
);
-- Calls under way. A row of a process that died is taken back when its task runs again.
create table website_analysis.reservations (
    id       bigint generated always as identity primary key,
    job_id   bigint not null,
    task_id  bigint not null,
    lease    bigint not null,
    cost     double precision not null,
    at       timestamptz not null default now()
);
create index reservations_job on website_analysis.reservations (job_id);
create index reservations_task on website_analysis.reservations (task_id);
