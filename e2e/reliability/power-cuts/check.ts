/** The check of a folder after a power cut: the executable starts in the folder, and the data are compared with the ledger. */

import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { serve, socle } from "../../kit.ts";
import { Client } from "./client.ts";
import { contentFaults } from "./content.ts";
import { type Expected, type History, type Kind, lossOf, possibleStates } from "./ledger.ts";
import { hash } from "./workload.ts";

/** Collects the faults, a line per fault. */
export type Faults = string[];

const waitMs = 60_000;

/** Until every function has run that is to run. */
async function deliver(cwd: string): Promise<void> {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const sql = "SELECT count(*) AS n FROM _deliveries WHERE failedAt IS NULL";
  const end = performance.now() + waitMs;
  try {
    while ((database.query<{ n: number }, []>(sql).get()?.n ?? 0) > 0) {
      if (performance.now() > end) throw new Error("Functions that are to run do not run");
      await Bun.sleep(10);
    }
  } finally {
    database.close();
  }
}

/** Starts the executable in the folder, looks, stops the executable, and looks again. Answers the faults. */
export async function check(cwd: string, expected: Expected): Promise<Faults> {
  const faults: Faults = [];
  const server = await serve(cwd);
  try {
    faults.push(...(await answerFaults(new Client(server.url), cwd, expected)), ...leftovers(cwd));
    await deliver(cwd);
  } finally {
    const code = await server.stop();
    const errors = server
      .output()
      .split("\n")
      .filter((line) => line.includes(" ERROR "));
    if (code !== 0 || errors.length > 0) faults.push(`the service stopped with ${code}: ${errors.join("\n")}`);
  }
  const verified = await socle(["verify"], { cwd });
  if (verified.code !== 0) faults.push(`socle verify: ${verified.stdout}${verified.stderr}`);
  return [...faults, ...contentFaults(cwd, expected)];
}

/** The faults in the answers of the service. */
async function answerFaults(client: Client, cwd: string, expected: Expected): Promise<Faults> {
  const faults: Faults = [];
  const each = async (kind: Kind, look: (history: History) => Promise<string | null>): Promise<void> => {
    for (const history of expected.ledger.of(kind)) {
      const fault = await look(history).catch(String);
      if (fault !== null) faults.push(`${kind} ${history.id.slice(-40)}: ${fault}`);
    }
  };
  await each("session", (history) => sessionFault(history, expected, client));
  await each("file", async (history) => {
    const bytes = await client.bytes(`/api/storage/${history.id}`);
    return hashFault(history, expected, bytes);
  });
  await each("backup", async (history) => {
    const path = join(cwd, "backups", history.id);
    return hashFault(history, expected, existsSync(path) ? readFileSync(path) : null);
  });
  return faults;
}

function hashFault(history: History, expected: Expected, bytes: Uint8Array | null): string | null {
  const found = bytes === null ? null : hash(bytes);
  return possibleStates(expected, history).includes(found) ? null : lossOf(found);
}

/** Only a session with a sure last step can be renewed without a doubt: a token that was used is worth nothing. */
async function sessionFault(history: History, expected: Expected, client: Client): Promise<string | null> {
  const states = possibleStates(expected, history);
  const isValid = (await client.as(history.id).status("/api/auth/me")) === 200;
  if (!states.some((state) => (state !== null) === isValid)) return isValid ? "has not ended" : "is lost";
  const [refreshToken = null] = states;
  if (states.length > 1 || refreshToken === null) return null;
  try {
    await client.post("/api/auth/refresh", { refreshToken });
    return null;
  } catch (thrown) {
    return `cannot be renewed: ${thrown}`;
  }
}

/** Names that no service leaves in the folder. A power cut can bring the name of `-begun` back, until the next functions run. */
function leftovers(cwd: string): string[] {
  const own =
    /^(config\.json|functions|socle\.db(-wal|-shm|-lock|-lock-journal|-control|-backup|-reserve|-begun)?|storage|backups)$/;
  const backups = join(cwd, "backups");
  const strange = [
    ...readdirSync(cwd).filter((name) => !own.test(name)),
    ...(existsSync(backups) ? readdirSync(backups).filter((name) => !name.endsWith(".tar.zst")) : []),
  ];
  return strange.map((name) => `${name} was left over`);
}
