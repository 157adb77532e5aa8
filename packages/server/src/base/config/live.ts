/** Live settings: keys that admins change while the service runs. The value of an admin takes the place of the default; file, environment and command line win. */
import type { ConfigEntry, ConfigSource, EffectiveConfig, JsonValue } from "@socle/protocol";
import type { Config, KeyPath } from "./keys.ts";
import { describeKey, fromText, type KeyState, parseValue } from "./states.ts";

/**
 * The live keys, which the service reads at each use. No path, secret, address or mail server is among the keys, and no key
 * that says who may do what. Commands beside a stopped service remove the bytes of files by `backup.keep`, and know no setting.
 */
const liveKeys = [
  "backup.schedule",
  "events.retention",
  "events.maxCount",
  "events.maxBytes",
  "audit.retention",
  "audit.maxCount",
  "dropped.keep",
  "mail.keep",
] as const satisfies readonly KeyPath[];
export type LiveKey = (typeof liveKeys)[number];

export function isLiveKey(key: string): key is LiveKey {
  return (liveKeys as readonly string[]).includes(key);
}

/** Changes values of a configuration; the live settings of the configuration stay live. */
export function configWith(config: Config, values: Partial<Config>): Config {
  const members = { ...Object.getOwnPropertyDescriptors(config), ...Object.getOwnPropertyDescriptors(values) };
  return Object.freeze(Object.defineProperties({}, members)) as Config;
}

export class LiveSettings {
  readonly #file: Pick<EffectiveConfig, "file" | "fileExists">;
  readonly #states: readonly KeyState[];
  readonly #values = new Map<LiveKey, unknown>();

  /** @param states every key, with the value that file, environment, command line and defaults give. */
  constructor(file: Pick<EffectiveConfig, "file" | "fileExists">, states: readonly KeyState[]) {
    this.#file = file;
    this.#states = states;
  }

  /** The configuration in which each live key has the value of the moment. */
  over(config: Config): Config {
    const value = (key: LiveKey) => ({
      enumerable: true,
      get: () => (this.#values.has(key) ? this.#values.get(key) : config[key]),
    });
    return configWith(
      config,
      Object.defineProperties({}, Object.fromEntries(liveKeys.map((key) => [key, value(key)]))),
    );
  }

  /** The source of the value that a key has without the settings. */
  configuredBy(key: LiveKey): ConfigSource {
    return this.#stateOf(key).source;
  }

  /**
   * Puts a value in force, if neither file nor environment nor command line has the key.
   * @param value as in the file; a text also as in the environment. Null ends the setting.
   * @throws SetupError for a value that is not allowed.
   */
  set(key: LiveKey, value: JsonValue): void {
    if (this.configuredBy(key) !== "default") return;
    if (value === null) this.#values.delete(key);
    else this.#values.set(key, this.check(key, value));
  }

  /** Ends all settings. */
  clear(): void {
    this.#values.clear();
  }

  /** The value as the service uses the value. @throws SetupError for a value that is not allowed. */
  check(key: LiveKey, value: JsonValue): unknown {
    // Some kinds read a list with a single text as the text.
    const given = typeof value === "object" ? undefined : typeof value === "string" ? fromText(key, value) : value;
    return parseValue(key, given, "settings");
  }

  entry(key: LiveKey): ConfigEntry {
    return this.#described(this.#stateOf(key));
  }

  /** Every key with its value and the source of the value, without secrets. */
  effective(): EffectiveConfig {
    return { ...this.#file, keys: this.#states.map((state) => this.#described(state)) };
  }

  #stateOf(key: LiveKey): KeyState {
    const state = this.#states.find(({ path }) => path === key);
    if (state === undefined) throw new Error(`There is no key ${key}`);
    return state;
  }

  #described(state: KeyState): ConfigEntry {
    const { path } = state;
    if (!isLiveKey(path)) return { ...describeKey(state), isLive: false };
    const changed = this.#values.has(path) ? ({ value: this.#values.get(path), source: "settings" } as const) : {};
    return { ...describeKey({ ...state, ...changed }), isLive: true };
  }
}
