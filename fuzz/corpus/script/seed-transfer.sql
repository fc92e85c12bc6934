-- dbdyno: setup
CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account SELECT i, 100 FROM generate_series(1, 100000) i;

-- dbdyno: transaction transfer weight=3
\set from random(1, 100000)
\set to random(1, 100000)
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = :to;

-- dbdyno: transaction read weight=7
\set id random_zipfian(1, 100000, 1.1)
SELECT balance FROM account WHERE id = :id;

-- dbdyno: check money-is-kept
SELECT 1 FROM account HAVING sum(balance) <> 10000000;
