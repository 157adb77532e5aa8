/** `npm start`: builds the executable, fills the example blog the first time, and serves it. */
import { isolatedExecutable } from "./isolated.ts";
import { must, root } from "./run.ts";

const blog = `${root}/examples/blog`;

await must([process.execPath, `${root}/scripts/build.ts`]);
const { path: socle, remove } = isolatedExecutable();
process.on("exit", remove);
await must([socle, "seed", "seed.json"], { cwd: blog });
console.log(`
The blog's users: ada@example.com, password "ada's password"; grace@example.com, password "grace's password".
The dashboard is at http://localhost:8080/_/. While there is no admin, open the link that follows, which makes the first one.
`);
const service = Bun.spawn([socle, "serve"], { cwd: blog, stdio: ["inherit", "inherit", "inherit"] });
// The terminal sends Ctrl-C to both, and this one waits for the service to finish; other signals come to this one alone.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => service.kill("SIGTERM"));
// A shell that npm put in between may die of a signal without a word; then this one has another parent.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) service.kill("SIGTERM");
}, 500).unref();
process.exit(await service.exited);
