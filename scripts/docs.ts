/** Writes the table of docs/configuration.md from the keys themselves; a test compares. */
import { environmentName, type KeyPath, keys } from "../packages/server/src/config/index.ts";

export function configurationTable(): string {
  const rows = (Object.keys(keys) as KeyPath[]).map((path) => {
    const { default: fallback, kind, meaning } = keys[path];
    const shown = fallback === undefined ? "none" : `\`${JSON.stringify(fallback)}\``;
    return `| \`${path}\` | \`${environmentName(path)}\` | ${shown} | ${meaning}: ${kind.allowed} |`;
  });
  return ["| key | environment | default | meaning: what is allowed |", "|---|---|---|---|", ...rows].join("\n");
}

if (import.meta.main) console.log(configurationTable());
