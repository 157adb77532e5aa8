/** Live settings: keys that admins change while the service runs. The value of an admin takes the place of the default; file, environment and command line win. */
import type { ConfigEntry, ConfigSource, EffectiveConfig, JsonValue } from "@socle/protocol";
import type { Config, KeyPath } from "./keys.ts";
import { describeKey, fromText, type KeyState, parseValue } from "./states.ts";

/**
 * The live keys, which the service reads at each use. No path, secret, address or mail server is among the keys, and no key
 * that says who may do what.
 */
const liveKeys = [
  "backup.schedule",
  "backup.keep",
  "events.retention",
  "events.maxCount",
  "events.maxBytes",
  "audit.retention",
  "audit.maxCount",
  "dropped.keep",
  "mail.keep",
  "log.slowQuery",
  "limits.rate.register",
  "limits.rate.login",
  "limits.rate.refresh",
  "limits.rate.setup",
  "limits.rate.mail",
  "limits.rate.recipient",
  "limits.rate.upload",
  "limits.rate.records",
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

/** The keys with the values that file, environment, command line and defaults give. */
export interface ConfiguredKeys extends Pick<EffectiveConfig, "file" | "fileExists"> {
  readonly states: readonly KeyState[];
}

export class LiveSettings {
  readonly #configured: ConfiguredKeys;
  readonly #values = new Map<LiveKey, unknown>();

  /** @param configured all keys, or the live keys. */
  constructor(configured: ConfiguredKeys) {
    this.#configured = configured;
  }

  /** The live keys, for another process of the service: no key is a secret. */
  get configured(): ConfiguredKeys {
    return { ...this.#configured, states: this.#configured.states.filter(({ path }) => isLiveKey(path)) };
  }

  /** The configuration in which each live key has the value of the moment. */
  over(config: Config): Config {
    const value = (key: LiveKey) => {
      const { value: configured } = this.#stateOf(key);
      return { enumerable: true, get: () => (this.#values.has(key) ? this.#values.get(key) : configured) };
    };
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
    const { states, ...file } = this.#configured;
    return { ...file, keys: states.map((state) => this.#described(state)) };
  }

  #stateOf(key: LiveKey): KeyState {
    const state = this.#configured.states.find(({ path }) => path === key);
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
