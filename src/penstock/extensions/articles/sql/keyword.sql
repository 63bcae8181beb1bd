-- name: lexemes
-- The words of a query as the index knows them, rarest first, and the share of the articles that have each, as far as
-- the last ANALYZE remembers it: null for one that is rarer than those. `rare`: the share of the rarest it remembers.
-- `articles`: how many there were then. Before the first ANALYZE they are counted, so that rare words weigh more than
-- common ones from the beginning.
with remembered as materialized (
    select s.most_common_elems::text::text[] as words, s.most_common_elem_freqs as shares
    from pg_stats s where s.schemaname = 'article_search' and s.tablename = 'articles' and s.attname = 'words'
), asked as (
    select l.lexeme, l.positions[1] as place, r.shares[array_position(r.words, l.lexeme)]::float8 as share
    from unnest(to_tsvector($1::text::regconfig, $2)) l left join remembered r on true
)
select array(select lexeme from asked order by share nulls first, place) as lexemes,
       array(select share from asked order by share nulls first, place) as shares,
       (select r.shares[cardinality(r.shares) - 1] from remembered r)::float8 as rare,
       (select case when c.reltuples >= 0 then c.reltuples
                    else (select count(*) from (select from article_search.articles limit 10000) counted) end::float8
        from pg_class c where c.oid = 'article_search.articles'::regclass) as articles

-- name: size
-- The same two figures for words that come from an article instead of a query.
select case when c.reltuples >= 0 then c.reltuples
            else (select count(*) from (select from article_search.articles limit 10000) counted) end::float8 as articles,
       (select s.most_common_elem_freqs[cardinality(s.most_common_elem_freqs) - 1] from pg_stats s
        where s.schemaname = 'article_search' and s.tablename = 'articles' and s.attname = 'words')::float8 as rare
from pg_class c where c.oid = 'article_search.articles'::regclass

-- name: ranked
-- $1 text search configuration, $2 the query, $3 searches, $4 words by which is ranked with $5 the weight of each,
-- $6-$9 filter, $10 most of a search, $11 most that are ranked, $12 most of the answer, $13 number of articles where
-- search n is word n, so that its weight can be counted instead of estimated; else null.
with searches as materialized (
    select s.number, s.search::tsquery as search from unnest($3::text[]) with ordinality s (search, number)
), found as materialized (  -- the index alone answers this, and every list is bounded
    select s.number, a.id from searches s cross join lateral (
        select a.id from article_search.articles a where a.words @@ s.search
          and ($6::text is null or a.visibility = 'shared' or a.owner = $6) and ($7::text is null or a.owner = $7)
          and ($8::timestamptz is null or a.updated_at >= $8) and ($9::timestamptz is null or a.updated_at < $9)
        limit $10
    ) a
), weighed as materialized (
    select w.number, w.word::tsquery as word,
           case when c.count > 0 and $13::float8 is not null
                then ln(1 + greatest($13, max(c.count) over ()) / c.count) else w.weight end as weight
    from unnest($4::text[], $5::float8[]) with ordinality w (word, weight, number)
    left join (select f.number, count(*) as count from found f group by f.number) c on c.number = w.number
), words as materialized (  -- so that scores of different queries can be compared
    select w.number, w.word, w.weight / sum(w.weight) over () as weight from weighed w
), titled as materialized (  -- a word of the title is never lost among the many that have it in their text
    select w.number, a.id from words w cross join lateral (
        select a.id from article_search.articles a where ts_filter(a.words, '{a}') @@ w.word
          and ($6::text is null or a.visibility = 'shared' or a.owner = $6) and ($7::text is null or a.owner = $7)
          and ($8::timestamptz is null or a.updated_at >= $8) and ($9::timestamptz is null or a.updated_at < $9)
        limit $11
    ) a
), chosen as materialized (
    select p.id from (
        select f.id, case when $13::float8 is null then 1.0 else w.weight end as part
        from found f left join words w on w.number = f.number
        union all
        select t.id, w.weight from titled t join words w on w.number = t.number
    ) p group by p.id order by sum(p.part) desc, p.id desc limit $11
), held as materialized (  -- a long list of words is unpacked once, and not again for every rank
    select a.id, a.words || ''::tsvector as words from article_search.articles a
    where a.id = any (array(select c.id from chosen c))
), phrase as materialized (
    select phraseto_tsquery($1::text::regconfig, $2) as phrase
)
select h.id as article_id, r.score + r.whole::int + (r.whole and h.words @@ (select p.phrase from phrase p))::int as score
from held h cross join lateral (
    -- Grows ever slower with the number of places; one in the title counts more than any number in the text.
    select sum(w.weight * ts_rank('{0.1, 0.2, 0.4, 1.0}', h.words, w.word)) as score, bool_and(h.words @@ w.word) as whole
    from words w
) r
where r.score is not null order by 2 desc, 1 limit $12

-- name: same_words
-- Which words of a text are words of the query in another form.
select w.word from unnest($2::text[]) w (word)
where tsvector_to_array(to_tsvector($1::text::regconfig, normalize(w.word, nfc))) && $3::text[]

-- name: telling
-- The words that say most about an article: often in it, seldom elsewhere.
with remembered as materialized (
    select w.word, r.shares[w.place] as share
    from (select s.most_common_elems::text::text[] as words, s.most_common_elem_freqs as shares from pg_stats s
          where s.schemaname = 'article_search' and s.tablename = 'articles' and s.attname = 'words') r,
         unnest(r.words) with ordinality w (word, place)
)
select l.lexeme, m.share::float8 as share
from article_search.articles a cross join unnest(a.words) l left join remembered m on m.word = l.lexeme
where a.id = $1 and length(l.lexeme) > 2
order by ('A' = any (l.weights))::int + ln(1 + least(cardinality(l.positions), 20)) - ln(coalesce(m.share, 0.001)) desc,
         l.lexeme
limit $2
