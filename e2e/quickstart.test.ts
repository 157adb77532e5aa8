/** docs/quickstart.md as a reader follows the page: each command in turn, in one shell, and each answer as the page shows. */
import { afterAll, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { executable, type Running, root, serve, temporaryFolder, until } from "./kit.ts";

const page = await Bun.file(join(root, "docs/quickstart.md")).text();
const blocks = [...page.matchAll(/^```(\w+)( \w+)?\n([\s\S]*?)^```/gm)].map(([, language, kind, text]) => ({
  kind: `${language}${kind ?? ""}`,
  text: text ?? "",
}));

/** A shell that keeps its variables and its folder from block to block. */
class Shell {
  readonly #child;
  readonly #reader;
  #output = "";

  constructor(cwd: string) {
    // The page says "socle" for the executable.
    const bin = temporaryFolder();
    symlinkSync(executable, join(bin, "socle"));
    const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
    this.#child = Bun.spawn(["sh"], { cwd, env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.#reader = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    afterAll(() => this.#child.kill());
  }

  /** The output of a block; the last command must succeed. */
  async run(block: string): Promise<string> {
    this.#output = "";
    this.#child.stdin.write(`${block}\necho "[exit $?]"\n`);
    for (;;) {
      const end = /\[exit (\d+)\]\n$/.exec(this.#output);
      if (end !== null) {
        expect([block, end[1]]).toEqual([block, "0"]);
        return this.#output.slice(0, end.index).trim();
      }
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`The shell has ended: ${this.#output}`);
      this.#output += value;
    }
  }
}

/** A value as on a page: `…` stands for any text. */
function shown(value: unknown): unknown {
  if (typeof value === "string" && value.endsWith("…")) return expect.stringContaining(value.slice(0, -1));
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shown(each)]));
}

test("every command works, in order", async () => {
  const shell = new Shell(temporaryFolder());
  let server: Running | null = null;
  let answer = "";
  const frames: string[] = [];
  const counts: Record<string, number> = {};
  for (const { kind, text } of blocks) {
    counts[kind] = (counts[kind] ?? 0) + 1;
    const port = server === null ? "8080" : new URL(server.url).port;
    const code = text.replaceAll("localhost:8080", `127.0.0.1:${port}`);
    const log: string = server?.output() ?? "";
    if (kind === "sh start") {
      expect(text).toBe("socle dev\n");
      // Another port than the page's, which may be taken here.
      const cwd = await shell.run("pwd");
      server = await serve(cwd, { args: ["dev", "--port", "0"] });
      expect(server.output()).toContain("Listening on http://127.0.0.1:");
    } else if (kind === "sh") {
      answer = await shell.run(code);
      const wait = code.includes("> collections/")
        ? "Applied tasks.json"
        : code.includes("> functions/")
          ? "Reloaded functions and jobs"
          : null;
      const isDone = code.includes('"done":true');
      if (wait !== null) await until(() => server?.output().slice(log.length).includes(wait) === true);
      if (isDone) await until(() => server?.output().includes("Done: Read all of the docs") === true);
      if (frames.length > 0 && code.includes("-X PUT"))
        await until(() => frames.some((frame) => frame.includes("tasks.updated")));
    } else if (kind === "json") {
      expect(JSON.parse(answer)).toEqual(shown(JSON.parse(text)));
    } else if (kind === "js") {
      // As in the console of a browser; the printed lines are kept.
      const print = { log: (line: string) => frames.push(line) };
      const socket = new Function("console", "WebSocket", `${code}\nreturn socket;`)(print, WebSocket) as WebSocket;
      afterAll(() => socket.close());
      await until(() => frames.length > 1);
      expect(JSON.parse(frames[0] ?? "")).toMatchObject({ type: "connected" });
      expect(frames.slice(1)).toEqual(['{"type":"subscribed","channel":"tasks.*"}']);
    } else if (kind === "sh templates") {
      // Tests of the templates: e2e/templates.test.ts.
      expect(await shell.run(text)).toEndWith("npm run dev");
    } else if (kind === "sh npx") {
      // The same commands with npx: e2e/npx.test.ts.
      expect(text.match(/npx socle \w+/g)).toEqual(["npx socle init"]);
    } else {
      throw new Error(`The page has a block that no test runs: ${kind}`);
    }
  }
  expect(counts).toEqual({ "sh npx": 1, "sh start": 1, "sh templates": 1, js: 1, json: 4, sh: 11 });
  expect(JSON.parse(frames[2] ?? "")).toMatchObject({
    type: "event",
    event: { type: "tasks.updated", payload: { title: "Read all of the docs" } },
  });
  expect(server?.output()).not.toMatch(/ERROR/);
  expect(await server?.stop()).toBe(0);
});
