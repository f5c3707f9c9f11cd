-- Each write, with @token and @entry bound, on a connection that stops at the first error.
BEGIN IMMEDIATE;
UPDATE fence SET token = @token WHERE name = 'ledger';
INSERT OR REPLACE INTO ledger VALUES (1, @entry);
COMMIT;
