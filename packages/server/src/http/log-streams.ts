import type { LogLevel } from "@socle/protocol";
import type { Auth } from "../auth/index.ts";
import type { SignedIn } from "../kernel/index.ts";
import { type LogRing, toWire } from "../logging/index.ts";
import type { Exchange } from "./exchange.ts";

/** How often it is looked at whether the session has ended by another process, or by time. */
const lookMs = 1_000;
/** A comment after so many looks keeps proxies from closing a stream that is silent. */
const looksPerComment = 15;
/** Entries that may wait for a client; one that is slower is cut off. */
const maxWaiting = 1_000;

const encoder = new TextEncoder();

/** Live tails of the log, as server-sent events (HTML standard, 9.2). Each ends with the session that asked for it. */
export class LogStreams {
  readonly #log: LogRing;
  readonly #auth: Auth;
  readonly #open = new Set<() => void>();

  constructor(options: { log: LogRing; auth: Auth }) {
    this.#log = options.log;
    this.#auth = options.auth;
  }

  /** Answers with every entry of some levels from now on. */
  async open(exchange: Exchange, admin: SignedIn, levels: readonly LogLevel[]): Promise<Response> {
    const { expiresAt } = await this.#auth.connect(exchange.token() ?? "");
    const body = this.#stream(admin, levels, expiresAt);
    return exchange.respond(200, body, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    });
  }

  /** Ends all of them. */
  stop(): void {
    for (const end of [...this.#open]) end();
  }

  #stream(admin: SignedIn, levels: readonly LogLevel[], expiresAt: number): ReadableStream<Uint8Array> {
    let end = (): void => undefined;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const say = (text: string): void => {
            if ((controller.desiredSize ?? 0) <= 0 || Date.now() >= expiresAt) end();
            else controller.enqueue(encoder.encode(text));
          };
          const stops = [
            this.#log.listen((entry) => {
              if (levels.includes(entry.level)) say(`data: ${JSON.stringify(toWire(entry))}\n\n`);
            }),
            this.#auth.listenToSessions(({ sessionId }) => {
              if (sessionId === null || sessionId === admin.sessionId) void this.#check(admin).catch(() => end());
            }),
          ];
          let looks = 0;
          const looking = setInterval(() => {
            this.#auth.lookOutside();
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
      { highWaterMark: maxWaiting },
    );
  }

  /** Whether the caller is still an admin. Rejects when not. */
  async #check({ sessionId }: SignedIn): Promise<void> {
    if ((await this.#auth.roleOf(sessionId)) !== "admin") throw new Error("No admin any more");
  }
}
