/** The mails of a service under test, read from the outbox. */
import type { Service } from "../src/app/service.ts";

interface Mail {
  readonly kind: string;
  readonly text: string;
}

export class Mailbox {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Resolves when the mails of all answered requests are written. */
  async written(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    // Runs after the transactions that were asked for before.
    await this.#service.database.transact(() => undefined);
  }

  /** The mails to an address, the oldest first. */
  async to(address: string): Promise<Mail[]> {
    await this.written();
    const sql = "SELECT kind, text FROM _mails WHERE recipient = ? ORDER BY seq";
    return this.#service.database.reader.all<Mail>(sql, address);
  }

  /** The kinds of the mails to an address. */
  async kinds(address: string): Promise<string[]> {
    return (await this.to(address)).map(({ kind }) => kind);
  }

  /** The token or code of the newest mail of a kind to an address. */
  async secret(address: string, kind: string): Promise<string> {
    const mail = (await this.to(address)).findLast((sent) => sent.kind === kind);
    const [, token, code] = /\?token=(\S+)|^(\d{6})$/m.exec(mail?.text ?? "") ?? [];
    const secret = token ?? code;
    if (secret === undefined) throw new Error(`There is no mail ${kind} to ${address}`);
    return secret;
  }
}
