/** Live settings for admins: values of the configuration that are changed while the service runs, kept in the database. */
import type { ConfigEntry, EffectiveConfig, JsonValue } from "@socle/protocol";
import { isLiveKey, type LiveSettings } from "../../base/config/index.ts";
import { AppError, messageOf, quote, type SignedIn } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { checkRecent } from "../../people/auth/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { Backups } from "../backup/index.ts";
import type { AdminChanges } from "./admin-changes.ts";
import { StoredSettings } from "./stored-settings.ts";

interface SettingOptions {
  readonly backups: Pick<Backups, "reschedule">;
  readonly changes: AdminChanges;
  readonly database: Pick<Database, "projection" | "reader">;
  readonly live: LiveSettings;
  readonly logger: Logger;
}

export class SettingAdmin {
  readonly stored: StoredSettings;
  readonly #options: SettingOptions;

  constructor(options: SettingOptions) {
    this.#options = options;
    this.stored = new StoredSettings(options);
  }

  config(): EffectiveConfig {
    return this.#options.live.effective();
  }

  /**
   * Changes a setting at once, and for the next starts. Null ends the setting: the default is in force.
   * @throws AppError `not_found` for a key that is not live, `bad_request` for a value that is not allowed, `conflict` for a
   * key that file, environment or command line has, and as `checkRecent`.
   */
  async set(key: string, value: JsonValue, admin: SignedIn): Promise<ConfigEntry> {
    const { backups, changes, live } = this.#options;
    if (!isLiveKey(key))
      throw new AppError("not_found", `${quote(key)} is no setting that changes while the service runs.`);
    const source = live.configuredBy(key);
    if (source !== "default")
      throw new AppError("conflict", `"${key}" has a value from the ${source}, which wins: change the value there.`);
    try {
      if (value !== null) this.stored.check(key, value);
    } catch (thrown) {
      throw new AppError("bad_request", `${messageOf(thrown)}.`);
    }
    const before = { value: live.entry(key).value };
    await changes.transact(admin, (tx, audit) => {
      // The settings decide how long the audit stays.
      checkRecent(tx, admin);
      this.stored.save(tx, key, value);
      audit({ action: "setting.changed", target: key, before, after: { value } });
    });
    backups.reschedule();
    return live.entry(key);
  }
}
