-- Roles for a history in PostgreSQL that a team shares. Its owner creates the history, and a user who may create
-- roles runs this script; running it again changes nothing:
--
--   peakmark history create --history postgresql://owner@host/bench
--   peakmark history set --base-branch main --history postgresql://owner@host/bench
--   psql postgresql://owner@host/bench -v ON_ERROR_STOP=1 -f roles.sql
--
-- | role              | may                                    | for                                          |
-- |-------------------|----------------------------------------|----------------------------------------------|
-- | peakmark_reader   | read                                   | trends, report, history log, run --confirm   |
-- | peakmark_ci       | read; add runs, change and remove none | history add, history import: the CI job      |
-- | peakmark_notifier | read; keep what was sent               | trends --notify                              |
-- | the owner         | all                                    | set, accept, remove, prune                   |
--
-- Each login is a member:
--
--   CREATE ROLE nightly LOGIN PASSWORD '…';
--   GRANT peakmark_ci TO nightly;

DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['peakmark_reader', 'peakmark_ci', 'peakmark_notifier'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = one) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', one);
    END IF;
  END LOOP;
END
$$;

GRANT USAGE ON SCHEMA peakmark TO peakmark_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA peakmark TO peakmark_reader;
GRANT peakmark_reader TO peakmark_ci;
GRANT peakmark_reader TO peakmark_notifier;

GRANT INSERT ON peakmark.runs, peakmark.plans, peakmark.cases, peakmark.facts, peakmark.observations TO peakmark_ci;
GRANT INSERT, DELETE ON peakmark.notifications TO peakmark_notifier;
