/** Mails: writes mails into the outbox, in the transaction of the cause of each mail, builds links for mails, and reads the outbox. */
import { join } from "node:path";
import type { MailSettings as MailOverview, MailTest } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import {
  AppError,
  type Cause,
  type Clock,
  messageOf,
  newId,
  overloaded,
  printable,
  quote,
  SetupError,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import { causeText } from "../../store/events/index.ts";
import type { Failure, Failures } from "../../store/failures/index.ts";
import { asciiDomain } from "./address.ts";
import type { GivenMail } from "./given-mail.ts";
import {
  allMails,
  countWaiting,
  type EndedMail,
  failedMails,
  findMail,
  insertMail,
  lastSeq,
  listMails,
  type MailFilter,
  type MailHead,
  type MailRow,
  mailStates,
  mailsAfter,
  mailsOfTrace,
  oldestWaiting,
  ranks,
  reopenMail,
} from "./mail-table.ts";
import { secretsOf, withoutSecrets } from "./secrets.ts";
import { MailSender } from "./sender.ts";
import { SmtpServer, type SmtpTimeouts } from "./smtp.ts";
import { plain, Templates } from "./templates.ts";
import type { MailKind, MailValues } from "./texts.ts";

/** A mail of the service. */
export interface NewMail<Kind extends MailKind> {
  readonly kind: Kind;
  /** The stored form of an address. */
  readonly to: string;
  readonly values: MailValues[Kind];
  /** A language tag, or a value of `Accept-Language`. */
  readonly language?: string | null | undefined;
  /** Whether the mail goes before other mails: somebody waits for a code. */
  readonly urgent?: boolean;
  readonly cause?: Cause | undefined;
}

/** The keys of the configuration that mails use. */
type MailSettings = Pick<Config, "mail.from" | "mail.smtp" | "mail.keep" | "publicUrl" | "limits.mails" | "folder">;

interface MailsOptions {
  readonly database: Database;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: MailSettings;
  /** Shorter times, for tests. */
  readonly times?: { readonly timeouts: SmtpTimeouts; readonly pauseFactor: number };
}

/** The parts of a mail that the cause of the mail decides. */
type MailParts = Pick<MailRow, "kind" | "recipient" | "subject" | "text" | "html" | "rank"> & {
  readonly secrets: Readonly<Record<string, string>>;
  readonly cause: Cause | null;
};

export class Mails {
  readonly #options: MailsOptions;
  readonly #from: Mailbox | null;
  readonly #isSending: boolean;
  readonly #sender: MailSender;
  #templates: Templates;
  #isTesting = false;
  /** Takes each mail that was sent or has failed for good; null without a listener. */
  watcher: ((mail: EndedMail) => void) | null = null;

  /** @throws SetupError for a file of a text that is not valid. */
  constructor(options: MailsOptions) {
    const { config, times } = options;
    const { "mail.from": from, "mail.smtp": smtp } = config;
    this.#options = options;
    this.#templates = new Templates(join(config.folder, "mails"));
    this.#from = from === undefined ? null : mailboxOf(from);
    this.#isSending = this.#from !== null && smtp !== undefined;
    this.#sender = new MailSender({
      ...options,
      server: this.#from === null || smtp === undefined ? null : new SmtpServer(smtp, this.#from, times?.timeouts),
      keepMs: () => config["mail.keep"],
      keepCount: config["limits.mails"],
      onEnded: (mail) => this.watcher?.(mail),
      ...(times && { pauseFactor: times.pauseFactor }),
    });
  }

  /** Whether the service has a sender of mails. */
  get isOn(): boolean {
    return this.#from !== null;
  }

  /** Begins to send the mails that wait. After the signal, no attempt begins. */
  start(signal: AbortSignal): void {
    if (!this.isOn) return;
    if (!this.#isSending)
      this.#options.logger.warn(
        "mail.smtp is not set: mails stay in the outbox, and their links and codes are on standard output",
      );
    this.#sender.start(signal);
  }

  /** Finishes the mails that are under way, within a time. */
  stop(graceMs: number): Promise<void> {
    return this.#sender.stop(graceMs);
  }

  /** Reads the files of texts again. @throws SetupError for a file that is not valid: the former texts stay. */
  reloadTexts(): void {
    this.#templates = new Templates(join(this.#options.config.folder, "mails"));
  }

  /**
   * Writes a mail into the outbox. The mail is sent after the commit.
   * @throws AppError `unavailable` when too many mails wait, or mail is off.
   */
  add<Kind extends MailKind>(tx: Transactor, mail: NewMail<Kind>): void {
    const { kind, to, values, language = null, urgent = false, cause = null } = mail;
    const all: Record<string, string> = { app: this.#mailbox().name || this.#mailbox().host, to, ...values };
    const names = ["link", "code"].filter((name) => Object.hasOwn(values, name));
    const secrets = Object.fromEntries(names.map((name) => [name, plain(all[name] ?? "")]));
    const rank = urgent ? ranks.urgent : ranks.account;
    this.#insert(tx, { kind, recipient: to, ...this.#templates.fill(kind, language, all), secrets, rank, cause });
  }

  /** Writes a mail of the user's code into the outbox, as `add`. */
  addGiven(tx: Transactor, mail: GivenMail, cause: Cause | null = null): void {
    const bound = Math.floor(this.#options.config["limits.mails"] / 2);
    if (countWaiting(tx, ranks.code, bound) >= bound)
      throw overloaded("mails", `${bound} mails of your code wait to be sent, the half of limits.mails.`);
    this.#insert(tx, { ...mail, kind: "custom", secrets: {}, rank: ranks.code, cause });
  }

  /**
   * The address of a page of this service, for a mail. The host of a request does not count: a caller chooses that host.
   * @param path begins with a slash.
   * @throws AppError `unavailable` without `publicUrl`.
   */
  link(path: string): string {
    const { config, logger } = this.#options;
    if (config.publicUrl !== undefined) return `${config.publicUrl}${path}`;
    logger.often("A mail with a link cannot be sent: set publicUrl to the address of this service");
    throw new AppError("unavailable", "This service cannot send links at the moment.");
  }

  /** The mails of a filter, newest first, without links and codes if the service sends mails. */
  list(filter: MailFilter, page: { limit: number; offset: number }): { items: readonly MailHead[]; total: number } {
    const { items, total } = listMails(this.#options.database.reader, filter, page);
    return { items: items.map((mail) => this.#shown(mail)), total };
  }

  /** A mail with the texts, without links and codes if the service sends mails. @throws AppError `not_found`. */
  get(tx: Transactor, id: string): MailRow {
    const mail = this.#shown(this.#find(tx, id));
    if (!this.#isSending) return mail;
    const { secrets, text, html } = mail;
    return { ...mail, text: withoutSecrets(secrets, text), html: html && withoutSecrets(secrets, html) };
  }

  /** The mails that an open transaction has added, without links and codes, and the number of the further mails. */
  addedIn(tx: Transactor, limit: number): { items: { to: string; subject: string; text: string }[]; more: number } {
    const mails = mailsAfter(tx, lastSeq(this.#options.database.reader));
    const items = mails.slice(0, limit).map(({ recipient, subject, text, secrets }) => ({
      to: recipient,
      subject: withoutSecrets(secrets, subject),
      text: withoutSecrets(secrets, text),
    }));
    return { items, more: mails.length - items.length };
  }

  /** Makes a mail wait again. @throws AppError `not_found`, or `bad_request` for a mail that waits or was sent. */
  retry(tx: Transactor, id: string): MailHead {
    const mail = this.#find(tx, id);
    this.checkSending();
    if (mail.status !== "failed" && mail.status !== "kept")
      throw new AppError(
        "bad_request",
        `The mail is ${mail.status}: only a mail that has failed, or is kept, can be sent again.`,
      );
    reopenMail(tx, mail.seq, this.#options.clock.now());
    tx.onDurable(() => this.#sender.look());
    return this.#shown(this.#find(tx, id));
  }

  /** The mails that have failed for good, oldest first. */
  failed(reader: Reader): Failure[] {
    return failedMails(reader);
  }

  /** How many of some mails wait, and how many have failed for good. */
  states(reader: Reader, ids: readonly string[]): { open: number; failed: number } {
    return mailStates(reader, ids);
  }

  /** The mails of a trace, oldest first, as `list`. @param trace the id of the first cause. */
  ofTrace(trace: string, limit: number): MailHead[] {
    return mailsOfTrace(this.#options.database.reader, trace, limit).map((mail) => this.#shown(mail));
  }

  /** The head of a mail, as `list`; null for an unknown mail. */
  head(id: string): MailHead | null {
    const mail = findMail(this.#options.database.reader, id);
    return mail === null ? null : this.#shown<MailHead>(mail);
  }

  /** Every mail of the outbox with everything, oldest first, for tests of the user's code. */
  all(): { mail: MailRow; secrets: Record<string, string> }[] {
    return allMails(this.#options.database.reader).map((mail) => ({ mail, secrets: secretsOf(mail.secrets) }));
  }

  /** Mails that wait now; mails that were sent, and that have failed for good, since the start. */
  totals(): { waiting: number; sent: number; failed: number } {
    const waiting = countWaiting(this.#options.database.reader, 0, Number.MAX_SAFE_INTEGER);
    return { waiting, ...this.#sender.totals };
  }

  /** When the oldest mail that waits was written, in milliseconds since 1970; null without a mail that waits. */
  oldest(): number | null {
    return oldestWaiting(this.#options.database.reader);
  }

  /** @throws AppError `bad_request` when no mail can be sent. */
  checkSending(): void {
    if (!this.#isSending) throw new AppError("bad_request", "No mail can be sent: mail.from or mail.smtp is not set.");
  }

  /** The sending of mails, without secrets: some servers take a token as the user, too. */
  overview(): MailOverview {
    const { "mail.from": from = null, "mail.smtp": smtp, publicUrl = null } = this.#options.config;
    const { protocol, host } = smtp === undefined ? { protocol: "", host: "" } : new URL(smtp.reveal());
    return { from, server: smtp === undefined ? null : `${protocol}//${host}`, publicUrl, ...this.totals() };
  }

  /**
   * Hands a test mail to the SMTP server at once, without the outbox.
   * @throws AppError `conflict` while another test is under way.
   */
  async test(to: string, signal: AbortSignal): Promise<MailTest> {
    if (this.#isTesting) throw new AppError("conflict", "Another test mail is under way.");
    this.#isTesting = true;
    try {
      const sending = { timeouts: testTimeouts, signal };
      return { isTaken: true, answer: printable(await sendTestMail(this.#options.config, to, sending)) };
    } catch (thrown) {
      return { isTaken: false, answer: messageOf(thrown) };
    } finally {
      this.#isTesting = false;
    }
  }

  #find(tx: Transactor, id: string): MailRow {
    const mail = findMail(tx, id);
    if (mail === null) throw new AppError("not_found", `There is no mail ${quote(id)}.`);
    return mail;
  }

  #shown<T extends MailHead>(mail: T): T {
    return this.#isSending ? { ...mail, subject: withoutSecrets(mail.secrets, mail.subject) } : mail;
  }

  #insert(tx: Transactor, { secrets, cause, ...mail }: MailParts): void {
    const { clock, config, logger } = this.#options;
    const { host } = this.#mailbox();
    const bound = config["limits.mails"];
    if (countWaiting(tx, 0, bound) >= bound)
      throw overloaded("mails", `${bound} mails wait to be sent (limits.mails).`);
    const now = clock.now();
    const id = newId("mai", now);
    const isSent = this.#isSending;
    insertMail(tx, {
      ...mail,
      id,
      messageId: messageIdOf(id, host),
      secrets: JSON.stringify(secrets),
      status: isSent ? "waiting" : "kept",
      createdAt: now,
      endedAt: isSent ? null : now,
      cause: cause && causeText(cause),
    });
    tx.onDurable(() => {
      if (isSent) return this.#sender.look();
      logger.private(
        `A mail to ${mail.recipient}: ${withoutSecrets(JSON.stringify(secrets), mail.subject)}`,
        { mailId: id },
        secrets,
      );
      this.#sender.noteEnded();
    });
  }

  #mailbox(): Mailbox {
    if (this.#from !== null) return this.#from;
    throw new AppError("unavailable", "This service sends no mails: mail.from is not set.");
  }
}

/** `mail.from`. The name may be empty. */
interface Mailbox {
  readonly name: string;
  readonly address: string;
  readonly host: string;
}

function mailboxOf(from: string): Mailbox {
  const [, written = "", address = "", host = ""] = /^(?:(.*?)\s*<)?([^<>]*@([^<>@]+))>?$/.exec(from) ?? [];
  // A quoted name (RFC 5322, 3.2.4).
  const name = /^".*"$/.test(written) ? written.slice(1, -1).replace(/\\(.)/g, "$1") : written;
  return { name, address, host };
}

/** A `Message-ID` has ASCII alone (RFC 5322, 3.6.4). */
function messageIdOf(id: string, host: string): string {
  return `<${id}@${asciiDomain(host) || "localhost"}>`;
}

/** An admin waits for the outcome of a test. */
const testTimeouts: SmtpTimeouts = { connect: 5_000, silence: 10_000, mail: 20_000 };

/** Hands a mail to the server of the configuration at once, without the outbox. Answers the last line of the server. */
export async function sendTestMail(
  config: Pick<MailSettings, "mail.from" | "mail.smtp">,
  to: string,
  { timeouts, signal = new AbortController().signal }: { timeouts?: SmtpTimeouts; signal?: AbortSignal } = {},
): Promise<string> {
  const { "mail.from": from, "mail.smtp": smtp } = config;
  if (from === undefined || smtp === undefined)
    throw new SetupError(`${from === undefined ? "mail.from" : "mail.smtp"} is not set: see docs/mail.md`);
  const now = Date.now();
  const sender = mailboxOf(from);
  const server = new SmtpServer(smtp, sender, timeouts);
  try {
    const name = sender.name || sender.host;
    const outcome = await server.send(
      {
        messageId: messageIdOf(newId("mai", now), sender.host),
        recipient: to,
        subject: `A test of the mails of ${name}`,
        text: `This mail is a test of the mails of ${name}.\n`,
        html: null,
        createdAt: now,
      },
      signal,
    );
    if (typeof outcome === "string") return outcome;
    throw outcome;
  } finally {
    await server.close();
  }
}
