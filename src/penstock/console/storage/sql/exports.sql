-- What an export reads: stored rows only, in short statements, so that no reader holds back vacuum.

-- name: extent
-- The ids between which a job's tasks lie now. What is stored later is no part of the export.
select (select task_id from penstock.task_states where job_id = $1 order by task_id limit 1) as first_id,
       (select task_id from penstock.task_states where job_id = $1 order by task_id desc limit 1) as last_id

-- name: edits
-- The edited copies up to $2, and what each stands for. One whose original is gone stands for itself.
select replaces as original, task_id as copy from penstock.task_states c
where job_id = $1 and task_id <= $2 and replaces is not null
  and (select o.task_id from penstock.task_states o where o.task_id = c.replaces) is not null
order by task_id

-- name: following
-- Where the next window of a scan begins: the ids of a job may lie far apart.
select task_id from penstock.task_states where job_id = $1 and task_id > $2 and task_id <= $3
order by task_id limit 1

-- name: input_shape
-- How many rows there are, how wide they are, and whether some are images.
select count(*) as rows, coalesce(bool_or(input ? 'image'), false) as images,
       min(case jsonb_typeof(input -> 'cells') when 'array' then jsonb_array_length(input -> 'cells') end) as narrowest,
       max(case jsonb_typeof(input -> 'cells') when 'array' then jsonb_array_length(input -> 'cells') end) as widest
from penstock.task_states where job_id = $1 and task_id between $2 and $3

-- name: argument_keys
-- The arguments of plain items, in the order in which they are first seen.
select key, min(t.task_id) as seen
from penstock.task_states t cross join lateral jsonb_object_keys(t.input) as key
where t.job_id = $1 and t.task_id between $2 and $3 and jsonb_typeof(t.input) = 'object'
group by key order by seen, key

-- name: result_keys
-- The result columns that nobody declared, in the order in which they are first seen.
select key, min(o.task_id) as seen
from penstock.task_outcomes o cross join lateral jsonb_object_keys(o.result -> 'columns') as key
where o.job_id = $1 and o.task_id between $2 and $3 and jsonb_typeof(o.result -> 'columns') = 'object'
group by key order by seen, key

-- name: has_other_results
-- Whether a result holds more than the columns named in $4, or has no columns at all. An aggregate, because the server
-- shares that out between its processes.
select coalesce(bool_or(case jsonb_typeof(o.result -> 'columns') when 'object' then (o.result -> 'columns') - $4::text[] <> '{}'
                        else o.result <> 'null' end), false)
from penstock.task_outcomes o where o.job_id = $1 and o.task_id between $2 and $3

-- name: page_end
-- The last id of the next $3 tasks, and how many they are, from the index alone.
select max(task_id) as last_id, count(*) as rows
from (
    select task_id from penstock.task_states
    where job_id = $1 and task_id > $2 and task_id <= $4 order by task_id limit $3) as page

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
        when 'status' then 'coalesce(o.state, q.state, ''PENDING'')'
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
    'select %1$s from penstock.task_states t'
    ' left join penstock.task_outcomes o on o.task_id = t.task_id and o.task_id > %3$s and o.task_id <= %4$s'
    ' left join penstock.queued_tasks q on q.task_id = t.task_id and q.task_id > %3$s and q.task_id <= %4$s'
    -- A copy comes alone, in the place of what it replaces. One among others was stored while the export began, and what it
    -- replaces is there.
    ' where t.job_id = %2$s and t.task_id > %3$s and t.task_id <= %4$s and (t.replaces is null or %3$s = %4$s - 1'
    ' or (select p.task_id from penstock.task_states p where p.task_id = t.replaces) is null) order by t.task_id',
    string_agg(expression, ', ' order by number), $4::bigint, $5::bigint, $6::bigint)
from guarded

-- name: rows
-- The same rows with their JSON as it is stored, for files that know numbers from text. The ranges on every table keep
-- a merge join from reading it from its beginning. $4: only the columns of results that have some.
select t.task_id as id, t.input::text as input,
       case when $4 and jsonb_typeof(o.result -> 'columns') = 'object'
            then jsonb_build_object('columns', o.result -> 'columns') else o.result end::text as result,
       coalesce(nullif(o.error ->> 'message', ''), o.error ->> 'type') as error,
       coalesce(o.status, q.status, 0) as status
from penstock.task_states t
left join penstock.task_outcomes o on o.task_id = t.task_id and o.task_id > $2 and o.task_id <= $3
left join penstock.queued_tasks q on q.task_id = t.task_id and q.task_id > $2 and q.task_id <= $3
where t.job_id = $1 and t.task_id > $2 and t.task_id <= $3 and (t.replaces is null or $2 = $3 - 1
    or (select p.task_id from penstock.task_states p where p.task_id = t.replaces) is null)
order by t.task_id
