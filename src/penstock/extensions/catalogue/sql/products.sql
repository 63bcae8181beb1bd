-- name: upsert
-- A list that is imported again changes its products. Arrays: one statement per batch.
insert into catalogue.products
    (key, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::text[], $8::text[],
                     $9::text[], $10::text[], $11::text[])
on conflict (key) do update set
    gtin = excluded.gtin, sku = excluded.sku, brand = excluded.brand, title = excluded.title, price = excluded.price,
    currency = excluded.currency, retailer = excluded.retailer, url = excluded.url,
    search_brand = excluded.search_brand, search_title = excluded.search_title, updated_at = now()
-- What is as it was is neither written nor returned.
where (products.gtin, products.sku, products.brand, products.title, products.price, products.currency, products.retailer,
       products.url, products.search_brand, products.search_title)
      is distinct from (excluded.gtin, excluded.sku, excluded.brand, excluded.title, excluded.price, excluded.currency,
                        excluded.retailer, excluded.url, excluded.search_brand, excluded.search_title)
-- A row that nobody updated before has no xmax: it is new.
returning (xmax = 0) as created

-- name: by_gtin
-- The surest key there is.
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title, 1.0::float8 as score
from catalogue.products where gtin = $1 order by id limit 1

-- name: by_sku
-- Two makers may use the same number: where both brands are known, they have to agree.
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title, 1.0::float8 as score
from catalogue.products
where sku = $1 and ($2::text is null or search_brand in ('', $2))
order by (search_brand = coalesce($2, '')) desc, id limit 1

-- name: by_brand_and_title
-- Products of the brand that share a telling word, ranked by trigrams.
with candidates as materialized (  -- bounded, whatever the size of the brand
    select * from catalogue.products where search_brand = $2 and search_brand <> '' and search_words && $3::text[] limit $5
)
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title,
       similarity(search_title, $1)::float8 as score
from candidates where similarity(search_title, $1) >= $4 order by score desc, id limit 10

-- name: by_title
-- Products that share two of the three most telling words, ranked by trigrams.
with candidates as materialized (  -- bounded, however common the words are
    select * from catalogue.products
    where search_words @> $2::text[] or search_words @> $3::text[] or search_words @> $4::text[] limit $6
)
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title,
       similarity(search_title, $1)::float8 as score
from candidates where similarity(search_title, $1) >= $5 order by score desc, id limit 10

-- name: by_words
-- Products whose title holds all the words, the closest title first: the cheap half of a wider guess.
with candidates as materialized (  -- bounded, however common the words are
    select * from catalogue.products where search_words @> $2::text[] limit $3
)
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title,
       ((1 + similarity(search_title, $1)) / 2)::float8 as score
from candidates order by score desc, id limit 10

-- name: bear
-- How alike the words have to be for `by_trigrams`; holds until the end of the transaction.
select set_config('pg_trgm.word_similarity_threshold', $1, true)

-- name: by_trigrams
-- Products with a part of the title that is spelled like the words asked for: the dear half.
select id, gtin, sku, brand, title, price, currency, retailer, url, search_brand, search_title,
       ((word_similarity($1, search_title) + similarity(search_title, $1)) / 2)::float8 as score
from catalogue.products where $1 <% search_title order by score desc, id limit 10

-- name: likeness
-- Of a product that is not in the table, as those in it are compared.
select similarity($2, $1)::float8 as whole, greatest(word_similarity($1, $2), word_similarity($2, $1))::float8 as part

-- name: remove
delete from catalogue.products where gtin = any ($1::text[]) returning gtin

-- name: count
-- For people, who wait for it.
select count(*) from catalogue.products
