/** API keys: `client.auth.keys` has the keys of the signed-in user, `client.admin.keys` the service keys. */
import type { ApiKey, CreatedApiKey, NewApiKey } from "@socle/protocol";
import type { Requests } from "./transport.ts";

/** Every method throws `SocleError`; a change needs a sign-in of the last ten minutes. */
export class KeysClient {
  readonly #transport: Requests;
  readonly #path: string;

  /** @param path of the keys: `/api/auth/keys` or `/api/admin/keys`. */
  constructor(transport: Requests, path: string) {
    this.#transport = transport;
    this.#path = path;
  }

  /** Makes a key. The answer alone shows the key. */
  create(values: NewApiKey): Promise<CreatedApiKey> {
    return this.#transport.call("POST", this.#path, { body: values });
  }

  /** The keys that have not expired, newest first. */
  async list(): Promise<ApiKey[]> {
    return (await this.#transport.call<{ items: ApiKey[] }>("GET", `${this.#path}?limit=1000`)).items;
  }

  /** Ends a key at once, with its sockets. */
  async delete(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${this.#path}/${encodeURIComponent(id)}`);
  }
}
