# For MySQL and MariaDB.
-- dbdyno: setup
\set rows 10
CREATE TABLE `odd :name` (id int AUTO_INCREMENT PRIMARY KEY, t varchar(40)) /*! ENGINE=InnoDB */;
/*!40101 SET @n := :rows */;
DELIMITER //
CREATE PROCEDURE p(IN which int) BEGIN SELECT ';', "a \" :b"; SELECT which; END //
DELIMITER ;
-- dbdyno: transaction texts weight=2
INSERT INTO `odd :name` (t) VALUES ('it''s \'quoted\' :n ?'), ("dou""ble"), # :n '
    (5--3), (:rows); -- :n
-- dbdyno: transaction called
CALL p(:rows);
-- dbdyno: check none
SELECT * FROM `odd :name` WHERE id < 0
