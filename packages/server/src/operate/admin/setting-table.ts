/** Table of live settings: the values that admins have changed, by key. */
import type { JsonValue } from "@socle/protocol";
import type { ModuleSchema, Reader, Transactor } from "../../store/database/index.ts";

export const settingSchema: ModuleSchema = {
  module: "settings",
  // `value`: JSON, as the file would have the value.
  steps: ["CREATE TABLE _settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"],
};

/** The settings with their values as JSON. */
export function storedSettings(reader: Reader): { readonly key: string; readonly value: string }[] {
  return reader.all("SELECT key, value FROM _settings");
}

export function saveSetting(tx: Transactor, key: string, value: JsonValue): void {
  tx.run("INSERT OR REPLACE INTO _settings (key, value) VALUES (?, ?)", key, JSON.stringify(value));
}

export function deleteSetting(tx: Transactor, key: string): void {
  tx.run("DELETE FROM _settings WHERE key = ?", key);
}
