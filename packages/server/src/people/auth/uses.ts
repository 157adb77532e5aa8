/**
 * Uses: which API keys and access tokens were used, in memory until the sweep stores the uses. The loss of a use in a crash is
 * harmless. A process that does not write tells the uses to the process that writes.
 */
import { BoundedMap } from "../../base/kernel/index.ts";

const capacity = 20_000;
/** The time for which a further use of the same credential is not noted. */
const pauseMs = 60_000;

export class Uses {
  /** The times of uses, in milliseconds since 1970: of API keys by id, of access tokens by the generation of the session. */
  readonly #times = new BoundedMap<string, number>(capacity);
  #tell: (id: string) => void = () => undefined;

  /** The time of a use that is not stored yet. */
  at(id: string): number | undefined {
    return this.#times.get(id);
  }

  /** @param id of an API key, or the generation of an access token. */
  note(id: string): void {
    const now = Date.now();
    if (Math.abs(now - (this.#times.get(id) ?? 0)) < pauseMs) return;
    this.#times.set(id, now);
    this.#tell(id);
  }

  /** Tells each noted use, too; the process that stores the uses tells nobody. */
  tellTo(tell: (id: string) => void): void {
    this.#tell = tell;
  }

  /** The number of noted uses that are not stored yet. */
  get size(): number {
    return this.#times.size;
  }

  /** Takes up to `most` noted uses out, the oldest first, with their times. */
  take(most: number): [id: string, at: number][] {
    return this.#times.take(most);
  }
}
