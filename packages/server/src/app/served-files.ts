/** The files that are served beside the API: the folder `public`, and the dashboard. */
import { existsSync } from "node:fs";
import type { Config } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { Dashboard, dashboardBuild, EmbeddedFiles, StaticFiles } from "../edge/http/index.ts";
import { isBucket } from "../files/storage/index.ts";

/** Paths that nobody may read. */
function secretsOf(config: Config): string[] {
  const key = config["tls.key"];
  const paths = [config.folder, config.database, config.storage, ...(key === undefined ? [] : [key])];
  return paths.filter((path) => !isBucket(path));
}

/** The folder of static files, which must not hold private data; null without a folder. */
export function openStaticFiles(config: Config): StaticFiles | null {
  const folder = config.public;
  const hasFallback = config.publicFallback;
  if (folder === undefined && hasFallback)
    throw new SetupError("publicFallback: needs the key public, the folder with the app's index.html");
  if (folder === undefined) return null;
  return new StaticFiles({ key: "public", folder, secrets: secretsOf(config), hasFallback });
}

/** The dashboard; null for a dashboard that is switched off, and with a warning for a missing build. */
export async function openDashboard(config: Config, logger: Logger): Promise<Dashboard | null> {
  if (!config["dashboard.enabled"]) return null;
  const folder = config["dashboard.path"];
  if (folder === undefined) {
    if (dashboardBuild !== null) return new Dashboard(new EmbeddedFiles(dashboardBuild));
    logger.warn("This build has no dashboard; /_/ is not served");
    return null;
  }
  if (existsSync(folder)) {
    const files = new StaticFiles({ key: "dashboard.path", folder, secrets: secretsOf(config) });
    if (await files.has("/")) return new Dashboard(files);
  }
  logger.warn(`dashboard.path ${folder}: has no index.html; /_/ is not served`);
  return null;
}
