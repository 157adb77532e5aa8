/** Front: the parts of the HTTP server that the configuration chooses: the folder `public`, the dashboard, HTTPS, and the pages for accounts. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import {
  Acme,
  AuthPages,
  AuthPageTexts,
  Certificate,
  Dashboard,
  dashboardBuild,
  EmbeddedFiles,
  StaticFiles,
} from "../edge/http/index.ts";
import { isBucket } from "../files/storage/index.ts";

/** Paths that nobody may read. */
function secretsOf(config: Config): string[] {
  const key = config["tls.key"];
  const paths = [config.folder, config.database, config.storage, ...(key === undefined ? [] : [key])];
  return paths.filter((path) => !isBucket(path));
}

/** The folder of static files, which must not hold private data; null without a folder. */
export function openStaticFiles(config: Config): StaticFiles | null {
  const { public: folder, publicFallback: hasFallback } = config;
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

/** The pages for accounts; null for pages that are switched off. @throws SetupError for a bad logo or file of texts. */
export async function openAuthPages(config: Config): Promise<AuthPages | null> {
  if (!config["auth.pages.enabled"]) return null;
  return new AuthPages(config, await AuthPageTexts.open(join(config.folder, "pages")));
}

interface Https {
  readonly certificate: Certificate | null;
  readonly acme: Acme | null;
}

export interface Front extends Https {
  readonly files: StaticFiles | null;
  readonly dashboard: Dashboard | null;
}

/** Opens the front of a process. @throws SetupError for a setting that prevents the start. */
export async function openFront(config: Config, logger: Logger): Promise<Front> {
  const files = openStaticFiles(config);
  const dashboard = await openDashboard(config, logger);
  const { certificate, acme } = await openHttps(config, logger.for("tls"));
  return { files, dashboard, certificate, acme };
}

/** @throws SetupError for settings that exclude or miss each other, and for a certificate that cannot be served. */
export async function openHttps(config: Config, logger: Logger): Promise<Https> {
  const [cert, key, domains] = [config["tls.cert"], config["tls.key"], config["tls.acme.domains"]];
  if (domains !== undefined) return openAcme(config, domains, logger);
  if (cert === undefined && key === undefined) return { certificate: null, acme: null };
  if (cert === undefined) throw new SetupError("tls.key needs tls.cert");
  if (key === undefined) throw new SetupError("tls.cert needs tls.key");
  return { certificate: await Certificate.open({ cert, key }, logger), acme: null };
}

async function openAcme(config: Config, domains: readonly string[], logger: Logger): Promise<Https> {
  if (config["tls.cert"] !== undefined || config["tls.key"] !== undefined)
    throw new SetupError("tls.acme.domains and tls.cert exclude each other");
  if (config["tls.redirectPort"] === undefined)
    throw new SetupError("tls.acme.domains needs tls.redirectPort: the issuer looks at port 80");
  const acme = await Acme.open({
    folder: `${config.database}-tls`,
    domains,
    email: config["tls.acme.email"],
    directory: config["tls.acme.directory"],
    logger,
  });
  return { certificate: await Certificate.open({ cert: acme.file, key: acme.file }, logger), acme };
}
