/** Kit of the tests of mails: an outbox on a fresh database, which sends to a sink. */
import { afterAll } from "bun:test";
import { Clock, Secret } from "../src/base/kernel/index.ts";
import { Mails, mailSchema } from "../src/people/mail/index.ts";
import type { Database } from "../src/store/database/index.ts";
import { Failures, failureSchema } from "../src/store/failures/index.ts";
import { databases } from "./databases.ts";
import { quietLogger, temporaryFolder } from "./kit.ts";

interface StoredMail {
  id: string;
  messageId: string;
  kind: string;
  recipient: string;
  subject: string;
  text: string;
  html: string | null;
  secrets: string;
  status: string;
  attempts: number;
  notBefore: number;
  error: string | null;
}

export interface Outbox {
  readonly mails: Mails;
  readonly database: Database;
  readonly log: string[];
  /** All mails, in the order of their times. */
  stored(): StoredMail[];
  /** Sends a mail of the user's code; the subject is the text, too. */
  give(to: string, subject?: string): Promise<void>;
  code(to: string, code?: string): Promise<void>;
  /** Resolves when no mail waits. */
  settled(): Promise<void>;
  stop(graceMs?: number): Promise<void>;
}

interface OutboxOptions {
  /** The address of the SMTP server. */
  readonly smtp: string;
  readonly path?: string;
  readonly maxMails?: number;
  readonly keepMs?: number;
  readonly from?: string;
  /** How long the connection and the greeting may take, in milliseconds. */
  readonly connectMs?: number;
  /** How long the server may be silent, in milliseconds. */
  readonly silenceMs?: number;
  /** How long an attempt may take in all. */
  readonly mailMs?: number;
  /** By default pauses are a thousandth of the usual pauses. */
  readonly pauseFactor?: number;
}

/** Opens outboxes of a test file. */
export function outboxes(): (options: OutboxOptions) => Promise<Outbox> {
  const { open } = databases();
  const folder = temporaryFolder();
  return async (options) => {
    const database = open(options.path === undefined ? {} : { path: options.path });
    await database.prepare([mailSchema, failureSchema]);
    const log: string[] = [];
    const silence = options.silenceMs ?? 60_000;
    const mails = new Mails({
      database,
      failures: new Failures({ database, logger: quietLogger([]) }),
      clock: new Clock(),
      logger: quietLogger(log),
      config: {
        "mail.from": options.from ?? "The Shop <shop@example.com>",
        "mail.smtp": new Secret(options.smtp),
        "mail.keep": options.keepMs ?? 86_400_000,
        "limits.mails": options.maxMails ?? 1_000,
        publicUrl: "https://shop.example.com",
        folder,
      },
      times: {
        timeouts: { connect: options.connectMs ?? 10_000, silence, mail: options.mailMs ?? 60_000 },
        pauseFactor: options.pauseFactor ?? 0.001,
      },
    });
    mails.start(new AbortController().signal);
    let isOpen = true;
    const stop = async (graceMs = 0): Promise<void> => {
      if (!isOpen) return;
      isOpen = false;
      await mails.stop(graceMs);
      await database.close();
    };
    afterAll(() => stop());
    const stored = (): StoredMail[] => database.reader.all<StoredMail>("SELECT * FROM _mails ORDER BY seq");
    return {
      mails,
      database,
      log,
      stored,
      give: (recipient, subject = "Hello") =>
        database.transact((tx) => mails.addGiven(tx, { recipient, subject, text: `${subject}\n`, html: null })),
      code: (to, code = "123456") =>
        database.transact((tx) => mails.add(tx, { kind: "code", to, values: { code }, urgent: true })),
      async settled() {
        while (stored().some(({ status }) => status === "waiting")) await Bun.sleep(2);
      },
      stop,
    };
  };
}
