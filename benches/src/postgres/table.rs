//! The table as SQL: its name, and how it is made.

/// `table` or `schema.table` as identifiers, whatever they contain.
pub(super) fn quoted(name: &str) -> String {
    let part = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    match name.split_once('.') {
        Some((schema, table)) => format!("{}.{}", part(schema), part(table)),
        None => part(name),
    }
}

/// Makes a table like the flights from New York: nineteen columns, the same for every run.
pub(super) fn make(table: &str, rows: u64) -> String {
    format!(
        "DROP TABLE IF EXISTS {table};
         CREATE TABLE {table} AS SELECT
           2013 AS year, (n / 27000 % 12 + 1)::int4 AS month, (n / 900 % 28 + 1)::int4 AS day,
           CASE WHEN n % 41 = 0 THEN NULL ELSE (n % 2359)::int4 END AS dep_time,
           (n * 7 % 2359)::int4 AS sched_dep_time,
           CASE WHEN n % 41 = 0 THEN NULL ELSE (n % 200 - 20)::int4 END AS dep_delay,
           (n * 3 % 2359)::int4 AS arr_time, (n * 11 % 2359)::int4 AS sched_arr_time,
           (n % 180 - 30)::int4 AS arr_delay,
           (ARRAY['UA','AA','B6','DL','EV','MQ','US','WN'])[n % 8 + 1] AS carrier,
           (n % 5000)::int4 AS flight, 'N' || lpad((n % 99999)::text, 5, '0') AS tailnum,
           (ARRAY['EWR','LGA','JFK'])[n % 3 + 1] AS origin,
           (ARRAY['IAH','MIA','BQN','ATL','ORD','FLL'])[n % 6 + 1] AS dest,
           (n % 400 + 20)::int4 AS air_time, (n % 3000 + 100)::int4 AS distance,
           (n % 24)::int4 AS hour, (n % 60)::int4 AS minute,
           timestamptz '2013-01-01 00:00:00+00' + make_interval(hours => (n % 8760)::int4)
             AS time_hour
         FROM generate_series(1, {rows}::bigint) AS n;
         ANALYZE {table}"
    )
}
