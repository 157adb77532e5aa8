/** A project's folder that is a link: a reload follows it to where it leads by then. */
import { expect, test } from "bun:test";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { openScripts } from "../../test/scripts.ts";

test("a reload loads the code of the folder that the link leads to, and of the last one while it leads nowhere", async () => {
  const base = temporaryFolder();
  const link = join(base, "current");
  const leadTo = (release: string): void => {
    symlinkSync(join(base, release), `${link}.new`);
    renameSync(`${link}.new`, link);
  };
  for (const release of ["one", "two"]) {
    const hook = `import { name } from "./_name.ts"; export const beforeCreate = () => ({ text: name });`;
    mkdirSync(join(base, release, "functions/notes"), { recursive: true });
    await Bun.write(join(base, release, "functions/notes/a.ts"), hook);
    await Bun.write(join(base, release, "functions/notes/_name.ts"), `export const name = "${release}";`);
  }
  leadTo("one");
  const notes = { name: "notes", fields: [{ name: "text", type: "string" }] };
  const settings = { SERVICE_DATABASE: join(base, "data.db"), SERVICE_STORAGE: join(base, "files") };
  const api = await openScripts({ collections: [notes], folder: link, settings });
  const made = async (): Promise<unknown> => (await api.request("POST", "/api/notes", { body: {} })).body["text"];
  expect(await made()).toBe("one");
  leadTo("two");
  expect(await made()).toBe("one");
  await api.scripts.reload();
  expect(await made()).toBe("two");
  leadTo("nowhere");
  await api.scripts.reload();
  expect(await made()).toBe("two");
});
