-- name: read
-- Quotes, `or` and `-` as people know them from search engines; and that without what is excluded.
select s.search::text as search, querytree(s.search) as wanted
from (select websearch_to_tsquery($1::text::regconfig, $2) as search) s

-- name: hurry
-- The rest of this transaction ends by itself: no query of anybody may hold up the others.
select set_config('statement_timeout', $1, true)

-- name: ranked
-- $1 text search configuration, $2 the query, $3 what the index is asked for, $4 the words that have to be there in any
-- order, $5 all words as a text, $6 words by which is ranked with $7 the weight of each, $8-$11 filter, $12 most that are
-- found, $13 most by their title, $14 most that are ranked, $15 most of the answer.
with titled as materialized (  -- however many have it in their text, who has it in the title is not lost among them
    select a.id from article_search.articles a where ts_filter(a.words, '{a}') @@ $4::text::tsquery
      and ($8::text is null or a.visibility = 'shared' or a.owner = $8) and ($9::text is null or a.owner = $9)
      and ($10::timestamptz is null or a.updated_at >= $10) and ($11::timestamptz is null or a.updated_at < $11)
    limit $13
), found as materialized (  -- where the index is used, it alone answers this and no list of words is unpacked
    select a.id from article_search.articles a where a.words @@ $3::text::tsquery
      and ($8::text is null or a.visibility = 'shared' or a.owner = $8) and ($9::text is null or a.owner = $9)
      and ($10::timestamptz is null or a.updated_at >= $10) and ($11::timestamptz is null or a.updated_at < $11)
    limit $12
), candidates as materialized (
    select c.id from (select t.id, 1 as titled from titled t union all select f.id, 0 from found f) c
    group by c.id order by max(c.titled) desc, c.id desc
), chosen as materialized (  -- in that order, until there are enough that fit; `offset` keeps the order
    select a.id, a.words from candidates c cross join lateral (
        select a.id, a.words || ''::tsvector as words from article_search.articles a where a.id = c.id offset 0
    ) a where a.words @@ $2::text::tsquery limit $14
), words as materialized (
    select w.word::tsquery as word, w.weight / sum(w.weight) over () as weight
    from unnest($6::text[], $7::float8[]) w (word, weight)
), phrase as materialized (
    select phraseto_tsquery($1::text::regconfig, $5) as phrase
)
select l.looked, r.article_id, r.score
from (select count(*) as looked from found) l left join lateral (
    -- All of them have what was asked for, hence the 1.
    select c.id as article_id, 1 + coalesce(s.score, 0) + (c.words @@ (select p.phrase from phrase p))::int as score
    from chosen c cross join lateral (
        select sum(w.weight * ts_rank('{0.1, 0.2, 0.4, 1.0}', c.words, w.word)) as score from words w
    ) s
    order by 2 desc, 1 limit $15
) r on true

-- name: fitting
-- Which of some articles the query takes.
select coalesce(array_agg(a.id), '{}') from article_search.articles a
where a.id = any ($2::bigint[]) and a.words @@ $1::text::tsquery
