\set aid random(1, 100000 * :client_id)
\set delta random_exponential(-5000, 5000, 2)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT $$a :quoted ; body$$, E'it\'s; :aid', "odd "":name""";
END;
