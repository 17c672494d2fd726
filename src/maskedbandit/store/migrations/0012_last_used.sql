-- The day on which a key was last used, but for reports: when somebody reports is an outcome.

ALTER TABLE api_key ADD COLUMN last_used TEXT;  -- such as 2026-11-26, in UTC; null: never
