-- What mysqllock remembers of keys, for Fencing and RunOnce. Locks alone need no table.
-- Create it once, in the schema that the program's connections use.
CREATE TABLE IF NOT EXISTS advisorylint_locks (
  name    VARBINARY(255)  NOT NULL PRIMARY KEY COMMENT 'of the lock, as GET_LOCK has it',
  token   BIGINT UNSIGNED NOT NULL DEFAULT 0   COMMENT 'fencing token of the latest holder',
  claimed DATETIME(6)     NULL                 COMMENT 'latest start of RunOnce, UTC'
) ENGINE = InnoDB
