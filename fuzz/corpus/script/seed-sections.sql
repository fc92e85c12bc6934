\set scale 10
-- dbdyno: setup
\set rows 100 * :scale
CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account SELECT id, 0 FROM generate_series(1, :rows) AS id;
-- dbdyno: transaction look weight=9
\set id random_zipfian(1, :rows, 1.1)
SELECT balance FROM account WHERE id = :id::int; -- a 'comment'
-- dbdyno: transaction undo
\set amount random_gaussian(1, \
 1000, 2.5)
BEGIN;
UPDATE account SET balance = balance - :amount WHERE id = :client_id + 1;
ROLLBACK;
-- dbdyno: check nothing-lost
SELECT sum(balance) FROM account HAVING sum(balance) <> 0;
