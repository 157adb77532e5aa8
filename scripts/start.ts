/** `npm start`: builds the executable, fills the example blog at the first run, and serves the blog; `npm start -- --port 9000` on another port. */
import { basename, join } from "node:path";
import { isolatedExecutable } from "./isolated.ts";
import { must, root } from "./run.ts";

const blog = ["--config", "examples/blog/config.json"];

await must([process.execPath, `${root}/scripts/build.ts`]);
const { path: socle, remove } = isolatedExecutable();
process.on("exit", remove);
await must([socle, "seed", "examples/blog/seed.json", ...blog], { cwd: root });
console.log(`
The blog's users: ada@example.com, password "ada's password"; grace@example.com, password "grace's password".
While there is no admin, open the link that follows, which makes the first one.
`);
// The service prints commands for this folder, so `argv0` names the executable by the path from this folder.
const service = Bun.spawn([socle, "serve", ...blog, ...process.argv.slice(2)], {
  cwd: root,
  argv0: join("dist", basename(socle)),
  stdio: ["inherit", "inherit", "inherit"],
});
// The terminal sends Ctrl-C to both processes, and this process waits for the service to finish; other signals reach only this process.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => service.kill("SIGTERM"));
// A shell that npm put in between may die of a signal without notice; this process then has another parent.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) service.kill("SIGTERM");
}, 500).unref();
process.exit(await service.exited);
