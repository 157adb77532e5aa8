/** Files that `socle init` writes: path → content. The project starts without a change. */
export const template: { readonly [path: string]: string } = {
  "config.json": `{
  // Every key can also be given by the environment: SERVICE_PORT, SERVICE_AUTH_REGISTRATION, …
  // A commented-out setting shows its default.
  "port": 8080,
  // "host": "0.0.0.0",
  "database": "./data/socle.db",
  "storage": "./data/storage",
  "auth": {
    // Whether people may register by themselves.
    "registration": true,
    // Passwords that everybody guesses first are refused.
    "commonPasswords": "refuse"
    // "accessTokenTtl": "1h",
    // "refreshTokenTtl": "30d",
    // "passwordMinLength": 8
  },
  // Sign-ins, files and runs are told to the user of the event and to admins, and not to every listener.
  "realtime": { "serviceEvents": "own" },
  // "cors": { "origins": ["https://app.example.com"] },
  // Stored files of one user, and in all; without these there is no bound but the disk.
  "limits": { "storagePerUser": "1GiB", "storage": "10GiB" },
  // "scripts": { "timeout": "30s", "memory": "512MiB", "processes": 1 },
  // "events": { "retention": "7d", "maxCount": 1000000 },
  "log": { "level": "INFO" }
}
`,
  "collections/notes.json": `{
  "name": "notes",
  "fields": [
    { "name": "title", "type": "string", "required": true, "max": 200 },
    { "name": "body", "type": "text" },
    { "name": "done", "type": "boolean", "default": false },
    { "name": "author", "type": "relation", "collection": "users", "owner": true }
  ],
  "permissions": { "read": "public", "create": "authenticated", "update": "owner", "delete": "owner" }
}
`,
  "functions/notes/announce.ts": `/** Runs after a note was saved. */
export const onCreate: OnCreate<"notes"> = async ({ record, logger }) => {
  logger.info(\`New note: \${record.title}\`);
};
`,
  "jobs/hello.ts": `/** Every day at 6:00, UTC. */
export const schedule = "0 6 * * *";

const job: Job = async ({ db, logger }) => {
  logger.info(\`Good morning; there are \${await db.notes.count()} notes\`);
};

export default job;
`,
  "endpoints/summary.ts": `/** GET /api/function/summary: how many notes there are. Nobody has to sign in. */
export const access: EndpointAccess = "public";

export const GET: Endpoint = async (_request, { db }) => {
  return Response.json({ notes: await db.notes.count(), done: await db.notes.where({ done: true }).count() });
};
`,
  "endpoints/summary.test.ts": `/** \`socle test\` runs this file against a service of its own, which is gone afterwards. */
import { expect, service, test } from "socle/test";

test("everybody sees how many notes are done", async () => {
  const ada = await service.client("ada@example.com");
  await ada.collection("notes").create({ title: "Buy milk", done: true });
  await ada.collection("notes").create({ title: "Call Bob" });
  const guest = await service.client();
  expect(await (await guest.function("summary")).json()).toEqual({ notes: 2, done: 1 });
});

test("only the author changes a note", async () => {
  const [ada, bob] = [await service.client("ada@example.com"), await service.client("bob@example.com")];
  const { id } = await ada.collection("notes").create({ title: "Mine" });
  const refused = await bob
    .collection("notes")
    .update(id, { done: true })
    .catch((error) => error);
  expect(refused).toMatchObject({ status: 403 });
});
`,
  "tsconfig.json": `{
  "compilerOptions": {
    "target": "ESNext",
    "module": "Preserve",
    "moduleResolution": "bundler",
    "moduleDetection": "force",
    "lib": ["ESNext", "DOM"],
    "strict": true,
    "allowImportingTsExtensions": true,
    "noEmit": true,
    "skipLibCheck": true
  },
  "include": ["functions", "jobs", "endpoints", "queries", "migrations", "lib", ".socle/**/*"]
}
`,
  ".vscode/launch.json": `{
  // For socle dev --inspect, with the extension "Bun for Visual Studio Code".
  "version": "0.2.0",
  "configurations": [
    { "type": "bun", "request": "attach", "name": "Socle: endpoints", "url": "ws://127.0.0.1:6499/socle" },
    { "type": "bun", "request": "attach", "name": "Socle: hooks", "url": "ws://127.0.0.1:6500/socle" },
    { "type": "bun", "request": "attach", "name": "Socle: functions and jobs", "url": "ws://127.0.0.1:6501/socle" }
  ]
}
`,
  ".gitignore": `# The executable.
/socle
/socle.exe
/socle-*
data/
backups/
node_modules/
.socle/
.env
.env.test
`,
};
