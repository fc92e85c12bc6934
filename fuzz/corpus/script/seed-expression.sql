\set x -(1 + 2.5e3) * 7 % 4 / :client_id - -9223372036854775807
SELECT :x /* a /* nested */ comment; */;
