/** Table of live settings: the values that admins have changed, by key. */
import type { ModuleSchema, Reader, Transactor } from "../../store/database/index.ts";

export const settingSchema: ModuleSchema = {
  module: "settings",
  // `value`: JSON, as the file would have the value.
  steps: ["CREATE TABLE _settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"],
};

export interface SettingRow {
  readonly key: string;
  /** JSON; `null` for an ended setting. */
  readonly value: string;
}

export function storedSettings(reader: Reader): SettingRow[] {
  return reader.all("SELECT key, value FROM _settings");
}

export function saveSetting(tx: Transactor, { key, value }: SettingRow): void {
  tx.run("INSERT OR REPLACE INTO _settings (key, value) VALUES (?, ?)", key, value);
}

export function deleteSetting(tx: Transactor, key: string): void {
  tx.run("DELETE FROM _settings WHERE key = ?", key);
}
