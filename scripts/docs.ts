/** Writes the table of docs/configuration.md from the keys; a test compares the table with the keys. */
import { environmentName, type KeyPath, keys } from "../packages/server/src/base/config/index.ts";

export function configurationTable(): string {
  const rows = (Object.keys(keys) as KeyPath[]).map((path) => {
    const { default: fallback, kind, meaning } = keys[path];
    const shown = fallback === undefined ? "–" : `\`${JSON.stringify(fallback)}\``;
    return `| \`${path}\` | \`${environmentName(path)}\` | ${shown} | ${meaning}: ${kind.allowed} |`;
  });
  return ["| key | environment | default | meaning: allowed values |", "|---|---|---|---|", ...rows].join("\n");
}

if (import.meta.main) console.log(configurationTable());
