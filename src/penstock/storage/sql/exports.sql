-- What an export reads: stored rows only, in short statements, so that no reader holds back vacuum.

-- name: extent
-- The ids between which a job's tasks lie now. What is stored later is no part of the export.
select min(id) as first_id, max(id) as last_id from penstock.tasks where job_id = $1

-- name: edits
-- The edited copies up to $2, and what each stands for. One whose original is gone stands for itself.
select replaces as original, id as copy from penstock.tasks c
where job_id = $1 and id <= $2 and replaces is not null
  and (select o.id from penstock.tasks o where o.id = c.replaces) is not null
order by id

-- name: following
-- Where the next window of a scan begins: the ids of a job may lie far apart.
select min(id) from penstock.tasks where job_id = $1 and id > $2 and id <= $3

-- name: input_shape
-- How many rows there are, how wide they are, and whether some are images.
select count(*) as rows, coalesce(bool_or(input ? 'image'), false) as images,
       min(case jsonb_typeof(input -> 'cells') when 'array' then jsonb_array_length(input -> 'cells') end) as narrowest,
       max(case jsonb_typeof(input -> 'cells') when 'array' then jsonb_array_length(input -> 'cells') end) as widest
from penstock.tasks where job_id = $1 and id between $2 and $3

-- name: argument_keys
-- The arguments of plain items, in the order in which they are first seen.
select key, min(t.id) as seen
from penstock.tasks t cross join lateral jsonb_object_keys(t.input) as key
where t.job_id = $1 and t.id between $2 and $3 and jsonb_typeof(t.input) = 'object'
group by key order by seen, key

-- name: result_keys
-- The result columns that nobody declared, in the order in which they are first seen.
select key, min(o.task_id) as seen
from penstock.outcomes o cross join lateral jsonb_object_keys(o.result -> 'columns') as key
where o.job_id = $1 and o.task_id between $2 and $3 and jsonb_typeof(o.result -> 'columns') = 'object'
group by key order by seen, key

-- name: has_other_results
-- Whether a result holds more than the columns named in $4, or has no columns at all. An aggregate, because the server
-- shares that out between its processes.
select coalesce(bool_or(case jsonb_typeof(o.result -> 'columns') when 'object' then (o.result -> 'columns') - $4::text[] <> '{}'
                        else o.result <> 'null' end), false)
from penstock.outcomes o where o.job_id = $1 and o.task_id between $2 and $3

-- name: page_end
-- The last id of the next $3 tasks, and how many they are, from the index alone.
select max(id) as last_id, count(*) as rows
from (select id from penstock.tasks where job_id = $1 and id > $2 and id <= $4 order by id limit $3) as page

-- name: csv_statement
-- The columns of jobs differ and those of a statement do not, so the server writes the statement for a page and quotes
-- every key itself. $1 and $2: kind and key of each column; $3: the pattern of cells that get an apostrophe, or null, and
-- $7 the characters those may begin with, which is quicker to see; $4 to $6: the job, and the ids of the page. COPY takes
-- no parameters, which is why they are written into it.
with columns as (
    select number, kind, case kind
        when 'cell' then format('t.input -> ''cells'' ->> %s', key::integer)
        when 'width' then 'jsonb_array_length(t.input -> ''cells'')'
        when 'image' then 't.input -> ''image'' ->> ''name'''
        when 'argument' then format('t.input ->> %L', key)
        when 'result' then format('o.result -> ''columns'' ->> %L', key)
        when 'whole' then 'nullif(o.result, ''null'')::text'
        -- What is in none of the columns named in its key, or the whole of a result without columns.
        when 'other' then format(
            'case when jsonb_typeof(o.result -> ''columns'') = ''object'''
            ' then nullif((o.result -> ''columns'') - array(select jsonb_array_elements_text(%L)), ''{}'')'
            ' else nullif(o.result, ''null'') end::text', key)
        when 'error' then 'coalesce(nullif(o.error ->> ''message'', ''''), o.error ->> ''type'')'
        when 'status' then
            'case o.status when 2 then ''DONE'' when 3 then ''ERROR'' when 4 then ''NOT_FOUND'' when 5 then ''SKIPPED'''
            ' when 6 then ''CANCELLED'' else case when q.worker is not null then ''PROCESSING'''
            ' when l.cancelled_at is not null then ''CANCELLED'' else ''PENDING'' end end'
        end as expression
    from unnest($1::text[], $2::text[]) with ordinality as c (kind, key, number)
), guarded as (
    select number, case when $3::text is null or kind in ('status', 'width') then expression
        else format(
            'case when strpos(%4$L, left(%1$s, 1)) > 0 and %1$s ~ %2$L then %3$L || %1$s else %1$s end',
            '(' || expression || ')', $3, '''', $7::text) end as expression
    from columns
)
select format(
    'select %1$s from penstock.tasks t'
    ' left join penstock.outcomes o on o.task_id = t.id and o.task_id > %3$s and o.task_id <= %4$s'
    ' left join penstock.queue q on q.task_id = t.id and q.task_id > %3$s and q.task_id <= %4$s'
    ' left join penstock.lanes l on l.id = q.lane'
    -- A copy comes alone, in the place of what it replaces. One among others was stored while the export began, and what it
    -- replaces is there.
    ' where t.job_id = %2$s and t.id > %3$s and t.id <= %4$s and (t.replaces is null or %3$s = %4$s - 1'
    ' or (select p.id from penstock.tasks p where p.id = t.replaces) is null) order by t.id',
    string_agg(expression, ', ' order by number), $4::bigint, $5::bigint, $6::bigint)
from guarded

-- name: rows
-- The same rows with their JSON as it is stored, for files that know numbers from text. The ranges on every table keep
-- a merge join from reading it from its beginning. $4: only the columns of results that have some.
select t.id, t.input::text as input,
       case when $4 and jsonb_typeof(o.result -> 'columns') = 'object'
            then jsonb_build_object('columns', o.result -> 'columns') else o.result end::text as result,
       coalesce(nullif(o.error ->> 'message', ''), o.error ->> 'type') as error,
       case when o.status is not null then o.status when q.worker is not null then 1
            when l.cancelled_at is not null then 6 else 0 end::integer as status
from penstock.tasks t
left join penstock.outcomes o on o.task_id = t.id and o.task_id > $2 and o.task_id <= $3
left join penstock.queue q on q.task_id = t.id and q.task_id > $2 and q.task_id <= $3
left join penstock.lanes l on l.id = q.lane
where t.job_id = $1 and t.id > $2 and t.id <= $3 and (t.replaces is null or $2 = $3 - 1
    or (select p.id from penstock.tasks p where p.id = t.replaces) is null)
order by t.id

-- name: fill
-- For the bench: finished rows as an import and a look-up would have left them, without running either.
with placed as (
    insert into penstock.tasks (entry, job_id, input)
    select $1, $2, jsonb_build_object('row', n, 'cells', jsonb_build_array(
        'SKU-' || n, 'Garden spade number ' || n || ', "forged"', 'Brand ' || n % 97, lpad((n * 7919)::text, 13, '4'),
        (n % 10000 / 100.0)::text, (n % 50)::text, 'Garden > Tools > Spades',
        'A spade for heavy soil, number ' || n || ', with an ash handle and a warranty of ten years'))
    from generate_series($4::bigint, $5::bigint) as n
    returning id
)
insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, result)
select id, $2, $3, $1, 2, 1, 1, jsonb_build_object(
    'columns', jsonb_build_object('Title found', 'Spade ' || id, 'Retailer', 'Retailer ' || id % 13,
        'Price found', id % 10000 / 100.0, 'Address', 'https://shop.example/products/' || id),
    'normalized', jsonb_build_object('title', 'spade ' || id),
    'provenance', jsonb_build_object('Price found', jsonb_build_object('provider', 'local', 'query', 'gtin')))
from placed
