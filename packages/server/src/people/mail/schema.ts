/** Table of the outbox: mails that wait, and mails that were sent, have failed, or stay in the outbox without an SMTP server. */
import type { ModuleSchema } from "../../store/database/index.ts";

export const mailSchema: ModuleSchema = {
  module: "mail",
  steps: [
    // Times are milliseconds since 1970. `secrets`: JSON of the values of text and html that are links or codes.
    // `rank`: see mail-table.ts. `since`: the begin of the attempts.
    `CREATE TABLE _mails (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      messageId TEXT NOT NULL,
      kind TEXT NOT NULL,
      recipient TEXT NOT NULL,
      subject TEXT NOT NULL,
      text TEXT NOT NULL,
      html TEXT,
      secrets TEXT NOT NULL,
      rank INTEGER NOT NULL,
      status TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      since INTEGER NOT NULL,
      notBefore INTEGER NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      endedAt INTEGER,
      error TEXT
    ) STRICT`,
    "CREATE INDEX _mails_waiting ON _mails (rank, notBefore) WHERE status = 'waiting'",
    "CREATE INDEX _mails_ended ON _mails (endedAt) WHERE status != 'waiting'",
    "CREATE INDEX _mails_recipient ON _mails (recipient, status)",
    // The cause of the mail, and the first cause of the trace.
    "ALTER TABLE _mails ADD COLUMN cause TEXT",
    "ALTER TABLE _mails ADD COLUMN trace TEXT",
    "CREATE INDEX _mails_trace ON _mails (trace) WHERE trace IS NOT NULL",
  ],
};
