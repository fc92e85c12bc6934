\set n hash_fnv1a(:client_id, 3) % 7
\set m greatest(least(abs(:n), 5), mod(9, 4), permute(:client_id, 10, 1)) + int(sqrt(pow(2, 3)) * pi())
\if :n = 0 or not (:m <= 3 and true)
  \set x 1
  SELECT :x;
\elif random(0, 1)
  \set x 2
  \sleep :n us
\else
  \set x 3
  \if :x <> :m
  SELECT 'inner'
  \endif
\endif
\sleep 1 ms
SELECT :x
