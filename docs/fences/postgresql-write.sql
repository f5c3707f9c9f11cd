-- Each write: psql -v ON_ERROR_STOP=1 -v token=... -v entry=... -f postgresql-write.sql
BEGIN;
SELECT pass_fence('ledger', :token);
INSERT INTO ledger VALUES (1, :'entry')
  ON CONFLICT (id) DO UPDATE SET entry = excluded.entry;
COMMIT;
