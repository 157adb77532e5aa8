/**
 * A process of the crash points: the modules of the service on a folder, without the network. The process prints the stored state,
 * then writes records without pauses, and prints each change before the request and after the acknowledgement. The test kills the process.
 *
 * The lines: `{"stored": […], "problems": […]}`, then `c n` (a requested creation), `u n version`, `d n`, and after
 * the acknowledgement the same in capitals.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { openService, type Service } from "../../packages/server/src/app/index.ts";
import { loadConfig } from "../../packages/server/src/base/config/index.ts";
import { system } from "../../packages/server/src/base/kernel/index.ts";
import { Logger } from "../../packages/server/src/base/logging/index.ts";
import { randomNumbers } from "../../packages/server/test/random.ts";
import { type StoredItem, textOf } from "./kills-model.ts";

const [folder = "", seed = "0", firstNumber = "1"] = process.argv.slice(2);
const clients = 8;
/** Records that each client keeps. */
const kept = 6;

/** The whole line is in the pipe on return, whatever happens to the process. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** The records that the events tell of, against the stored ones. */
async function compare({ events, database }: Service): Promise<{ stored: StoredItem[]; problems: string[] }> {
  const versions = new Map<unknown, unknown>();
  const problems: string[] = [];
  for (const { type, payload } of await events.read(0, 1_000_000)) {
    const { id, version } = payload as { id?: unknown; version?: unknown };
    if (type === "items.deleted" && !versions.delete(id)) problems.push(`a deletion of ${id}, which was not there`);
    if (type === "items.created" || type === "items.updated") versions.set(id, version);
  }
  const stored = await database.reader.all<StoredItem & { [column: string]: string | number }>(
    "SELECT id, n, version, text FROM items",
  );
  for (const { id, version } of stored)
    if (versions.get(id) !== version) problems.push(`${id} has version ${version}, its event ${versions.get(id)}`);
  if (versions.size !== stored.length) problems.push(`${stored.length} records, ${versions.size} by their events`);
  return { stored, problems };
}

const { config } = await loadConfig({ file: join(folder, "config.json"), environment: {} });
const logger = new Logger({ level: "ERROR", sinks: [({ message }) => console.error(message)] });
const service = await openService({
  config,
  logger,
  onFatal(error) {
    console.error(error);
    process.exit(1);
  },
});
const found = await compare(service);
say(JSON.stringify(found));

const random = randomNumbers(Number(seed));
let number = Number(firstNumber);

async function client(own: StoredItem[]): Promise<never> {
  for (;;) {
    const at = Math.floor(random() * own.length);
    const item = own[at];
    if (item === undefined || (own.length < kept && random() < 0.4)) {
      const n = number++;
      say(`c ${n}`);
      const body = { n, version: 1, text: textOf(n, 1) };
      const { record } = await service.records.create("items", system, body);
      say(`C ${n}`);
      own.push({ ...body, id: String(record["id"]) });
    } else if (random() < 0.2) {
      own.splice(at, 1);
      say(`d ${item.n}`);
      await service.records.delete("items", system, item.id);
      say(`D ${item.n}`);
    } else {
      const version = item.version + 1;
      say(`u ${item.n} ${version}`);
      await service.records.update("items", system, {
        record: item.id,
        body: { version, text: textOf(item.n, version) },
      });
      say(`U ${item.n} ${version}`);
      own[at] = { ...item, version };
    }
  }
}

await Promise.all(
  Array.from({ length: clients }, (_, i) => client(found.stored.filter((_item, at) => at % clients === i))),
);
