/** Live streams: entries of the log, or live events, for admins, as server-sent events (HTML standard, 9.2). */

import { overloaded, type SignedIn } from "../../base/kernel/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Exchange } from "./exchange.ts";

/** The time between two looks whether the session has ended by another process, or by time. */
const lookMs = 1_000;
/** A comment after so many looks keeps proxies from closing a stream that is silent. */
const looksPerComment = 15;
/** Bytes that may wait for a client; a slower client is cut off. */
const maxWaiting = 2 * 1_024 ** 2;
/** Streams that may be open. */
const maxStreams = 64;

const encoder = new TextEncoder();

/** Calls `tell` with each item from now on. Answers how to stop that. */
type Source = (tell: (item: object) => void) => () => void;

/** Live streams. Each stream ends with the session of the caller. */
export class LiveStreams {
  readonly #auth: Auth;
  readonly #open = new Set<() => void>();

  constructor(auth: Auth) {
    this.#auth = auth;
  }

  /** Answers with every item from now on. @throws AppError `unavailable` when too many streams are open. */
  async open(exchange: Exchange, admin: SignedIn, source: Source): Promise<Response> {
    const { expiresAt } = await this.#auth.callers.connect(exchange.token() ?? "");
    if (this.#open.size >= maxStreams)
      throw overloaded("streams", `${maxStreams} live streams are open already; close a stream first.`);
    const isHead = exchange.request.method === "HEAD";
    return exchange.respond(200, isHead ? null : this.#stream(admin, source, expiresAt), {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    });
  }

  stop(): void {
    for (const end of [...this.#open]) end();
  }

  #stream(admin: SignedIn, source: Source, expiresAt: number): ReadableStream<Uint8Array> {
    let end = (): void => undefined;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const say = (text: string): void => {
            if ((controller.desiredSize ?? 0) <= 0 || Date.now() >= expiresAt) end();
            else controller.enqueue(encoder.encode(text));
          };
          const stops = [
            source((item) => say(`data: ${JSON.stringify(item)}\n\n`)),
            this.#auth.sessions.listen(({ sessionId }) => {
              if (sessionId === admin.sessionId && !this.#isAdmin(admin)) end();
            }),
          ];
          let looks = 0;
          const looking = setInterval(() => {
            looks += 1;
            if (Date.now() >= expiresAt) end();
            else if (looks % looksPerComment === 0) say(":\n\n");
          }, lookMs);
          end = () => {
            clearInterval(looking);
            for (const stop of stops) stop();
            if (!this.#open.delete(end)) return;
            controller.close();
          };
          this.#open.add(end);
          say(":\n\n");
        },
        cancel: () => {
          this.#open.delete(end);
          end();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxWaiting }),
    );
  }

  /** Whether the caller is still an admin; false while the database cannot be read. */
  #isAdmin({ sessionId }: SignedIn): boolean {
    try {
      return this.#auth.callers.roleOf(sessionId) === "admin";
    } catch {
      return false;
    }
  }
}
