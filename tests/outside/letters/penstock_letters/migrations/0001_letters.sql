create schema if not exists letters;
create table letters.letters (
    id   bigint generated always as identity primary key,
    text text not null
);
