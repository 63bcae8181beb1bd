-- Articles and their revisions. Texts are appended to `revisions`; the row of an article says which one is current.

-- name: take_slugs
-- The numbers of the next articles with these titles. A row is locked until the caller commits, so that two of the same
-- title never try the same slug; different titles never meet. In one order for all, so that two imports cannot wait for
-- each other in a circle.
insert into article_search.slugs (base, used)
select base, n from unnest($1::text[], $2::integer[]) as wanted (base, n) order by base
on conflict (base) do update set used = slugs.used + excluded.used
returning base, used

-- name: insert
-- Slugs that are taken by another title do not come back; the caller gives those articles the next number.
insert into article_search.articles (slug, title, owner, visibility, shared_from, words, source)
select n.slug, n.title, n.owner, n.visibility, case when n.visibility = 'shared' then 1 end,
       article_search.words_of($1::text::regconfig, n.title, n.content), n.source
from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    as n (slug, title, owner, visibility, content, source)
on conflict (slug) do nothing
returning id, slug, created_at

-- name: append_revision
insert into article_search.revisions (article_id, revision, title, content, message, author, digest, task_id)
values ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: append_revisions
-- After a batch of tasks was enqueued: $8 is the newest task of the job from before, so only new ones are looked at.
with queued as (
    select (t.input ->> 'article')::bigint as article_id, t.task_id from penstock.task_states t
    where t.job_id = $9 and t.task_id > $8 and (t.input ->> 'generation')::integer = $10
)
insert into article_search.revisions (article_id, revision, title, content, message, author, digest, task_id)
select n.article_id, n.revision, n.title, n.content, n.message, n.author, n.digest, queued.task_id
from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
    as n (article_id, revision, title, content, message, author, digest)
left join queued using (article_id)

-- name: newest_task
select coalesce((select task_id from penstock.task_states where job_id = $1 order by task_id desc limit 1), 0)

-- name: lock
-- For a change: whoever else wants to change it waits until this one is stored. Its text is read by another statement:
-- one that had to wait would look for the new revision among rows as they were before.
select id from article_search.articles where slug = $1 for no key update

-- name: revise
-- Who shares an article shows what it says from now on, not what it said before.
update article_search.articles
set title = $2, visibility = $3, shared_from = case when $3 = 'shared' then coalesce(shared_from, $6) end, words = article_search.words_of($4::text::regconfig, $2, $5), revision = $6,
    updated_at = now()
where id = $1
returning updated_at

-- name: revise_many
update article_search.articles a
set title = n.title, words = article_search.words_of($1::text::regconfig, n.title, n.content), revision = n.revision,
    updated_at = now()
from unnest($2::bigint[], $3::text[], $4::text[], $5::integer[]) as n (id, title, content, revision)
where a.id = n.id

-- name: show_to
-- Another visibility is no new text: nothing has to be embedded.
update article_search.articles
set visibility = $2, shared_from = case when $2 = 'shared' then coalesce(shared_from, revision) end, updated_at = now()
where id = any ($1::bigint[]) and visibility <> $2
returning updated_at

-- name: delete
-- Its revisions go with it. What is indexed of it is taken away by a task.
delete from article_search.articles where id = $1

-- name: get
select a.id, a.slug, a.title, r.content, a.revision, a.owner, a.visibility, a.shared_from, a.source, r.message, r.author, r.task_id,
       a.created_at, a.updated_at, r.digest
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.slug = $1

-- name: by_ids
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.id = any ($1::bigint[])

-- name: known_sources
-- A first look, which locks nothing: it only spares slugs.
select source from article_search.articles where owner = $1 and source = any ($2::text[])

-- name: lock_sources
-- Those of an import's articles that are there, so that an edit meanwhile is not overwritten unseen. In the order of
-- their ids, so that two imports cannot wait for each other in a circle.
select id from article_search.articles where owner = $1 and source = any ($2::text[]) order by id for no key update

-- name: digests
select a.id, a.source, a.revision, a.visibility, r.digest
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.id = any ($1::bigint[])

-- name: page_of_owner
-- Newest change first. $2: whether shared ones alone are shown, because somebody else asks.
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.owner = $1 and (not $2 or a.visibility = 'shared') and (a.updated_at, a.id) < ($3, $4)
order by a.updated_at desc, a.id desc limit $5

-- name: page_of_owner_before
-- The page that ends at a place, read from there: its last row comes first.
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.owner = $1 and (not $2 or a.visibility = 'shared') and (a.updated_at, a.id) > ($3, $4)
order by a.updated_at, a.id limit $5

-- name: page_for
-- What $1 may see: a page of their own by one index and a page of shared ones by another, so that the articles which
-- others keep to themselves are not even looked at.
with own as (
    select updated_at, id from article_search.articles
    where owner = $1 and (updated_at, id) < ($2, $3) order by updated_at desc, id desc limit $4
), shared as (
    select updated_at, id from article_search.articles
    where visibility = 'shared' and (updated_at, id) < ($2, $3) order by updated_at desc, id desc limit $4
), seen as (
    select * from own union select * from shared order by updated_at desc, id desc limit $4
)
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from seen
join article_search.articles a on a.id = seen.id
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
order by a.updated_at desc, a.id desc

-- name: page_for_before
-- The same towards newer ones: the last row of the page comes first.
with own as (
    select updated_at, id from article_search.articles
    where owner = $1 and (updated_at, id) > ($2, $3) order by updated_at, id limit $4
), shared as (
    select updated_at, id from article_search.articles
    where visibility = 'shared' and (updated_at, id) > ($2, $3) order by updated_at, id limit $4
), seen as (
    select * from own union select * from shared order by updated_at, id limit $4
)
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from seen
join article_search.articles a on a.id = seen.id
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
order by a.updated_at, a.id

-- name: page_of_all
-- For who sees everything.
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where (a.updated_at, a.id) < ($1, $2)
order by a.updated_at desc, a.id desc limit $3

-- name: page_of_all_before
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where (a.updated_at, a.id) > ($1, $2)
order by a.updated_at, a.id limit $3

-- name: by_slugs
-- Those of $2 that $1 may see, null: everything.
select a.id, a.slug, a.title, a.revision, a.owner, a.visibility, a.shared_from, r.task_id, a.created_at, a.updated_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
where a.slug = any ($2::text[]) and ($1::text is null or a.owner = $1 or a.visibility = 'shared')

-- name: unattended
-- Of these, the articles whose current text is not indexed in generation $2 and for which no task waits: what an import
-- that was cancelled has left.
select a.id, a.revision
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
left join article_search.indexed i on i.article_id = a.id and i.generation = $2
where a.id = any ($1::bigint[]) and (i.revision is null or i.revision < a.revision)
  and not exists (select from penstock.queued_tasks q where q.task_id = r.task_id and not q.cancelled)

-- name: revisions
-- Without the texts, newest first, from revision $4 on.
select revision, title, message, author, task_id, created_at
from article_search.revisions where article_id = $1 and revision < $2 and revision >= $4 order by revision desc limit $3

-- name: revision
select revision, title, content, message, author, task_id, created_at
from article_search.revisions where article_id = $1 and revision = $2
