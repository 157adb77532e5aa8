/**
 * SMTP: hands mails to the server of `mail.smtp`, and tells refusals of a mail from failures of the server. The library is loaded
 * with the first mail.
 */
import type { NodemailerError, Transporter } from "nodemailer";
import { excerpt, messageOf, printable, type Secret } from "../../base/kernel/index.ts";

/** Connections at a time, and so the mails that are under way. */
export const connections = 8;

/** The times after which a server counts as silent, in milliseconds. */
export interface SmtpTimeouts {
  readonly connect: number;
  /** Between two answers of the server. A server may look at a mail for long before the server takes the mail. */
  readonly silence: number;
  /** For a mail in all. */
  readonly mail: number;
}

const usualTimeouts: SmtpTimeouts = { connect: 10_000, silence: 120_000, mail: 300_000 };

/** The longest error of a server that is kept. */
const longestError = 500;

export interface OutgoingMail {
  readonly messageId: string;
  readonly recipient: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly createdAt: number;
}

/** The error of a mail that the server did not take. */
export class SendFailure extends Error {
  override readonly name = "SendFailure";
  /** Whether another attempt is useless: the server has refused this recipient or this mail for good. */
  readonly isFinal: boolean;
  /** Whether the failure meets every mail: the server is away, or refuses the sign-in. */
  readonly isOfServer: boolean;

  /** @param remedy a sentence for the end of the message. */
  constructor(thrown: unknown, remedy: string | null = null) {
    const message = excerpt(printable(messageOf(thrown)), longestError);
    super(remedy === null ? message : `${message}. ${remedy}`);
    const details: Partial<NodemailerError> = thrown instanceof Error ? thrown : {};
    const { code, command, permanent, timeoutType } = details;
    const isOfMail = code === "EENVELOPE" || code === "EMESSAGE";
    // Without an answer of the server, the library has found the fault: an address or a size that the server cannot take.
    const isRefused = permanent === undefined || (permanent && command !== "MAIL FROM");
    this.isFinal = isOfMail && isRefused;
    this.isOfServer = !isOfMail && code !== "EABORT" && timeoutType !== "SOCKET_TIMEOUT";
  }
}

export class SmtpServer {
  readonly #address: URL;
  readonly #from: { readonly name: string; readonly address: string };
  readonly #timeouts: SmtpTimeouts;
  #transport: Promise<Transporter> | null = null;

  constructor(address: Secret, from: { name: string; address: string }, timeouts: SmtpTimeouts = usualTimeouts) {
    this.#address = new URL(address.reveal());
    this.#from = from;
    this.#timeouts = timeouts;
  }

  /** Answers the last line of the server, which has taken the mail, or the failure. */
  async send(mail: OutgoingMail, stopping: AbortSignal): Promise<string | SendFailure> {
    try {
      return await this.#handOver(mail, stopping);
    } catch (thrown) {
      return new SendFailure(thrown, this.#remedyOf(thrown));
    }
  }

  async #handOver(mail: OutgoingMail, stopping: AbortSignal): Promise<string> {
    this.#transport ??= this.#open();
    const transport = await this.#transport;
    const limit = new AbortController();
    const end = (): void => limit.abort();
    const timer = setTimeout(end, this.#timeouts.mail);
    stopping.addEventListener("abort", end);
    const sending = transport.sendMail({
      from: this.#from,
      to: { name: "", address: mail.recipient },
      subject: mail.subject,
      text: mail.text,
      ...(mail.html !== null && { html: mail.html }),
      messageId: mail.messageId,
      date: new Date(mail.createdAt),
      // Machines do not answer this mail (RFC 3834).
      headers: { "Auto-Submitted": "auto-generated" },
      signal: limit.signal,
    });
    try {
      return (await sending).response ?? "";
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener("abort", end);
    }
  }

  /** The remedy for a failure as of a scheme that is not the scheme of the port; null for another failure. */
  #remedyOf(thrown: unknown): string | null {
    const { protocol, port } = this.#address;
    const { message = "", code, timeoutType }: Partial<NodemailerError> = thrown instanceof Error ? thrown : {};
    if (protocol === "smtps:") {
      if (!/wrong.version.number/i.test(message)) return null;
      return `mail.smtp has smtps:// and the port ${port || 465}, where TLS does not begin at once: write smtp:// for STARTTLS (usual port 587), or name the port for TLS (usual port 465)`;
    }
    // A server of TLS waits for the first bytes of the client, and ends the connection at last.
    const isSilent = timeoutType === "GREETING_TIMEOUT" || (code === "ECONNECTION" && port === "465");
    if (!isSilent) return null;
    return `mail.smtp has smtp:// and the port ${port || 587}: if TLS begins at once on this port (as on port 465), write smtps://, else name the port for STARTTLS (usual port 587)`;
  }

  async close(): Promise<void> {
    const transport = await this.#transport;
    transport?.close({ force: true });
  }

  async #open(): Promise<Transporter> {
    const { createTransport } = await import("nodemailer");
    const { hostname, port, protocol, username, password } = this.#address;
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const isLoopback = /^(?:localhost|127(?:\.\d+){3}|::1)$/i.test(host);
    const { connect, silence } = this.#timeouts;
    return createTransport({
      pool: true,
      host,
      ...(port !== "" && { port: Number(port) }),
      secure: protocol === "smtps:",
      // Mails carry links and codes. Nobody listens between two programs of a machine.
      requireTLS: !isLoopback,
      tls: { rejectUnauthorized: !isLoopback },
      ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      maxConnections: connections,
      // A connection that the server has closed while idle is replaced. The library does not send a mail again that has begun.
      maxRequeues: 3,
      idleTimeout: 30_000,
      connectionTimeout: connect,
      dnsTimeout: connect,
      greetingTimeout: connect,
      socketTimeout: silence,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}
