/** Kit of the tests of functions and jobs: a service on a fresh database with the processes of user code. */
import { afterAll } from "bun:test";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Scripts } from "../src/app/index.ts";
import { openApi, type TestApi, temporaryFolder } from "./kit.ts";

export interface TestScripts extends TestApi {
  folder: string;
  scripts: Scripts;
  /** Writes files of code, and waits until the service has loaded the files. */
  save(files: { readonly [path: string]: string }): Promise<void>;
  /** Stops all processes, as at the end of the service. */
  stop(): Promise<void>;
}

/** Opens a service with these files; the service is stopped after the file's tests. */
export async function openScripts(options: {
  collections?: readonly object[];
  files?: { readonly [path: string]: string };
  settings?: Record<string, string>;
  folder?: string;
  now?: () => number;
}): Promise<TestScripts> {
  const folder = options.folder ?? temporaryFolder();
  const write = async (files: { readonly [path: string]: string }): Promise<void> => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await Bun.write(join(folder, path), content);
    }
  };
  await write(options.files ?? {});
  const { files: _, ...others } = options;
  const api = await openApi({ ...others, folder });
  const { scripts } = api;
  await scripts.start();
  let isOpen = true;
  const stop = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await scripts.stop(0);
    await api.close();
  };
  afterAll(stop);
  return {
    ...api,
    folder,
    scripts,
    stop,
    async save(files) {
      await write(files);
      await scripts.reload();
    },
  };
}
