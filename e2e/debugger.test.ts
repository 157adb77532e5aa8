/** `socle dev --inspect`: a debugger attaches over a socket, and pauses the user's TypeScript for as long as the user likes. */
import { expect, test } from "bun:test";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { post, project, serve, socle, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

/** Longer than the limits of the handlers, and than the second after which a process counts as silent. */
const pauseMs = 3_000;

const endpoint = `interface Item {
  count: number;
}

export const access: EndpointAccess = "public";
export const options = { timeout: 100 };
export const GET: Endpoint = async () => {
  const item: Item = { count: process.pid };

  return Response.json(item.count); // here
};
`;
const hook = `type Word = string;

export const beforeCreate: BeforeCreate<"notes"> = async () => {
  const text: Word = "paused"; // here
  return { text };
};
`;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
}

/** A position by the lines of a file, from 1. */
const lineOf = (text: string, word: string): number => text.split("\n").findIndex((line) => line.includes(word)) + 1;

/** A debugger, as an editor is: the protocol has the lines of JavaScript, and the source map of a script leads to TypeScript. */
class Debugger {
  readonly #socket: WebSocket;
  readonly #events: Message[] = [];
  readonly #answers = new Map<number, Message>();
  #lastId = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const message: Message = JSON.parse(String(data));
      if (message.id === undefined) this.#events.push(message);
      else this.#answers.set(message.id, message);
    });
  }

  static async attach(port: number): Promise<Debugger> {
    let socket = await socketTo(port);
    // The runtime listens a moment after the start of the process.
    while (socket === null) socket = await socketTo(port);
    const attached = new Debugger(socket);
    for (const domain of ["Inspector", "Runtime", "Debugger"]) await attached.send(`${domain}.enable`);
    await attached.send("Debugger.setBreakpointsActive", { active: true });
    return attached;
  }

  async send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    await until(() => this.#answers.has(id));
    const { result } = this.#answers.get(id) ?? {};
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(this.#answers.get(id))}`);
    return result;
  }

  count(method: string): number {
    return this.#events.filter((event) => event.method === method).length;
  }

  /** The versions of a file, each with the source map. */
  versions(file: string): SourceMap[] {
    const scripts = this.#events.filter(
      ({ method, params }) => method === "Debugger.scriptParsed" && params?.["url"] === file,
    );
    return scripts.map(({ params }) => {
      const [, base64 = ""] = String(params?.["sourceMapURL"]).split("base64,");
      return new SourceMap(JSON.parse(Buffer.from(base64, "base64").toString()));
    });
  }

  /** Sets a breakpoint. Answers the id. */
  async breakAt(file: string, line: number): Promise<unknown> {
    const map = this.versions(file).at(-1);
    for (let lineNumber = 0; lineNumber < 100; lineNumber += 1)
      if (originalLine(map, lineNumber, 2) === line) {
        const { breakpointId } = await this.send("Debugger.setBreakpointByUrl", {
          url: file,
          lineNumber,
          columnNumber: 0,
        });
        return breakpointId;
      }
    throw new Error(`${file}:${line} is in no script`);
  }

  /** Waits for a pause. Answers the line of TypeScript. */
  async paused(file: string, count: number): Promise<number | undefined> {
    await until(() => this.count("Debugger.paused") === count);
    const { params } = this.#events.findLast(({ method }) => method === "Debugger.paused") ?? {};
    const frames = (params?.["callFrames"] ?? []) as { location: { lineNumber: number; columnNumber: number } }[];
    const { lineNumber = 0, columnNumber = 0 } = frames[0]?.location ?? {};
    return originalLine(this.versions(file).at(-1), lineNumber, columnNumber);
  }
}

/** Null for a socket that is refused. */
async function socketTo(port: number, headers: Record<string, string> = {}): Promise<WebSocket | null> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socle`, { headers });
  return new Promise((resolve) => {
    socket.addEventListener("open", () => resolve(socket));
    socket.addEventListener("error", () => setTimeout(resolve, 5, null));
  });
}

/** The line of TypeScript, from 1, of a position in JavaScript, from 0. */
function originalLine(map: SourceMap | undefined, line: number, column: number): number | undefined {
  const entry = map?.findEntry(line, column);
  return entry !== undefined && "originalLine" in entry && entry.generatedLine === line
    ? entry.originalLine + 1
    : undefined;
}

/** The first of three free ports in a row, below the ports that the system gives to connections. */
function freePorts(): number {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    try {
      for (const port of [first, first + 1, first + 2])
        Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return first;
    } catch {
      // Another program has a port.
    }
  }
}

const notes = {
  name: "notes",
  fields: [{ name: "text", type: "string" }],
  permissions: { create: "public", read: "public" },
};

test("breakpoints stop at the lines of TypeScript, in the present version, and no time limit ends a paused handler", async () => {
  const cwd = await project({ collections: [notes], config: { scripts: { hookTimeout: "100ms" } } });
  await write(cwd, { "endpoints/a.ts": endpoint, "functions/notes/a.ts": hook });
  const port = freePorts();
  const service = await serve(cwd, { args: ["dev", `--inspect=${port}`] });
  expect(service.output()).toContain(`The debugger of endpoints is at ws://127.0.0.1:${port}/socle`);
  const [ofEndpoints, ofHooks] = [await Debugger.attach(port), await Debugger.attach(port + 1)];
  const [a, b] = [join(cwd, "endpoints/a.ts"), join(cwd, "functions/notes/a.ts")];
  const ask = (signal?: AbortSignal): Promise<Response> =>
    fetch(`${service.url}/api/function/a`, { ...(signal && { signal }) });
  const pid = await (await ask()).json();

  const breakpointId = await ofEndpoints.breakAt(a, lineOf(endpoint, "here"));
  await ofHooks.breakAt(b, lineOf(hook, "here"));
  const leaving = new AbortController();
  const left = ask(leaving.signal).catch(() => "left");
  expect(await ofEndpoints.paused(a, 1)).toBe(lineOf(endpoint, "here"));
  const answer = ask();
  const created = post(`${service.url}/api/notes`, { text: "own" });
  expect(await ofHooks.paused(b, 1)).toBe(lineOf(hook, "here"));
  leaving.abort();
  await Bun.sleep(pauseMs);
  await ofHooks.send("Debugger.resume");
  expect(await (await created).json()).toMatchObject({ text: "paused" });
  await ofEndpoints.send("Debugger.resume");
  expect(await left).toBe("left");
  expect(await ofEndpoints.paused(a, 2)).toBe(lineOf(endpoint, "here"));
  await ofEndpoints.send("Debugger.resume");
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([200, pid]);

  // The debugger stays attached, and gets the new version.
  await ofEndpoints.send("Debugger.removeBreakpoint", { breakpointId });
  const saved = `let calls = 0;\n\n${endpoint.replace("const item", "calls += 1;\n  const item")}`;
  await write(cwd, { "endpoints/a.ts": saved });
  await until(() => ofEndpoints.versions(a).length === 2);
  await until(() => service.output().includes("Reloaded"));
  await ofEndpoints.breakAt(a, lineOf(saved, "here"));
  const again = ask();
  expect(await ofEndpoints.paused(a, 3)).toBe(lineOf(saved, "here"));
  await ofEndpoints.send("Debugger.resume");
  expect(await (await again).json()).toBe(pid);

  // New processes listen on the same ports.
  await write(cwd, { ".env": "A=1" });
  await until(() => service.output().split("Reloaded").length === 3);
  await Debugger.attach(port);
  expect(await (await ask()).json()).not.toBe(pid);
  expect(service.output()).not.toMatch(/was lost|computes for more|WARN|ERROR/);
  expect(await service.stop()).toBe(0);
});

test("an address of a debugger is for this machine, and for no page of a browser", async () => {
  const cwd = await project();
  await write(cwd, { "endpoints/a.ts": endpoint });
  const port = freePorts();
  const service = await serve(cwd, { args: ["dev", `--inspect=${port}`] });
  await Debugger.attach(port);
  expect(await socketTo(port, { Origin: "https://example.com" })).toBeNull();
  const taken = await socle(["dev", `--inspect=${port}`], { cwd: await project() });
  expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining(`${port} is taken`) });
  await service.stop();
});

test("a wrong port is refused, and without --inspect the debugger is off", async () => {
  const cwd = await project();
  for (const word of ["--inspect=70000", "--inspect=x", "--inspect="])
    expect(await socle(["dev", word], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("allowed: a number from 1 to 65533"),
    });
  const service = await serve(cwd, { args: ["dev"] });
  expect(service.output()).not.toContain("debugger");
  await service.stop();
});
