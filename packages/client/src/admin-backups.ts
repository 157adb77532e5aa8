/** The admin API of backups: made, listed, verified, downloaded and deleted; the extent of the continuous backup. */
import type { BackupEntry, ContinuousExtent, Page } from "@socle/protocol";
import type { PageQuery } from "./page-query.ts";
import { searchOf } from "./search.ts";
import type { Requests } from "./transport.ts";

export class BackupAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** The stored backups, the running backup, and the last failed backups, newest first. */
  list(query: PageQuery = {}): Promise<Page<BackupEntry>> {
    return this.#transport.call("GET", `/api/admin/backups${searchOf(query)}`);
  }

  /** Begins a backup, which goes on in the service. 409 while another backup is made. */
  begin(): Promise<BackupEntry> {
    return this.#transport.call("POST", "/api/admin/backups");
  }

  /** Begins to verify a stored backup; `check` of the list has the progress and the outcome. 409 while another backup is verified. */
  verify(name: string): Promise<BackupEntry> {
    return this.#transport.call("POST", `${pathOf(name)}/verify`);
  }

  /** The bytes of a backup, as they arrive. */
  download(name: string, options: { signal?: AbortSignal } = {}): Promise<Response> {
    return this.#transport.fetch("GET", pathOf(name), options);
  }

  async delete(name: string): Promise<void> {
    await this.#transport.fetch("DELETE", pathOf(name));
  }

  /** The moments, snapshots and gaps of the continuous backup. 404 without a continuous backup. */
  continuous(): Promise<ContinuousExtent> {
    return this.#transport.call("GET", "/api/admin/backups/continuous");
  }
}

function pathOf(name: string): string {
  return `/api/admin/backups/${encodeURIComponent(name)}`;
}
