/** The executable: gives the command line a real process. Only here does anything exit, print or listen to signals. */
import type { Terminal } from "./cli/index.ts";

let lines: AsyncIterator<string> | null = null;

/** A line of standard input, empty at its end. */
async function readLine(): Promise<string> {
  // Loaded only here: the module and Node's streams are large, and a service that runs needs neither.
  const { createInterface } = await import("node:readline");
  lines ??= createInterface({ input: process.stdin, terminal: false })[Symbol.asyncIterator]();
  const next = await lines.next();
  return next.done === true ? "" : next.value;
}

async function ask(question: string): Promise<string> {
  process.stderr.write(question);
  return readLine();
}

/** Without echo on a terminal; from a pipe, a line. */
async function askSecret(question: string): Promise<string> {
  if (process.stdin.isTTY !== true) return readLine();
  process.stderr.write(question);
  process.stdin.setRawMode(true);
  const { SecretInput } = await import("./cli/index.ts");
  const typed = new SecretInput();
  const decoder = new TextDecoder();
  return new Promise((resolve) => {
    const end = (): void => {
      process.stdin.off("data", onData);
      process.stdin.setRawMode(false);
      process.stdin.pause();
      process.stderr.write("\n");
      resolve(typed.text);
    };
    const onData = (data: Buffer): void => {
      for (const char of decoder.decode(data, { stream: true })) {
        const key = typed.type(char);
        if (key === "interrupt") process.exit(1);
        if (key !== "end") continue;
        end();
        return;
      }
    };
    process.stdin.on("data", onData);
    process.stdin.once("end", end);
    process.stdin.resume();
  });
}

/** A signal to a group of processes comes again at once, from a launcher that passes signals on: this is not a second signal. */
const repeatedMs = 250;

function untilSignal(others: readonly NodeJS.Signals[] = []): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    for (const signal of ["SIGINT", "SIGTERM", ...others] as const)
      process.on(signal, () => {
        if (firstAt !== null && performance.now() - firstAt > repeatedMs) process.exit(1);
        firstAt ??= performance.now();
        resolve(signal);
      });
  });
}

function untilDefect(): Promise<unknown> {
  return new Promise((resolve) => {
    for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, resolve);
  });
}

const terminal: Omit<Terminal, "openLog"> = {
  // A runtime that runs the source was called by the runtime's name.
  program: Bun.isStandaloneExecutable ? process.argv0 : "socle",
  environment: process.env,
  forget: (name) => {
    delete process.env[name];
  },
  // `console` writes at once and, unlike `process.stdout`, brings no stream machinery: 7 MB less resident memory.
  out: (text) => console.log(text.replace(/\n$/, "")),
  err: (text) => console.error(text.replace(/\n$/, "")),
  progress() {
    const isDrawn = process.stdout.isTTY === true && process.stderr.isTTY === true;
    return isDrawn ? (text) => void process.stderr.write(`\r\u001b[K${text}`) : null;
  },
  isAnswered: () => process.stdin.isTTY === true,
  ask,
  askSecret,
  untilSignal,
  untilDefect,
  onHangup: (listener) => process.on("SIGHUP", listener),
};

const [word, options = "{}"] = process.argv.slice(2);
// Each way loads only the needed modules: the process of the user's code is to stay small.
if (word === "script-host") {
  import("./code/script-host/child/main.ts").then(({ runScripts }) => runScripts(JSON.parse(options)));
} else if (word === "script-query") {
  import("./code/script-host/child/query.ts").then(({ runQueries }) => runQueries(JSON.parse(options)));
} else if (word === "reader") {
  // The leader ends this process; a signal to all processes of the service is for the leader.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  const exit = (code: number): void => process.exit(code);
  import("./app/index.ts").then(({ runReader }) => runReader({ exit, defect: untilDefect() }));
} else if (word === "test-service") {
  import("./testing/index.ts").then(({ runTestService }) => runTestService(JSON.parse(options), process.env));
} else {
  import("./cli/index.ts").then(async ({ run, LogOutput }) => {
    const logs: InstanceType<typeof LogOutput>[] = [];
    const code = await run(process.argv.slice(2), {
      ...terminal,
      openLog(droppedLine) {
        const output = new LogOutput({ descriptor: 1, droppedLine });
        logs.push(output);
        return (line) => output.add(line);
      },
    });
    await Promise.all(logs.map((output) => output.drained()));
    process.exit(code);
  });
}
