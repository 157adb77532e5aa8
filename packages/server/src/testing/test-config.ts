/** The configuration of a service under test: the project's, without everything that leads out of the test. */
import { join } from "node:path";
import { type Config, type LoadedConfig, loadConfig } from "../base/config/index.ts";
import type { TestServiceOptions } from "./protocol.ts";

/**
 * Reads the configuration file, and no variable of the environment: the variables are for a service in use. Data, address,
 * backups, buckets and secrets are the test's own.
 * @throws SetupError for a file that cannot be read and for the first value that is not allowed.
 */
export async function testConfig({ config: file, data }: TestServiceOptions): Promise<LoadedConfig> {
  const loaded = await loadConfig({ file, environment: {} });
  const config: Config = {
    ...loaded.config,
    ...nothing,
    host: "127.0.0.1",
    port: 0,
    trustedProxies: 0,
    database: join(data, "socle.db"),
    "database.mustExist": false,
    storage: join(data, "storage"),
    "backup.target": join(data, "backups"),
    "dashboard.enabled": false,
    // All users of a test have the same address, and sign in at once.
    "limits.rate.register": null,
    "limits.rate.login": null,
    "limits.rate.refresh": null,
    // Each client that a test asks for is a session, and no session may end another.
    "limits.sessionsPerUser": 10_000,
  };
  return { ...loaded, config: Object.freeze(config) };
}

/** Keys without a value. */
const nothing = {
  "tls.cert": undefined,
  "tls.key": undefined,
  "tls.redirectPort": undefined,
  "tls.acme.domains": undefined,
  "tls.acme.email": undefined,
  "auth.jwtSecret": undefined,
  "admin.email": undefined,
  "admin.password": undefined,
  "backup.schedule": undefined,
  "backup.recipient": undefined,
  "s3.endpoint": undefined,
  "s3.region": undefined,
  "s3.accessKeyId": undefined,
  "s3.secretAccessKey": undefined,
  "metrics.token": undefined,
} satisfies Partial<Config>;
