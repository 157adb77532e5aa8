/** HTTPS as the configuration wants: with a certificate of files, with a certificate by ACME, or no HTTPS. */
import type { Config } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { Acme, Certificate } from "../edge/http/index.ts";

export interface Https {
  readonly certificate: Certificate | null;
  readonly acme: Acme | null;
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
