/**
 * The sender: starts attempts for the mails that are due, and writes the outcomes. Each mail has its own attempts and pauses; a mail
 * that hangs holds a single place. A mail that the server has taken is written down before anything else happens to the mail.
 */
import { type Alarm, type Clock, count } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import {
  bringForward,
  deleteEnded,
  dueMail,
  type EndedMail,
  failOld,
  failureOf,
  type MailRow,
  markFailed,
  markSent,
  nextDue,
  ranks,
} from "./mail-table.ts";
import { withoutSecrets } from "./secrets.ts";
import { connections, type SendFailure, type SmtpServer } from "./smtp.ts";

/** The mails of each rank that may be under way beside others: places are left for mails that go first. */
const places = { [ranks.urgent]: connections, [ranks.account]: connections - 1, [ranks.code]: connections - 2 };
/** Mails with a failed attempt that may be under way: mails that hang leave places to new mails. */
const placesOfFailed = connections / 2;
/** Attempts end a day after the first. */
const longestMs = 86_400_000;
/** Pauses between attempts: 30 s, 75 s, 3 min, 8 min, … 6 h. */
const firstPauseMs = 30_000;
const growth = 2.5;
const longestPauseMs = 21_600_000;
/** Pauses of all mails while the server is away: 1 s, 2 s, … 30 s. */
const firstOutageMs = 1_000;
const longestOutageMs = 30_000;
/** The pause before the outcome of an attempt is written again. */
const rewriteMs = 1_000;
/** The interval of the sweep, and the ended mails after which the sweep comes early. */
const sweepEveryMs = 600_000;
const sweepAfter = 500;
/** Mails that a transaction of the sweep deletes at most. */
const sweepSize = 500;

interface MailSenderOptions {
  readonly database: Database;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Null without `mail.smtp`: nothing is sent. */
  readonly server: SmtpServer | null;
  /** How long ended mails are kept, in milliseconds, and how many. */
  readonly keepMs: () => number;
  readonly keepCount: number;
  onEnded(mail: EndedMail): void;
  /** Shortens the pauses of a test. */
  readonly pauseFactor?: number;
}

export class MailSender {
  readonly #options: MailSenderOptions;
  readonly #underWay = new Set<MailRow>();
  readonly #stopping = new AbortController();
  readonly #pauseFactor: number;
  #isStarted = false;
  #isLookDue = false;
  #alarm: Alarm | null = null;
  /** Failures of the server since the last mail that the server took. */
  #outages = 0;
  /** No attempt starts before this time. */
  #awayUntil = 0;
  #sweepTimer: Timer | undefined;
  #unswept = 0;
  #sweeping: Promise<void> = Promise.resolve();
  #sent = 0;
  #failed = 0;

  constructor(options: MailSenderOptions) {
    this.#options = options;
    this.#pauseFactor = options.pauseFactor ?? 1;
  }

  /** The mails that were sent, and that have failed for good, since the start. */
  get totals(): { readonly sent: number; readonly failed: number } {
    return { sent: this.#sent, failed: this.#failed };
  }

  /** Begins to send and to sweep. After the signal, no attempt starts. */
  start(signal: AbortSignal): void {
    this.#isStarted = true;
    signal.addEventListener("abort", () => {
      this.#isStarted = false;
    });
    this.#sweepTimer = setInterval(() => this.#sweep(), sweepEveryMs).unref();
    this.#sweep();
    this.look();
  }

  /** Waits for the attempts under way, `graceMs` at most, and ends the others. */
  async stop(graceMs: number): Promise<void> {
    this.#isStarted = false;
    this.#alarm?.cancel();
    clearInterval(this.#sweepTimer);
    const end = performance.now() + graceMs;
    while (this.#underWay.size > 0 && performance.now() < end) await Bun.sleep(5);
    this.#stopping.abort();
    while (this.#underWay.size > 0) await Bun.sleep(5);
    await this.#options.server?.close();
    await this.#sweeping;
  }

  /** Looks for mails that are due, once for all calls of a turn of the event loop. */
  look(): void {
    if (!this.#isStarted || this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      if (this.#isStarted) this.#startDue();
    });
  }

  /** Counts a mail that is over: the outbox keeps a bounded number of these mails. */
  noteEnded(): void {
    this.#unswept += 1;
    if (this.#unswept >= sweepAfter && this.#isStarted) this.#sweep();
  }

  #startDue(): void {
    const { server, clock, database, logger } = this.#options;
    if (server === null) return;
    const now = clock.now();
    const awayMs = this.#awayUntil - clock.steady();
    try {
      if (awayMs <= 0)
        for (let mail = this.#nextMail(now); mail !== null; mail = this.#nextMail(now)) void this.#send(mail, server);
      const next = nextDue(database.reader, now);
      const pauseMs = awayMs > 0 ? awayMs : next === null ? null : next - now;
      this.#alarm?.cancel();
      this.#alarm = pauseMs === null ? null : clock.lookAfter(pauseMs, () => this.look());
    } catch (error) {
      logger.error("Mails that wait could not be read", { error });
    }
  }

  #nextMail(now: number): MailRow | null {
    const underWay = [...this.#underWay];
    const isFreshOnly = underWay.filter(({ attempts }) => attempts > 0).length >= placesOfFailed;
    for (const rank of Object.values(ranks)) {
      if (underWay.length >= places[rank]) return null;
      // A recipient has one mail under way; a code does not wait for another mail.
      const before = rank === ranks.urgent ? underWay.filter((mail) => mail.rank === rank) : underWay;
      const busy = before.map(({ recipient }) => recipient);
      const mail = dueMail(this.#options.database.reader, { rank, now, busy, isFreshOnly });
      if (mail !== null) return mail;
    }
    return null;
  }

  async #send(mail: MailRow, server: SmtpServer): Promise<void> {
    this.#underWay.add(mail);
    const { signal } = this.#stopping;
    const outcome = await server.send(mail, signal);
    if (typeof outcome === "string") await this.#noteSent(mail, outcome);
    // An attempt that the stop has ended does not count.
    else if (!signal.aborted) await this.#noteFailed(mail, outcome);
    this.#underWay.delete(mail);
    this.look();
  }

  async #noteSent(mail: MailRow, answer: string): Promise<void> {
    const { clock, logger } = this.#options;
    const { secrets, html } = mail;
    this.#outages = 0;
    const at = clock.now();
    const left = {
      at,
      subject: withoutSecrets(secrets, mail.subject),
      text: withoutSecrets(secrets, mail.text),
      html: html && withoutSecrets(secrets, html),
    };
    await this.#write(mail, (tx) => markSent(tx, mail.seq, left));
    this.#sent += 1;
    logger.debug("A mail was sent", { mailId: mail.id, kind: mail.kind, answer });
    this.#options.onEnded({ ...mail, endedAt: at, hasFailed: false });
    this.noteEnded();
  }

  async #noteFailed(mail: MailRow, { message, isFinal, isOfServer }: SendFailure): Promise<void> {
    const { clock, failures, logger } = this.#options;
    const at = clock.now();
    const attempts = mail.attempts + 1;
    const pauseMs = Math.round(Math.min(firstPauseMs * growth ** mail.attempts, longestPauseMs) * this.#pauseFactor);
    const isOver = isFinal || at + pauseMs > mail.since + longestMs;
    let overdue = 0;
    if (isOfServer) {
      const outageMs = Math.min(firstOutageMs * 2 ** this.#outages, longestOutageMs) * this.#pauseFactor;
      this.#awayUntil = clock.steady() + outageMs;
      this.#outages += 1;
    }
    await this.#write(mail, (tx) => {
      markFailed(tx, mail.seq, { error: message, at, notBefore: isOver ? null : at + pauseMs });
      // Mails that were not tried because the server is away fail, too.
      overdue = isOfServer ? failOld(tx, { since: at - longestMs, at, error: message }) : 0;
      const times = Number(isOver) + overdue;
      if (times > 0) failures.add(tx, failureOf({ run: mail.id, error: message, at }), times);
    });
    const { id: mailId, kind } = mail;
    logger.warn(isOver ? "A mail has failed" : "A mail could not be sent, and will be tried again", {
      mailId,
      kind,
      attempts,
      error: message,
    });
    if (overdue > 0) logger.warn(`After a day without the SMTP server, ${count(overdue, "more mail")} failed`);
    if (isOver) this.#options.onEnded({ ...mail, endedAt: at, hasFailed: true });
    if (isOver || overdue > 0) this.noteEnded();
    this.#failed += Number(isOver) + overdue;
  }

  /** Writes the outcome of an attempt. While the disk refuses the outcome, the mail stays under way, and is not sent again. */
  async #write(mail: MailRow, work: (tx: Transactor) => void): Promise<void> {
    const { database, logger } = this.#options;
    do {
      try {
        await database.upkeep(work, { makesRoom: true });
        return;
      } catch (error) {
        logger.error("The outcome of a mail could not be written", { mailId: mail.id, error });
        await Bun.sleep(rewriteMs * this.#pauseFactor);
      }
    } while (!this.#stopping.signal.aborted);
  }

  /** Deletes old mails that are over, and brings due times back that a later clock has set. */
  #sweep(): void {
    this.#unswept = 0;
    this.#sweeping = this.#sweeping.then(async () => {
      await this.#deleteOld().catch((error) => this.#options.logger.warn("The outbox could not be swept", { error }));
    });
  }

  async #deleteOld(): Promise<void> {
    const { database, clock, keepMs, keepCount } = this.#options;
    const at = clock.now();
    await database.upkeep((tx) => bringForward(tx, at, longestPauseMs));
    this.look();
    for (;;) {
      const deleted = await database.upkeep((tx) =>
        deleteEnded(tx, { before: at - keepMs(), keep: keepCount, most: sweepSize }),
      );
      if (deleted < sweepSize) return;
    }
  }
}
