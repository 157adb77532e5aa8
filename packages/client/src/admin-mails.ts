/** The admin API of mails: the outbox. */
import type { MailDetail, MailEntry, MailSettings, MailStatus, MailTest, Page } from "@socle/protocol";
import type { PageQuery } from "./page-query.ts";
import { searchOf } from "./search.ts";
import type { Requests } from "./transport.ts";

export interface MailQuery extends PageQuery {
  status?: MailStatus | undefined;
  /** The address of the recipient. */
  to?: string | undefined;
  /** A part of the recipient's address. */
  search?: string | undefined;
}

export class MailAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Newest first. */
  list(query: MailQuery = {}): Promise<Page<MailEntry>> {
    return this.#transport.call("GET", `/api/admin/mails${searchOf(query)}`);
  }

  /** A mail with the texts. The audit notes the reader. */
  get(id: string): Promise<MailDetail> {
    return this.#transport.call("GET", `/api/admin/mails/${encodeURIComponent(id)}`);
  }

  /** The sending of mails, without secrets. */
  settings(): Promise<MailSettings> {
    return this.#transport.call("GET", "/api/admin/mails/settings");
  }

  /** Hands a test mail to the SMTP server, and waits for the outcome, for 20 seconds at most. */
  test(to: string): Promise<MailTest> {
    return this.#transport.call("POST", "/api/admin/mails/test", { body: { to } });
  }

  /** Makes a mail wait again that has failed or was kept. */
  retry(id: string): Promise<MailEntry> {
    return this.#transport.call("POST", `/api/admin/mails/${encodeURIComponent(id)}/retry`);
  }
}
