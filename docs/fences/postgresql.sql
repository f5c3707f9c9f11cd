-- Once: a row for each lock or election, and the function that every write begins with.
CREATE TABLE fence (name text PRIMARY KEY, token bigint NOT NULL);
INSERT INTO fence VALUES ('ledger', 0);
CREATE TABLE ledger (id int PRIMARY KEY, entry text NOT NULL);

CREATE FUNCTION pass_fence(fence_name text, mine bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE fence SET token = mine WHERE name = fence_name AND token <= mine;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'fenced off: a later holder than % has written', mine;
  END IF;
END $$;
