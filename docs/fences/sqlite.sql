-- Once: a row for each lock or election, which no statement sets back.
CREATE TABLE fence (name TEXT PRIMARY KEY, token INTEGER NOT NULL);
INSERT INTO fence VALUES ('ledger', 0);
CREATE TABLE ledger (id INTEGER PRIMARY KEY, entry TEXT NOT NULL);

CREATE TRIGGER fence_holds BEFORE UPDATE ON fence WHEN new.token < old.token
BEGIN
  SELECT RAISE(ABORT, 'fenced off: a later holder has written');
END;
