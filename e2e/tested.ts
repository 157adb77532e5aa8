/** A project with code and tests, for the tests of `socle test`. */
import { readdirSync } from "node:fs";
import { type Finished, project, socle, temporaryFolder } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string", required: true },
    { name: "until", type: "datetime" },
    { name: "owner", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "until = null || until > @now || owner = @user.id", create: "authenticated" },
};

/** A project with code and tests, and the folder in which the runs make theirs. */
export async function tested(files: { readonly [path: string]: string }): Promise<{
  cwd: string;
  folders: () => string[];
  run: (...args: readonly string[]) => Promise<Finished>;
}> {
  const cwd = await project({ collections: [notes] });
  await write(cwd, files);
  const temporary = temporaryFolder();
  return {
    cwd,
    folders: () => readdirSync(temporary).filter((name) => name.startsWith("socle-")),
    run: (...args) => socle(["test", ...args], { cwd, env: { TMPDIR: temporary } }),
  };
}
