/** `socle check --as USER`: the records that a user gains and loses by the definition files, beside the database. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ChangedRecords, RuleEffects } from "@socle/protocol";
import { effectsOfFiles } from "../app/index.ts";
import { count, printable, quote } from "../base/kernel/index.ts";
import { readDefinitionTexts } from "../data/collections/index.ts";
import type { CommandInvocation, Settings } from "./command.ts";

/** Answers the exit code. @param name the id or the email of a user. */
export async function showEffects(
  name: string,
  { terminal }: CommandInvocation,
  { config, logger }: Settings,
): Promise<number> {
  const { database, folder } = config;
  if (!existsSync(database)) {
    terminal.out(`There is no database at ${database} yet, so --as has no rules to compare the files with\n`);
    return 0;
  }
  const found = await effectsOfFiles(await readDefinitionTexts(join(folder, "collections")), {
    database,
    logger,
    name,
  });
  if (found === null) {
    terminal.err(`There is no user ${quote(name)} in the database\n`);
    return 1;
  }
  const { user, effects } = found;
  terminal.out(`Rules of the files beside the database, for ${printable(user.email ?? user.id)} (${user.role}):\n`);
  if (effects.length === 0) terminal.out("  no collection has other rules\n");
  for (const line of effects.flatMap(linesOf)) terminal.out(`${printable(line)}\n`);
  return 0;
}

function linesOf({ collection, records, looked, isExact, rules, unjudged, notes, callers }: RuleEffects): string[] {
  const [caller] = callers;
  const extent = isExact ? "" : `; the newest ${looked} are counted, as more take too long`;
  const lines = [`${collection} (${count(records, "record")}${extent})`, ...notes.map((note) => `  ${note}`)];
  for (const { operation, from, to } of rules) {
    if (from === to) continue;
    lines.push(`  ${operation}: ${to}, which was ${from}`);
    const outcome = caller?.operations.find((each) => each.operation === operation);
    const reason = unjudged.find((each) => each.operation === operation)?.reason;
    if (reason !== undefined) lines.push(`    not counted: ${reason}`);
    if (outcome !== undefined) {
      lines.push(`    ${count(outcome.before, "record")} before, ${outcome.after} after`);
      lines.push(...changeOf("gains", outcome.gained), ...changeOf("loses", outcome.lost));
    }
    if (operation === "create" && caller?.create)
      lines.push(`    ${caller.create.before} before, ${caller.create.after} after`);
  }
  for (const { field, before, after } of caller?.fields ?? [])
    lines.push(`  field ${field}: shown in ${before} of the records before, in ${after} after`);
  return lines;
}

function changeOf(verb: string, { count: n, rest, records }: ChangedRecords): string[] {
  const named = records.map(({ id, part }) => `      ${id}, by ${part}`);
  return n === 0 ? [] : [`    ${verb} ${n}:`, ...named, ...(rest > 0 ? [`      and ${rest} more`] : [])];
}
