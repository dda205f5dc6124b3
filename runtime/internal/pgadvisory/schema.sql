-- What the locks need of a database for fencing tokens and for RunOnce. Plain locks need nothing of it.
-- Run it as a migration, as whoever may create a schema. It may be run again: it changes nothing that is
-- there. The role of the program needs, unless it runs this itself:
--
--   GRANT USAGE ON SCHEMA advisorylint TO program;
--   GRANT USAGE ON SEQUENCE advisorylint.fencing_token TO program;
--   GRANT SELECT, INSERT, UPDATE ON advisorylint.last_run TO program;

CREATE SCHEMA IF NOT EXISTS advisorylint;

-- Each lock with fencing takes its token from here just after the grant. One sequence for all keys:
-- a key's tokens need to grow, not to be without gaps. Its cache must stay 1, or sessions take values
-- out of order. A fail-over to a replica that lags, or a restore, can put it back: then set it forward
-- with setval before locks are taken again.
CREATE SEQUENCE IF NOT EXISTS advisorylint.fencing_token AS bigint MINVALUE 1 CACHE 1 NO CYCLE;

-- When each job of RunOnce last started, by the server's clock. Rows of jobs that are gone may be deleted.
CREATE TABLE IF NOT EXISTS advisorylint.last_run (
    key        bigint      PRIMARY KEY, -- as pg_advisory_lock(bigint) has it
    name       text        NOT NULL,    -- for people
    started_at timestamptz NOT NULL
);
