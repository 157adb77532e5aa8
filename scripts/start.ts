/** `npm start`: builds the executable, fills the example blog the first time, and serves it. */
import { must, root, start } from "./run.ts";

const blog = `${root}/examples/blog`;
const socle = `${root}/dist/socle${process.platform === "win32" ? ".exe" : ""}`;

await must([process.execPath, `${root}/scripts/build.ts`]);
await must([socle, "seed", "seed.json"], { cwd: blog });
console.log(`
The blog's users: ada@example.com, password "ada's password"; grace@example.com, password "grace's password".
Become admin, in a second terminal: dist/socle admin create you@example.com --config examples/blog/config.json
`);
// The terminal sends Ctrl-C to both; this one waits for the service to finish.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
process.exit(await start([socle, "serve"], { cwd: blog }));
