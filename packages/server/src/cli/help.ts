/** Texts of `socle help`. */
import type { Command } from "./command.ts";

function column(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}

/** How a command is typed. */
export function usageOf({ name, args }: Command): string {
  return ["socle", name, ...args].join(" ");
}

/** The text of `socle help`. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map((command) => [usageOf(command), command.summary] as const);
  return `Socle, a backend in one file.\n\n${column(rows)}\nMore about one of them: socle help COMMAND\n`;
}

/** The text of `socle help COMMAND`. */
export function helpOf(command: Command): string {
  const rows = Object.entries(command.options).map(
    ([name, { value, short, summary }]) =>
      [
        `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
        summary,
      ] as const,
  );
  return `${command.summary}.\n\nUsage: ${usageOf(command)}${rows.length > 0 ? ` [options]\n\n${column(rows)}` : "\n"}`;
}
