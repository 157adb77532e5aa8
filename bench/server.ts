/** A process under measurement. */
export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Milliseconds from the start of the server to the first answer. */
  readonly startMs: number;
  /** MiB. */
  resident(): number;
  stop(): Promise<void>;
}

/** Starts a server, reads the server's address from the output, and waits for the first answer. */
export async function startServer(
  command: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const started = performance.now();
  const child = Bun.spawn(command, { cwd, env: { ...process.env, ...env }, stdout: "pipe", stderr: "inherit" });
  let output = "";
  const decoder = new TextDecoder();
  const reader = child.stdout.getReader();
  let url: string | undefined;
  while (url === undefined) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${command.join(" ")} did not start:\n${output}`);
    output += decoder.decode(value, { stream: true });
    url = /Listening on (\S+)/.exec(output)?.[1];
  }
  await (await fetch(`${url}/health`)).arrayBuffer();
  const startMs = performance.now() - started;
  // Later output must not fill the pipe.
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return {
    url,
    pid: child.pid,
    startMs,
    resident: () => residentMiB(child.pid),
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

export function residentMiB(pid: number): number {
  const output = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]).stdout.toString();
  return Number(output.trim()) / 1_024;
}
