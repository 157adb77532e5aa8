/** Posts of alarms to the webhook: signed, in the order of the alarms, and tried again within a bound. */
import type { Config } from "../../base/config/index.ts";
import { type Clock, messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import { type AlertPost, addPost, deletePost, nextPost, postponePost } from "./alert-table.ts";

/** Attempts of a post. The pauses between the attempts double from the first: ten minutes in all. */
const maxAttempts = 8;
const firstPauseMs = 5_000;
/** The longest pause: a clock that was set back would make a post wait for longer. */
const longestPauseMs = firstPauseMs * 2 ** (maxAttempts - 2);
const answerMs = 10_000;
/** How long a stop waits for the answer to the post under way: the next start sends a post without an answer again. */
const stopMs = 1_000;
/** Posts that wait; the oldest go. */
const maxWaiting = 1_000;

export interface AlertPostsOptions {
  readonly config: Pick<Config, "alerts.webhook" | "alerts.secret">;
  readonly clock: Pick<Clock, "now">;
  readonly database: Database;
  readonly logger: Logger;
  /** A factor of the pauses, for tests. */
  readonly pauseFactor?: number;
}

export class AlertPosts {
  readonly #options: AlertPostsOptions;
  #stopping: AbortSignal = AbortSignal.abort();
  readonly #ending = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: AlertPostsOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.config["alerts.webhook"] !== undefined;
  }

  start(stopping: AbortSignal): void {
    this.#stopping = stopping;
    stopping.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      setTimeout(() => this.#ending.abort(), stopMs).unref();
    });
    this.look();
  }

  /** Resolves when no post is under way. */
  settled(): Promise<void> {
    return this.#running;
  }

  /** Adds a post, which waits for the next look. */
  add(tx: Transactor, body: object): void {
    addPost(tx, JSON.stringify(body), maxWaiting);
  }

  /** Sends the posts that are due, after the posts under way. */
  look(): void {
    if (!this.isOn) return;
    this.#running = this.#running
      .then(() => this.#work())
      .catch((error: unknown) => this.#options.logger.error("Posts of alarms wait for the next alarm", { error }));
  }

  #next(): AlertPost | null {
    return this.#stopping.aborted ? null : nextPost(this.#options.database.reader);
  }

  /** Sends the posts that are due, in order, until the stop. */
  async #work(): Promise<void> {
    const { clock, database, logger, pauseFactor = 1 } = this.#options;
    for (let post = this.#next(); post !== null; post = this.#next()) {
      const { id, attempts } = post;
      const waitMs = Math.min(post.notBefore - clock.now(), longestPauseMs);
      if (waitMs > 0) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.look(), waitMs).unref();
        return;
      }
      const failure = await this.#send(post);
      // An attempt that the stop has ended does not count.
      if (failure !== null && this.#stopping.aborted) return;
      const isLast = attempts + 1 >= maxAttempts;
      if (failure !== null)
        logger[isLast ? "error" : "warn"](
          `The webhook of alarms did not take a post${isLast ? `, after ${maxAttempts} attempts` : ""}: ${failure}`,
        );
      const notBefore = clock.now() + firstPauseMs * 2 ** attempts * pauseFactor;
      await database.upkeep((tx) =>
        failure === null || isLast ? deletePost(tx, id) : postponePost(tx, id, notBefore),
      );
    }
  }

  /** Answers null, or the reason of the failure. A redirect is a failure: the post goes to the configured address alone. */
  async #send({ id, body }: AlertPost): Promise<string | null> {
    const { config, clock } = this.#options;
    const [webhook, secret] = [config["alerts.webhook"], config["alerts.secret"]];
    if (webhook === undefined || secret === undefined) throw new Error("Alarms have no webhook");
    const time = Math.floor(clock.now() / 1_000);
    const signature = new Bun.CryptoHasher("sha256", secret.reveal()).update(`${time}.${body}`).digest("hex");
    const headers = {
      "Content-Type": "application/json",
      "Socle-Delivery": String(id),
      "Socle-Signature": `t=${time},v1=${signature}`,
    };
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(answerMs)]);
    try {
      const response = await fetch(webhook.reveal(), { method: "POST", redirect: "manual", body, headers, signal });
      await response.body?.cancel();
      return response.ok ? null : `HTTP ${response.status}`;
    } catch (thrown) {
      // The address may be a secret, and some errors name the address.
      return messageOf(thrown).replaceAll(webhook.reveal(), "the address");
    }
  }
}
