/** Stored settings: the settings of the database are in force in each process and instance, from the start on and from each commit that changes a setting. */
import type { JsonValue } from "@socle/protocol";
import { isLiveKey, type LiveKey, type LiveSettings } from "../../base/config/index.ts";
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { type Database, noteKind, type Transactor } from "../../store/database/index.ts";
import { checkSchedule } from "../backup/index.ts";
import { deleteSetting, type SettingRow, saveSetting, storedSettings } from "./setting-table.ts";

interface StoredSettingsOptions {
  readonly database: Pick<Database, "projection" | "reader">;
  readonly live: LiveSettings;
  readonly logger: Logger;
}

const settingChanged = noteKind<SettingRow>("settings.changed");

export class StoredSettings {
  readonly #options: StoredSettingsOptions;

  constructor(options: StoredSettingsOptions) {
    this.#options = options;
    options.database.projection.on(settingChanged, (row) => this.#take(row));
  }

  /**
   * Puts the stored settings in force, at the start of the service, before a part of the service reads a setting. An instance that leads
   * a cluster again forgets the settings of its earlier time: another leader may have changed the settings.
   */
  load(): void {
    const { database, live } = this.#options;
    live.clear();
    for (const row of storedSettings(database.reader)) this.#take(row);
  }

  /** Changes a setting. Null ends the setting. */
  save(tx: Transactor, key: LiveKey, value: JsonValue): void {
    const row = { key, value: JSON.stringify(value) };
    if (value === null) deleteSetting(tx, key);
    else saveSetting(tx, row);
    tx.note(settingChanged.of(row));
  }

  /** @throws SetupError for a value that is not allowed. */
  check(key: LiveKey, value: JsonValue): void {
    const used = this.#options.live.check(key, value);
    if (key === "backup.schedule") checkSchedule(String(used));
  }

  #take({ key, value }: SettingRow): void {
    const { live, logger } = this.#options;
    try {
      if (!isLiveKey(key)) throw new Error(`"${key}" is no live setting of this version`);
      const parsed = JSON.parse(value) as JsonValue;
      if (parsed !== null) this.check(key, parsed);
      live.set(key, parsed);
    } catch (thrown) {
      logger.warn(`A stored setting has no effect: ${messageOf(thrown)}`);
    }
  }
}
