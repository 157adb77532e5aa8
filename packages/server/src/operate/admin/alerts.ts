/**
 * Alarms: a mail and a post to a webhook when a condition of the status begins, and when the condition ends. The told conditions are in the
 * database, so that a restart and another leader tell nothing twice.
 */
import type { Config } from "../../base/config/index.ts";
import { SetupError, toTimestamp } from "../../base/kernel/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import { AlertPosts, type AlertPostsOptions } from "./alert-posts.ts";
import { alertRows, deleteAlert, saveAlert } from "./alert-table.ts";
import type { Status, StatusCondition } from "./status.ts";

/** The messages about a condition in an hour: a condition that comes and goes is told as the condition stands, once an earlier message is an hour old. */
const maxAnHour = 6;
const hourMs = 3_600_000;
/** Conditions that are told at the same time. */
const maxOpen = 200;
/** The longest pause between two looks, and the looks in the time for which a condition must hold. */
const longestPauseMs = 10_000;
const looks = 3;

interface AlertsOptions extends AlertPostsOptions {
  readonly config: Pick<Config, "alerts.mail" | "alerts.webhook" | "alerts.secret" | "alerts.after" | "publicUrl">;
  readonly mails: Pick<Mails, "add">;
  readonly status: Pick<Status, "conditions">;
  readonly version: string;
}

export class Alerts {
  readonly #options: AlertsOptions;
  readonly posts: AlertPosts;
  /** Since when a condition is seen, or a told condition is not, by `performance.now()`. */
  #changes = new Map<string, number>();

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.posts = new AlertPosts(options);
  }

  /** Looks until the signal, if the configuration names an address. */
  start(signal: AbortSignal): void {
    const { config } = this.#options;
    if (config["alerts.mail"] === undefined && !this.posts.isOn) return;
    this.posts.start(signal);
    let looking = false;
    const look = async (): Promise<void> => {
      if (looking) return;
      looking = true;
      await this.look().catch((error: unknown) => this.#options.logger.often("Alarms could not be told", { error }));
      looking = false;
    };
    const timer = setInterval(() => void look(), Math.min(longestPauseMs, config["alerts.after"] / looks + 1)).unref();
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  /** Tells the conditions that have begun, or have ended, for long enough. Resolves when the sender of posts has been woken. */
  async look(): Promise<void> {
    const { config, database, status } = this.#options;
    await this.#forget();
    const found = (await status.conditions()).filter(({ item }) => item.level !== "note");
    const held = new Map(found.map(({ key, item }) => [key, item]));
    const told = new Map(alertRows(database.reader).map((row) => [row.key, row]));
    const open = [...told.values()].filter(({ isOpen }) => isOpen);
    const begun = [...held].filter(([key]) => told.get(key)?.isOpen !== true);
    const ended = open.filter(({ key }) => !held.has(key)).map(({ key, item }) => [key, item] as const);
    const [now, before] = [performance.now(), this.#changes];
    this.#changes = new Map([...begun, ...ended].map(([key]) => [key, before.get(key) ?? now]));
    let count = open.length;
    for (const [key, item] of [...ended, ...begun]) {
      const isBegin = held.has(key);
      if (now - (this.#changes.get(key) ?? now) < config["alerts.after"] || (isBegin && count >= maxOpen)) continue;
      if (await this.#tell(isBegin, { key, item }, told.get(key)?.sent ?? [])) count += isBegin ? 1 : -1;
    }
  }

  /** Answers false if the hour has had all messages about the condition. @param sent the times of the earlier messages. */
  async #tell(isBegin: boolean, { key, item }: StatusCondition, sent: readonly number[]): Promise<boolean> {
    const { clock, config, database, logger, mails, version } = this.#options;
    const at = clock.now();
    const inHour = sent.filter((time) => Math.abs(at - time) < hourMs);
    if (inHour.length >= maxAnHour) return false;
    const to = config["alerts.mail"];
    const { text, remedy, since } = item;
    await database.upkeep((tx) => {
      saveAlert(tx, { key, isOpen: isBegin, item, sent: [...inHour, at] });
      if (to !== undefined) {
        const state = isBegin ? "Alarm" : "Over";
        mails.add(tx, { kind: "alert", to, values: { state, condition: text, remedy, since }, urgent: true });
      }
      if (this.posts.isOn)
        this.posts.add(tx, {
          state: isBegin ? "began" : "ended",
          condition: item,
          at: toTimestamp(at),
          service: config.publicUrl ?? null,
          version,
        });
    });
    logger.info(isBegin ? `Alarm: ${text}` : `The alarm is over: ${text}`);
    this.posts.look();
    this.#changes.delete(key);
    return true;
  }

  /** Forgets conditions that are over, an hour after the last message. */
  async #forget(): Promise<void> {
    const { clock, database } = this.#options;
    const now = clock.now();
    const old = alertRows(database.reader).filter(
      ({ isOpen, sent }) => !isOpen && sent.every((time) => Math.abs(now - time) >= hourMs),
    );
    if (old.length > 0)
      await database.upkeep((tx) => {
        for (const { key } of old) deleteAlert(tx, key);
      });
  }
}

/** @throws SetupError for alarms without a key that the alarms need. */
export function checkAlerts(config: Config): void {
  const needs = [
    ["alerts.mail", "mail.from"],
    ["alerts.webhook", "alerts.secret"],
  ] as const;
  for (const [key, needed] of needs)
    if (config[key] !== undefined && config[needed] === undefined) throw new SetupError(`${key}: needs ${needed}`);
}
